// The registry of pipeline schedules: names, requirements, and generators.
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
  for (std::vector<PipelineAction> &actions : schedule.devices)
    actions.reserve(3 * shape.chunks * shape.microBatches * shape.slices);
  return schedule;
}

StagePlaces placeRoundRobin(const PipelineShape &shape) {
  std::vector<int64_t> result;
  for (int64_t stage = 0; stage < shape.devices * shape.chunks; ++stage)
    result.push_back(stage % shape.devices);
  return {result};
}

StagePlaces placeZigzag(const PipelineShape &shape) {
  std::vector<int64_t> result;
  for (int64_t stage = 0; stage < shape.devices * shape.chunks; ++stage) {
    int64_t along = stage % shape.devices;
    result.push_back(stage / shape.devices % 2 ? shape.devices - 1 - along : along);
  }
  return {result};
}

StagePlaces placeBothWays(const PipelineShape &shape) {
  std::vector<int64_t> down = placeRoundRobin(shape).front();
  return {down, std::vector<int64_t>(down.rbegin(), down.rend())};
}

std::vector<int64_t> bidirectionalReplicas(int64_t microBatches) {
  std::vector<int64_t> result;
  for (int64_t m = 0; m < microBatches; ++m)
    result.push_back(m >= microBatches / 2);
  return result;
}

PipelineSchedule makeByDevice(PipelineSchedule schedule, const PipelineShape &shape, DeviceGenerator makeDevice) {
  for (int64_t device = 0; device < shape.devices; ++device)
    makeDevice(shape, device, schedule.devices[device]);
  return schedule;
}

static constexpr int64_t maxSlope = 1 << 20;
static constexpr int64_t manyChunks = 1 << 20;

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
         std::to_string(shape.microBatches) + " is not a legal number of them; " +
         (below ? std::to_string(below) + " and " : "") + std::to_string(above) + " are";
}

namespace {
struct DeviceRule {
  llvm::StringRef name;
  StagePlaces (*place)(const PipelineShape &shape);
  DeviceGenerator makeDevice;
  std::vector<OrderLimit> (*orderLimits)(const PipelineShape &shape) = nullptr;
};
} // namespace

static constexpr DeviceRule deviceRules[] = {
    {"gpipe", nullptr, makeGPipeDevice},
    {"1f1b", nullptr, makeOneFOneBDevice, limitOneFOneB},
    {"interleaved", placeRoundRobin, makeInterleavedDevice},
    {"breadth-first", placeRoundRobin, makeBreadthFirstDevice},
    {"zb1p", nullptr, makeZeroBubble1pDevice},
    {"zb2p", nullptr, makeZeroBubble2pDevice},
    {"zbv", placeZigzag, makeZeroBubbleVDevice},
    {"v-half", placeZigzag, nullptr, limitVHalf},
    {"v-min", placeZigzag, nullptr, limitVMin},
    {"wave", placeZigzag, nullptr, limitWave},
    {"chimera", placeBothWays, nullptr, limitChimera},
    {"dualpipe", placeBothWays, makeDualPipeDevice},
    {"dualpipev", placeZigzag, makeDualPipeVDevice},
    {"seq1f1b", nullptr, makeSequenceChunkedDevice},
};

static std::vector<PipelineScheduleKind> makeKinds() {
  std::vector<PipelineScheduleKind> kinds;
  auto add = [&](llvm::StringRef name, llvm::StringRef summary, PipelineSchedule (*make)(const PipelineShape &),
                 std::vector<llvm::StringRef> aliases) -> PipelineScheduleKind & {
    kinds.push_back({name, summary, make, std::move(aliases)});
    kinds.back().period = everyMicroBatch;
    return kinds.back();
  };
  auto addChunked = [&](llvm::StringRef name, llvm::StringRef summary, PipelineSchedule (*make)(const PipelineShape &),
                        std::vector<llvm::StringRef> aliases) -> PipelineScheduleKind & {
    PipelineScheduleKind &kind = add(name, summary, make, std::move(aliases));
    kind.needs = "2 or more chunks per device";
    kind.minChunks = kind.defaultChunks = 2;
    kind.maxChunks = manyChunks;
    return kind;
  };
  auto addV = [&](llvm::StringRef name, llvm::StringRef summary, PipelineSchedule (*make)(const PipelineShape &),
                  std::vector<llvm::StringRef> aliases) {
    PipelineScheduleKind &kind = addChunked(name, summary, make, std::move(aliases));
    kind.needs = "2 chunks per device";
    kind.maxChunks = 2;
    kind.splitsBackward = true;
  };
  auto addBidirectional = [&](llvm::StringRef name, llvm::StringRef summary,
                              PipelineSchedule (*make)(const PipelineShape &), std::vector<llvm::StringRef> aliases,
                              int64_t (*period)(const PipelineShape &)) -> PipelineScheduleKind & {
    PipelineScheduleKind &kind = add(name, summary, make, std::move(aliases));
    kind.needs = "two copies of the model";
    kind.replicas = 2;
    kind.check = twoDirections;
    kind.period = period;
    return kind;
  };

  add("gpipe", "all forwards, then all backwards; keeps every micro-batch", makeGPipeSchedule, {});
  add("1f1b", "one forward, one backward; stage s of p keeps p - s micro-batches", makeOneFOneBSchedule,
      {"1F1B", "pipedream-flush"})
      .alternates = true;
  PipelineScheduleKind &interleaved =
      addChunked("interleaved", "1f1b over several chunks per device: less bubble, more messages",
                 makeInterleavedSchedule, {"interleaved-1f1b", "1f1b-i", "vpp"});
  interleaved.check = multipleOfDevices;
  interleaved.period = everyGroup;
  addChunked("breadth-first", "gpipe over several chunks per device, chunk after chunk; suits sharded parameters",
             makeBreadthFirstSchedule, {"bfs", "looped-bfs"})
      .period = nullptr;
  PipelineScheduleKind &once =
      add("zb1p", "1f1b whose weight gradients fill bubbles (ZB-H1); every device keeps p micro-batches",
          makeZeroBubble1pSchedule, {"zb-1p", "zb-h1", "zbh1"});
  once.fittedInFlight = 1;
  once.splitsBackward = true;
  PipelineScheduleKind &twice = add("zb2p", "no bubble when F = B = W (ZB-H2); every device keeps 2p - 1 micro-batches",
                                    makeZeroBubble2pSchedule, {"zb-2p", "zb-h2", "zbh2"});
  twice.fittedInFlight = 2;
  twice.splitsBackward = true;
  addV("zbv", "two chunks in a V: no bubble when F = B = W; every device keeps p micro-batches",
       makeZeroBubbleVSchedule, {"zb-v"});
  addV("v-half", "two chunks in a V, half of the activations of 1f1b, half of its bubble", makeVHalfSchedule,
       {"vhalf"});
  addV("v-min", "two chunks in a V, a third of the activations of 1f1b, two thirds of its bubble", makeVMinSchedule,
       {"vmin"});
  PipelineScheduleKind &wave =
      addChunked("wave", "chunks down and up the devices several times: messages between half as many chunks",
                 makeWaveSchedule, {"hanayo"});
  wave.needs = "an even number of chunks per device";
  wave.check = wholeWaves;
  wave.period = everyGroup;
  wave.earliestFirst = true;
  addBidirectional("chimera", "two copies of the model in opposite directions: half the bubble of 1f1b",
                   makeChimeraSchedule, {"bidirectional"}, everyGroup)
      .earliestFirst = true;
  addBidirectional("dualpipe",
                   "two copies in opposite directions, each forward overlaps with a backward: hides expert all-to-all",
                   makeDualPipeSchedule, {"dual-pipe"}, everyPair)
      .splitsBackward = true;
  addV("dualpipev", "the half of dualpipe with one copy of the model, in a V", makeDualPipeVSchedule,
       {"dualpipe-v", "dual-pipe-v"});
  PipelineScheduleKind &sliced =
      add("seq1f1b", "1f1b over slices of the sequence: a fraction of its bubble and of its activations",
          makeSequenceChunkedSchedule, {"seq-1f1b", "sequence-chunked"});
  sliced.needs = "sequences split into slices";
  sliced.slicesSequence = true;
  sliced.alternates = true;
  for (PipelineScheduleKind &kind : kinds)
    for (const auto &[name, place, makeDevice, orderLimits] : deviceRules)
      if (kind.name == name) {
        kind.place = place;
        kind.makeDevice = makeDevice;
        kind.orderLimits = orderLimits;
      }
  return kinds;
}

llvm::ArrayRef<PipelineScheduleKind> pipelineScheduleKinds() {
  static const std::vector<PipelineScheduleKind> kinds = makeKinds();
  return kinds;
}

PipelineSchedule makeEmptyPipeline(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  PipelineSchedule schedule{kind.name.str(), shape.devices * shape.chunks, shape.microBatches, {}};
  schedule.devices.resize(shape.devices);
  schedule.sliceCount = shape.slices;
  if (kind.place)
    schedule.placement = kind.place(shape);
  if (kind.replicas > 1)
    schedule.replicas = bidirectionalReplicas(shape.microBatches);
  return schedule;
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

int64_t defaultSlices(const PipelineScheduleKind &kind, int64_t devices) {
  return kind.slicesSequence && devices > 1 ? 4 : 1;
}

int64_t defaultSlices(llvm::StringRef schedule, int64_t devices) {
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(schedule);
  if (kind)
    return defaultSlices(**kind, devices);
  llvm::consumeError(kind.takeError());
  return 1;
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
    return refuse(named + "does not slice the sequence: it has 1 slice per micro-batch, not " + Twine(shape.slices));
  if ((shape.lead || shape.lag) && !kind.fitsDurations())
    return refuse(named + "does not fit durations: it has no lead and lag");
  if (shape.lead < 0 || shape.lag < 0 || shape.lead > maxSlope || shape.lag > maxSlope)
    return refuse(named + "has a lead and lag from 0 to " + Twine(maxSlope) + ", not " + Twine(shape.lead) + " and " +
                  Twine(shape.lag));
  if (std::string wrong = kind.check ? kind.check(shape) : ""; !wrong.empty())
    return refuse(named + wrong);
  return llvm::Error::success();
}

llvm::Error checkActionCount(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  const double most = 1 << 26;
  double count = 3.0 * shape.devices * shape.chunks * shape.microBatches * shape.slices;
  if (count <= most)
    return llvm::Error::success();
  return refuse("pipeline schedule \"" + kind.name + "\" of " + Twine(shape.devices) + " devices, " +
                Twine(shape.chunks) + " chunks, " + Twine(shape.microBatches) + " micro-batches and " +
                Twine(shape.slices) + " slices has more than " + Twine(int64_t(most)) +
                " actions; larger micro-batches need fewer");
}

llvm::Expected<PipelineSchedule> makePipelineSchedule(llvm::StringRef name, const PipelineShape &shape) {
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(name);
  if (!kind)
    return kind.takeError();
  if (llvm::Error error = checkPipelineShape(**kind, shape))
    return std::move(error);
  if (llvm::Error error = checkActionCount(**kind, shape))
    return std::move(error);
  return (*kind)->make(shape);
}

/// Whether the kind runs with one chunk per stage, one replica and full sequences.
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
