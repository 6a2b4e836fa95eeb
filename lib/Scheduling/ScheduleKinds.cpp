// The registry of pipeline schedules: names, what each needs, and its generator.
#include "Generators.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

namespace mlir::ppc {

using llvm::Twine;

PipelineSchedule makeEmptySchedule(llvm::StringRef name, const PipelineShape &shape) {
  PipelineSchedule schedule{name.str(), shape.devices * shape.chunks, shape.microBatches, {}};
  schedule.devices.resize(shape.devices);
  schedule.sliceCount = shape.slices;
  return schedule;
}

std::vector<int64_t> roundRobinPlacement(const PipelineShape &shape) {
  std::vector<int64_t> result;
  for (int64_t stage = 0; stage < shape.devices * shape.chunks; ++stage)
    result.push_back(stage % shape.devices);
  return result;
}

std::vector<int64_t> zigzagPlacement(const PipelineShape &shape) {
  std::vector<int64_t> result;
  for (int64_t stage = 0; stage < shape.devices * shape.chunks; ++stage) {
    int64_t along = stage % shape.devices;
    result.push_back(stage / shape.devices % 2 ? shape.devices - 1 - along : along);
  }
  return result;
}

static constexpr int64_t manyChunks = 1 << 20;

static std::string anyShape(const PipelineShape &) { return ""; }
static int64_t everyMicroBatch(const PipelineShape &) { return 1; }
static int64_t everyGroup(const PipelineShape &shape) { return shape.devices; }

static std::string multipleOfDevices(const PipelineShape &shape) {
  if (shape.microBatches % shape.devices == 0)
    return "";
  int64_t below = shape.microBatches / shape.devices * shape.devices, above = below + shape.devices;
  return "sends micro-batches in groups of the " + std::to_string(shape.devices) + " devices, so " +
         std::to_string(shape.microBatches) + " is no legal number of them; " +
         (below ? std::to_string(below) + " and " : "") + std::to_string(above) + " are";
}

llvm::ArrayRef<PipelineScheduleKind> pipelineScheduleKinds() {
  static const llvm::StringLiteral oneFOneBNames[] = {"1F1B", "pipedream-flush"};
  static const llvm::StringLiteral interleavedNames[] = {"interleaved-1f1b", "1f1b-i", "vpp"};
  static const llvm::StringLiteral breadthFirstNames[] = {"bfs", "looped-bfs"};
  static const PipelineScheduleKind kinds[] = {
      {"gpipe",
       "all forwards, then all backwards; keeps every micro-batch",
       {},
       "",
       1,
       1,
       1,
       1,
       false,
       anyShape,
       everyMicroBatch,
       makeGPipeSchedule},
      {"1f1b", "one forward, one backward; stage s of p keeps p - s micro-batches", oneFOneBNames, "", 1, 1, 1, 1,
       false, anyShape, everyMicroBatch, makeOneFOneBSchedule},
      {"interleaved", "1f1b over several chunks per device: less bubble, more messages", interleavedNames,
       "2 or more chunks per device, micro-batches a multiple of the devices", 2, manyChunks, 2, 1, false,
       multipleOfDevices, everyGroup, makeInterleavedSchedule},
      {"breadth-first", "gpipe over several chunks per device, chunk after chunk; suits sharded parameters",
       breadthFirstNames, "2 or more chunks per device", 2, manyChunks, 2, 1, false, anyShape, everyMicroBatch,
       makeBreadthFirstSchedule},
  };
  return kinds;
}

static llvm::Error refuse(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<const PipelineScheduleKind *> findPipelineSchedule(llvm::StringRef name) {
  for (const PipelineScheduleKind &kind : pipelineScheduleKinds())
    if (kind.name == name || llvm::is_contained(kind.aliases, name))
      return &kind;
  auto names = llvm::map_range(pipelineScheduleKinds(), [](const PipelineScheduleKind &kind) { return kind.name; });
  return refuse("unknown pipeline schedule \"" + name + "\"; known: " + llvm::join(names, ", "));
}

llvm::Error checkPipelineShape(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  auto atLeastOne = [](llvm::StringRef what, int64_t count) {
    return refuse("a pipeline needs at least 1 " + what + ", not " + Twine(count));
  };
  if (shape.devices < 1)
    return atLeastOne("stage", shape.devices);
  if (shape.microBatches < 1)
    return atLeastOne("micro-batch", shape.microBatches);
  if (shape.chunks < 1)
    return atLeastOne("chunk per device", shape.chunks);
  if (shape.slices < 1)
    return atLeastOne("sequence slice", shape.slices);
  std::string named = ("pipeline schedule \"" + kind.name + "\" ").str();
  if (shape.chunks < kind.minChunks || shape.chunks > kind.maxChunks) {
    std::string legal =
        kind.minChunks == kind.maxChunks ? std::to_string(kind.minChunks) : std::to_string(kind.minChunks) + " or more";
    return refuse(named + "has " + legal + " chunks per device, not " + Twine(shape.chunks));
  }
  if (shape.slices > 1 && !kind.slicesSequence)
    return refuse(named + "does not cut the sequence: it has 1 slice per micro-batch, not " + Twine(shape.slices));
  if (std::string wrong = kind.check(shape); !wrong.empty())
    return refuse(named + wrong);
  return llvm::Error::success();
}

llvm::Expected<PipelineSchedule> makePipelineSchedule(llvm::StringRef name, const PipelineShape &shape) {
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(name);
  if (!kind)
    return kind.takeError();
  if (llvm::Error error = checkPipelineShape(**kind, shape))
    return std::move(error);
  return (*kind)->make(shape);
}

/// What one chunk per stage, one replica and whole sequences can run.
static bool runsPlainStages(const PipelineScheduleKind &kind) {
  return kind.minChunks == 1 && kind.replicas == 1 && !kind.slicesSequence;
}

llvm::Expected<PipelineSchedule> makePipelineSchedule(llvm::StringRef name, int64_t stages, int64_t microBatches) {
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(name);
  if (!kind)
    return kind.takeError();
  if (!runsPlainStages(**kind)) {
    llvm::SmallVector<llvm::StringRef> legal;
    for (const PipelineScheduleKind &other : pipelineScheduleKinds())
      if (runsPlainStages(other))
        legal.push_back(other.name);
    return refuse("pipeline schedule \"" + (*kind)->name + "\" needs " + (*kind)->needs +
                  "; with one chunk of the model per stage: " + llvm::join(legal, ", "));
  }
  return makePipelineSchedule(name, PipelineShape{stages, microBatches});
}

} // namespace mlir::ppc
