// Compiles a schedule for timing: puts its actions in one order and finds the loops.
#include "ppc/Scheduling/PipelineProgram.h"

#include "WorstMoments.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

namespace mlir::ppc {

using Kind = PipelineActionKind;
using Action = PipelineProgram::Action;
using Moment = PipelineProgram::Moment;

static bool operator==(const Action &a, const Action &b) {
  return a.needs == b.needs && a.device == b.device && a.code == b.code;
}

double PipelineProgram::peak(int64_t device, llvm::ArrayRef<double> forward, llvm::ArrayRef<double> weight) const {
  double most = 0;
  for (const Moment &moment : moments[device]) {
    double sum = 0;
    for (size_t i = 0; i < moment.size(); ++i)
      sum += moment[i].forward * forward[i] + moment[i].weight * weight[i];
    most = std::max(most, sum);
  }
  return most;
}

namespace {
/// One schedule, put in order; no loops.
class Linearizer {
public:
  Linearizer(const PipelineSchedule &schedule) : schedule(schedule) {}

  llvm::Expected<PipelineProgram> run() {
    setUpChunks();
    if (llvm::Error error = putInOrder())
      return std::move(error);
    for (int64_t device = 0; device < schedule.deviceCount(); ++device)
      program.moments.push_back(worstMoments(schedule, schedule.devices[device], program.chunks[device]));
    return std::move(program);
  }

  /// Chunks and codes.
  void setUpChunks() {
    int64_t stages = schedule.stageCount;
    program.stageCount = stages;
    program.replicaCount = schedule.replicaCount();
    program.chunks.resize(schedule.deviceCount());
    program.first.resize(schedule.deviceCount(), 0);
    program.codes.resize(schedule.replicaCount() * stages * PipelineProgram::codeKinds);
    for (int64_t replica = 0; replica < schedule.replicaCount(); ++replica)
      for (int64_t stage = 0; stage < stages; ++stage) {
        int64_t device = schedule.deviceOf(replica, stage);
        program.chunks[device].push_back({replica, stage});
        bool fromBefore = stage > 0 && schedule.deviceOf(replica, stage - 1) != device;
        bool fromAfter = stage + 1 < stages && schedule.deviceOf(replica, stage + 1) != device;
        for (int64_t kind = 0; kind < PipelineProgram::codeKinds; ++kind) {
          PipelineProgram::Code &code = program.codes[(replica * stages + stage) * PipelineProgram::codeKinds + kind];
          code.kind = PipelineProgram::CodeKind(kind);
          code.device = device;
          code.stage = stage;
          bool isForward = kind == PipelineProgram::Forward, isWeight = kind == PipelineProgram::WeightGradient;
          code.receives = !isWeight && (isForward ? fromBefore : fromAfter);
          code.sends = !isWeight && (isForward ? fromAfter : fromBefore);
        }
      }
  }

  PipelineProgram program;

private:
  /// Orders actions in sweeps: in each, every device runs its next action if its inputs were computed in an earlier
  /// sweep.
  llvm::Error putInOrder() {
    int64_t stages = schedule.stageCount, units = schedule.microBatchCount * schedule.sliceCount;
    std::vector<int32_t> done(2 * stages * units, -1); // numbers of actions; there are fewer than 2^26
    auto slot = [&](Kind kind, int64_t stage, const PipelineAction &action) -> int32_t & {
      int64_t unit = action.microBatch * schedule.sliceCount + action.slice;
      return done[((kind == Kind::Backward) * stages + stage) * units + unit];
    };
    std::vector<size_t> next(schedule.deviceCount(), 0);
    std::vector<Action> &actions = program.actions;
    size_t total = 0;
    for (const std::vector<PipelineAction> &list : schedule.devices)
      total += list.size();
    actions.reserve(total); // at most
    for (int64_t sweepBegin = -1; sweepBegin != int64_t(actions.size());) {
      sweepBegin = actions.size();
      for (int64_t device = 0; device < schedule.deviceCount(); ++device) {
        const std::vector<PipelineAction> &list = schedule.devices[device];
        if (next[device] == list.size())
          continue;
        const PipelineAction &action = list[next[device]];
        int64_t needs = 0, sender = action.kind == Kind::Forward ? action.stage - 1 : action.stage + 1;
        if (action.kind != Kind::WeightGradient && sender >= 0 && sender < stages) {
          int64_t at = slot(action.kind, sender, action);
          if (at < 0 || at >= sweepBegin)
            continue;
          needs = int64_t(actions.size()) - at;
        }
        bool merged = isMerged(list, next[device]);
        int64_t codeKind = merged ? PipelineProgram::BackwardAndWeightGradient : int64_t(action.kind);
        if (schedule.isPaired(device, next[device]))
          codeKind = merged ? PipelineProgram::PairedBackwardAndWeightGradient : PipelineProgram::PairedBackward;
        int64_t code =
            (schedule.replicaOf(action.microBatch) * stages + action.stage) * PipelineProgram::codeKinds + codeKind;
        if (!program.codes[code].receives)
          needs = 0; // the same device computed the input
        if (action.kind != Kind::WeightGradient)
          slot(action.kind, action.stage, action) = int32_t(actions.size());
        ++program.codes[code].count;
        program.window = std::max(program.window, needs);
        if (next[device] == 0)
          program.first[device] = actions.size();
        actions.push_back({int32_t(needs), uint16_t(device), uint16_t(code)});
        next[device] += merged ? 2 : 1;
        __builtin_prefetch(list.data() + next[device] + 2); // lists of many devices in turn
      }
    }
    for (int64_t device = 0; device < schedule.deviceCount(); ++device)
      if (next[device] < schedule.devices[device].size())
        return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                       "schedule \"" + schedule.name + "\": device " + llvm::Twine(device) +
                                           " waits forever before " + toString(schedule.devices[device][next[device]]));
    return llvm::Error::success();
  }

  const PipelineSchedule &schedule;
};
} // namespace

static llvm::Expected<PipelineProgram> linearize(const PipelineScheduleKind &kind, PipelineShape shape,
                                                 int64_t microBatches) {
  shape.microBatches = microBatches;
  if (llvm::Error error = checkActionCount(kind, shape))
    return std::move(error);
  PipelineSchedule schedule = kind.make(shape);
  llvm::Expected<PipelineProgram> program = Linearizer(schedule).run();
  if (program)
    program->shape = shape;
  return program;
}

/// The loops of `small` whose repetition, once each, gives `large`. None when there are no such.
static std::optional<std::vector<PipelineProgram::Loop>> findLoops(llvm::ArrayRef<Action> small,
                                                                   llvm::ArrayRef<Action> large) {
  std::vector<PipelineProgram::Loop> loops;
  int64_t at = 0, inserted = 0, missing = int64_t(large.size()) - int64_t(small.size());
  auto equal = [](llvm::ArrayRef<Action> a, llvm::ArrayRef<Action> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Action &a, const Action &b) { return a == b; });
  };
  while (true) {
    while (at < int64_t(small.size()) && small[at] == large[at + inserted])
      ++at;
    if (inserted == missing)
      return at == int64_t(small.size()) ? std::optional(loops) : std::nullopt;
    int64_t done = loops.empty() ? 0 : loops.back().begin + loops.back().length * loops.back().turns;
    int64_t length = std::min(missing - inserted, at - done);
    for (; length > 0; --length) { // one more iteration of the longest loop body
      llvm::ArrayRef<Action> body = large.slice(at + inserted, length);
      int64_t after = std::min<int64_t>(length, small.size() - at);
      if (equal(body, small.slice(at - length, length)) &&
          equal(small.slice(at, after), large.slice(at + inserted + length, after)))
        break;
    }
    if (length <= 0)
      return std::nullopt;
    int64_t turns = 1;
    while (at - (turns + 1) * length >= done &&
           equal(small.slice(at - length, length), small.slice(at - (turns + 1) * length, length)))
      ++turns;
    loops.push_back({at - turns * length, length, turns});
    inserted += length;
  }
}

struct PipelinePrograms::Family {
  PipelineProgram small; // program of the minimum number of micro-batches, folded
  PipelineProgram large; // program of one more period; only its counts and moments are used
  int64_t period;

  /// Returns the program of `microBatches` micro-batches.
  PipelineProgram at(int64_t microBatches) const {
    PipelineProgram program = small;
    program.shape.microBatches = microBatches;
    int64_t periods = (microBatches - small.shape.microBatches) / period;
    for (PipelineProgram::Loop &loop : program.loops)
      loop.turns += periods;
    for (auto [code, larger] : llvm::zip(program.codes, large.codes))
      code.count += periods * (larger.count - code.count);
    for (auto [moments, larger] : llvm::zip(program.moments, large.moments))
      for (auto [moment, more] : llvm::zip(moments, larger))
        for (auto [load, moreLoad] : llvm::zip(moment, more)) {
          load.forward += periods * (moreLoad.forward - load.forward);
          load.weight += periods * (moreLoad.weight - load.weight);
        }
    return program;
  }

  /// Leaves each loop of `small` in its list of actions once. False: the two programs do not line up.
  bool fold() {
    std::optional<std::vector<PipelineProgram::Loop>> found = findLoops(small.actions, large.actions);
    if (!found || found->empty())
      return false;
    PipelineProgram::Loop &firstLoop = found->front();
    if (*llvm::max_element(small.first) >= firstLoop.begin + firstLoop.length)
      return false;
    for (auto [moments, larger] : llvm::zip(small.moments, large.moments))
      if (moments.size() != larger.size())
        return false;
    std::vector<Action> actions;
    int64_t copied = 0;
    for (PipelineProgram::Loop &loop : *found) {
      int64_t begin = loop.begin, end = begin + loop.length * loop.turns;
      actions.insert(actions.end(), small.actions.begin() + copied, small.actions.begin() + begin + loop.length);
      copied = end;
      loop.begin = int64_t(actions.size()) - loop.length;
    }
    actions.insert(actions.end(), small.actions.begin() + copied, small.actions.end());
    small.actions = std::move(actions);
    small.loops = std::move(*found);
    large.actions.clear();
    return true;
  }
};

PipelinePrograms::PipelinePrograms() = default;
PipelinePrograms::PipelinePrograms(PipelinePrograms &&) = default;
PipelinePrograms &PipelinePrograms::operator=(PipelinePrograms &&) = default;
PipelinePrograms::~PipelinePrograms() = default;

static constexpr int64_t unknown = -1, never = 0;

/// Micro-batches with which every steady state comes.
static int64_t leastToFold(const PipelineScheduleKind &kind, const PipelineShape &shape, int64_t period) {
  // Slices fill a pipeline with fewer micro-batches. Where devices alternate, all do from the first backward to the
  // last forward.
  int64_t filling = (shape.devices + shape.slices - 1) / shape.slices;
  return kind.alternates ? 2 * filling + 8 : 4 * std::max(filling, period) + 8;
}

llvm::Expected<PipelineProgram> PipelinePrograms::compile(const PipelineScheduleKind &kind,
                                                          const PipelineShape &shape) {
  Base base{&kind, shape.devices, shape.chunks, shape.slices, shape.lead, shape.lag};
  int64_t &known = multiples.try_emplace(base, kind.period ? unknown : never).first->second;
  // A shape with few micro-batches that still has every steady state, and the rest in periods.
  for (int64_t multiple = known == unknown ? 1 : known; multiple >= 1 && multiple <= 3; ++multiple) {
    int64_t period = multiple * kind.period(shape);
    int64_t enough = leastToFold(kind, shape, period);
    int64_t least = enough + (shape.microBatches - enough) % period;
    if (shape.microBatches < enough + 2 * period)
      return linearize(kind, shape, shape.microBatches);
    std::unique_ptr<Family> &family = families[{base, least}];
    if (!family) {
      if (shape.microBatches < 2 * least) // no more work than to find its steady state
        return linearize(kind, shape, shape.microBatches);
      llvm::Expected<PipelineProgram> small = linearize(kind, shape, least);
      if (!small)
        return small.takeError();
      llvm::Expected<PipelineProgram> large = linearize(kind, shape, least + period);
      if (!large)
        return large.takeError();
      auto candidate = std::make_unique<Family>(Family{std::move(*small), std::move(*large), period});
      if (!candidate->fold()) {
        if (known != unknown)
          break;
        continue;
      }
      known = multiple;
      family = std::move(candidate);
    }
    return family->at(shape.microBatches);
  }
  if (known == unknown)
    known = never;
  return linearize(kind, shape, shape.microBatches);
}

static llvm::Error checkProgram(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  if (llvm::Error error = checkPipelineShape(kind, shape))
    return error;
  if (double(kind.replicas) * shape.devices * shape.chunks > 10000)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "cannot time a pipeline of " +
                                                                       llvm::Twine(shape.devices) + " devices with " +
                                                                       llvm::Twine(kind.replicas * shape.chunks) +
                                                                       " chunks each; at most 10000 chunks");
  return llvm::Error::success();
}

llvm::Expected<const PipelineProgram *> PipelinePrograms::get(const PipelineScheduleKind &kind,
                                                              const PipelineShape &shape) {
  Base base{&kind, shape.devices, shape.chunks, shape.slices, shape.lead, shape.lag};
  std::unique_ptr<PipelineProgram> &entry = programs[{base, shape.microBatches}];
  if (entry)
    return entry.get();
  if (llvm::Error error = checkProgram(kind, shape))
    return std::move(error);
  llvm::Expected<PipelineProgram> program = compile(kind, shape);
  if (!program)
    return program.takeError();
  entry = std::make_unique<PipelineProgram>(std::move(*program));
  return entry.get();
}

bool PipelinePrograms::knowsLoads(const PipelineScheduleKind &kind, const PipelineShape &shape) const {
  Base base{&kind, shape.devices, shape.chunks, shape.slices, shape.lead, shape.lag};
  auto isIn = [&](const auto &map) {
    auto found = map.find({base, shape.microBatches});
    return found != map.end() && found->second;
  };
  return hasKnownMoments(kind) || isIn(loads) || isIn(programs);
}

/// Without any action.
static std::unique_ptr<PipelineProgram> placeChunks(const PipelineSchedule &schedule, const PipelineShape &shape) {
  Linearizer empty(schedule);
  empty.setUpChunks();
  auto program = std::make_unique<PipelineProgram>(std::move(empty.program));
  program->shape = shape;
  return program;
}

llvm::Expected<const PipelineProgram *> PipelinePrograms::getLoads(const PipelineScheduleKind &kind,
                                                                   const PipelineShape &shape) {
  Base base{&kind, shape.devices, shape.chunks, shape.slices, shape.lead, shape.lag};
  if (auto compiled = programs.find({base, shape.microBatches}); compiled != programs.end() && compiled->second)
    return compiled->second.get();
  std::unique_ptr<PipelineProgram> &entry = loads[{base, shape.microBatches}];
  if (entry)
    return entry.get();
  if (llvm::Error error = checkProgram(kind, shape))
    return std::move(error);
  // Where one action decides the next on other devices, all must be made; many micro-batches are folded instead.
  bool isKnown = hasKnownMoments(kind);
  if (!isKnown &&
      (!kind.makeDevice || (kind.period && shape.microBatches >= 2 * leastToFold(kind, shape, kind.period(shape)))))
    return get(kind, shape);
  PipelineSchedule schedule = makeEmptyPipeline(kind, shape);
  entry = placeChunks(schedule, shape);
  std::vector<PipelineAction> list;
  for (int64_t device = 0; device < shape.devices; ++device) {
    if (isKnown) {
      entry->moments.push_back(knownMoments(kind, shape, device));
      continue;
    }
    list.clear();
    kind.makeDevice(shape, device, list);
    entry->moments.push_back(worstMoments(schedule, list, entry->chunks[device]));
  }
  return entry.get();
}

const PipelineProgram *PipelinePrograms::getSomeLoads(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  Base base{&kind, shape.devices, shape.chunks, shape.slices, shape.lead, shape.lag};
  auto [entry, isNew] = someLoads.try_emplace({base, shape.microBatches});
  if (!isNew)
    return entry->second.get();
  if (kind.makeDevice) {
    PipelineSchedule schedule = makeEmptyPipeline(kind, shape);
    entry->second = placeChunks(schedule, shape);
    std::vector<PipelineAction> list;
    kind.makeDevice(shape, 0, list);
    entry->second->moments.resize(shape.devices);
    entry->second->moments[0] = worstMoments(schedule, list, entry->second->chunks[0]);
  } else if (PipelineShape fewer = shape;
             kind.earliestFirst && shape.microBatches > 2 * (fewer.microBatches = shape.devices + 2)) {
    // More micro-batches than these are never in flight.
    if (llvm::Expected<const PipelineProgram *> first = getLoads(kind, fewer))
      entry->second = std::make_unique<PipelineProgram>(**first);
    else
      llvm::consumeError(first.takeError());
  }
  return entry->second.get();
}

llvm::Expected<PipelineProgram> compilePipelineSchedule(const PipelineScheduleKind &kind, const PipelineShape &shape) {
  PipelinePrograms programs;
  llvm::Expected<const PipelineProgram *> program = programs.get(kind, shape);
  if (!program)
    return program.takeError();
  return **program;
}

} // namespace mlir::ppc
