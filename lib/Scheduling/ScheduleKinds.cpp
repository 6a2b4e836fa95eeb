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

std::vector<std::vector<int64_t>> bidirectionalPlacement(const PipelineShape &shape) {
  std::vector<int64_t> down = roundRobinPlacement(shape);
  return {down, std::vector<int64_t>(down.rbegin(), down.rend())};
}

std::vector<int64_t> bidirectionalReplicas(int64_t microBatches) {
  std::vector<int64_t> result;
  for (int64_t m = 0; m < microBatches; ++m)
    result.push_back(m % 2);
  return result;
}

PipelineSchedule dropMicroBatches(PipelineSchedule schedule, int64_t microBatches) {
  for (std::vector<PipelineAction> &actions : schedule.devices)
    llvm::erase_if(actions, [&](const PipelineAction &action) { return action.microBatch >= microBatches; });
  schedule.microBatchCount = microBatches;
  if (!schedule.replicas.empty())
    schedule.replicas.resize(microBatches);
  return schedule;
}

static constexpr int64_t manyChunks = 1 << 20;

static std::string anyShape(const PipelineShape &) { return ""; }
static int64_t never(const PipelineShape &) { return 0; }
static int64_t everyMicroBatch(const PipelineShape &) { return 1; }
static int64_t everyGroup(const PipelineShape &shape) { return shape.devices; }

static int64_t everyPair(const PipelineShape &) { return 2; }

static std::string twoDirections(const PipelineShape &shape) {
  auto even = [](const char *what, int64_t count) {
    return "sends half of the micro-batches each way through the devices, so it needs an even number of " +
           std::string(what) + ", not " + std::to_string(count) + "; " +
           (count > 1 ? std::to_string(count - 1) + " and " : "") + std::to_string(count + 1) + " are legal";
  };
  if (shape.devices % 2)
    return even("devices", shape.devices);
  if (shape.microBatches % 2)
    return even("micro-batches", shape.microBatches);
  return "";
}

static std::string wholeWaves(const PipelineShape &shape) {
  if (shape.chunks % 2 == 0)
    return "";
  return "goes down and up the devices, so it needs an even number of chunks per device, not " +
         std::to_string(shape.chunks) + "; " + std::to_string(shape.chunks - 1) + " and " +
         std::to_string(shape.chunks + 1) + " are legal";
}

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
  static const llvm::StringLiteral zb1pNames[] = {"zb-1p", "zb-h1", "zbh1"};
  static const llvm::StringLiteral zb2pNames[] = {"zb-2p", "zb-h2", "zbh2"};
  static const llvm::StringLiteral zbvNames[] = {"zb-v"};
  static const llvm::StringLiteral vHalfNames[] = {"vhalf"};
  static const llvm::StringLiteral vMinNames[] = {"vmin"};
  static const llvm::StringLiteral waveNames[] = {"hanayo"};
  static const llvm::StringLiteral chimeraNames[] = {"bidirectional"};
  static const llvm::StringLiteral seq1f1bNames[] = {"seq-1f1b", "sequence-chunked"};
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
       breadthFirstNames, "2 or more chunks per device", 2, manyChunks, 2, 1, false, anyShape, never,
       makeBreadthFirstSchedule},
      {"zb1p", "1f1b whose weight gradients fill bubbles (ZB-H1); every device keeps p micro-batches", zb1pNames, "", 1,
       1, 1, 1, false, anyShape, everyMicroBatch, makeZeroBubble1pSchedule},
      {"zb2p", "no bubble when F = B = W (ZB-H2); every device keeps 2p - 1 micro-batches", zb2pNames, "", 1, 1, 1, 1,
       false, anyShape, everyMicroBatch, makeZeroBubble2pSchedule},
      {"zbv", "two chunks in a V: no bubble when F = B = W; every device keeps p micro-batches", zbvNames,
       "2 chunks per device", 2, 2, 2, 1, false, anyShape, everyMicroBatch, makeZeroBubbleVSchedule},
      {"v-half", "two chunks in a V, half of the activations of 1f1b, half of its bubble", vHalfNames,
       "2 chunks per device", 2, 2, 2, 1, false, anyShape, everyMicroBatch, makeVHalfSchedule},
      {"v-min", "two chunks in a V, a third of the activations of 1f1b, two thirds of its bubble", vMinNames,
       "2 chunks per device", 2, 2, 2, 1, false, anyShape, everyMicroBatch, makeVMinSchedule},
      {"wave", "chunks down and up the devices several times: the bubble of two directions with one copy", waveNames,
       "an even number of chunks per device", 2, manyChunks, 2, 1, false, wholeWaves, everyGroup, makeWaveSchedule},
      {"chimera", "two copies of the model in opposite directions: half the bubble of 1f1b", chimeraNames,
       "two copies of the model, an even number of devices and micro-batches", 1, 1, 1, 2, false, twoDirections,
       everyGroup, makeChimeraSchedule},
      {"dualpipe",
       "two copies in opposite directions, each forward beside a backward: hides expert all-to-all",
       {},
       "two copies of the model, an even number of devices and micro-batches",
       1,
       1,
       1,
       2,
       false,
       twoDirections,
       everyPair,
       makeDualPipeSchedule},
      {"seq1f1b", "1f1b over slices of the sequence: a fraction of its bubble and of its activations", seq1f1bNames,
       "sequences cut into slices", 1, 1, 1, 1, true, anyShape, everyMicroBatch, makeSequenceChunkedSchedule},
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
