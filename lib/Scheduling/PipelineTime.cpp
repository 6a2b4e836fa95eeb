// Times a compiled schedule. An action starts when its device is free and its input has arrived; that is all.
#include "ppc/Scheduling/PipelineTime.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>

namespace mlir::ppc {

double PipelineTime::bubbleRate() const {
  Seconds busiest = busy.empty() ? Seconds(0) : *std::max_element(busy.begin(), busy.end());
  return stepTime.value > 0 ? 1 - busiest / stepTime : 0;
}

Seconds PipelineTime::span() const {
  Seconds longest;
  for (size_t device = 0; device < end.size(); ++device)
    longest = std::max(longest, end[device] - begin[device]);
  return longest;
}

PipelineShape fitPipelineShape(const PipelineScheduleKind &kind, PipelineShape shape,
                               llvm::ArrayRef<StageDurations> durations, const PipelineMessages &messages,
                               double weightShare) {
  StageDurations sum;
  for (const StageDurations &each : durations) {
    sum.forward += each.forward;
    sum.backward += each.backward;
    sum.weightGradient += each.weightGradient;
  }
  double count = std::max<size_t>(durations.size(), 1);
  double x = (sum.forward + sum.backward).value / count + (messages.forward + messages.backward).value;
  int64_t last = shape.devices - 1;
  if (!kind.fitsDurations() || last == 0 || !(x < 1e100) || sum.forward.value <= 0 || sum.weightGradient.value <= 0)
    return shape;
  // The first device has the longest lead and saves the micro-batches ahead; the last one the longest lag, and 1 + held
  // W.
  double others = double(kind.fittedInFlight * shape.devices - 1);
  double mostLead = others / last, mostLag = shape.microBatches / double(last);
  if (weightShare > 0)
    mostLag = std::min(mostLag, std::floor(others / weightShare) / last);
  double lead = std::min(x * count / sum.forward.value, mostLead);
  double lag = std::min(x * count / sum.weightGradient.value, mostLag);
  shape.lead = std::max<int64_t>(std::ceil(lead * 16 - 1e-6), 1); // the generator keeps to the most
  shape.lag = std::clamp<int64_t>(std::ceil(lag * 16 - 1e-6), 1, std::max<int64_t>(mostLag * 16, 1));
  return shape;
}

llvm::Expected<const PipelineProgram *> PipelineTimer::compile(const PipelineScheduleKind &kind,
                                                               const PipelineShape &shape) {
  return compiled ? compiled(kind, shape) : programs.get(kind, shape);
}

llvm::Error PipelineTimer::time(llvm::StringRef schedule, const PipelineShape &shape,
                                llvm::ArrayRef<StageDurations> durations, const PipelineMessages &messages,
                                PipelineTime &result) {
  llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(schedule);
  if (!kind)
    return kind.takeError();
  llvm::Expected<const PipelineProgram *> program = compile(**kind, shape);
  if (!program)
    return program.takeError();
  return time(**program, durations, messages, result);
}

/// One run. Times are integer multiples of the unit of the grid, so equality is exact.
class ProgramReplay {
public:
  ProgramReplay(PipelineTimer &timer, const PipelineProgram &program)
      : timer(timer), program(program), times(timer.times.data()) {
    timer.free.assign(program.chunks.size(), 0);
    free = timer.free.data();
  }

  void run() {
    int64_t done = 0;
    for (const PipelineProgram::Loop &loop : program.loops) {
      replay(done, loop.begin);
      runLoop(loop);
      done = loop.begin + loop.length;
    }
    replay(done, program.actions.size());
  }

  int64_t position = 0; // actions replayed so far

private:
  /// actions[begin, end), once.
  void replay(int64_t begin, int64_t end) {
    if (int64_t(timer.ends.size()) < position + end - begin)
      timer.ends.resize(std::max<size_t>(2 * timer.ends.size(), position + end - begin));
    int64_t *ends = timer.ends.data() + position;
    for (const PipelineProgram::Action *action = program.actions.data() + begin, *last = program.actions.data() + end;
         action != last; ++action, ++ends) {
      const PipelineTimer::CodeTimes<int64_t> &code = times[action->code];
      int64_t start = free[action->device];
      if (action->needs)
        start = std::max(start, ends[-int64_t(action->needs)] + code.latency);
      *ends = start + code.duration;
      free[action->device] = *ends + code.after;
    }
    position += end - begin;
  }

  void runLoop(const PipelineProgram::Loop &loop) {
    int64_t begin = position, turnsBeforeNextTry = 3, tries = 0;
    int64_t maxCycle = program.shape.devices + 1;
    for (int64_t turn = 1; turn <= loop.turns; ++turn) {
      replay(loop.begin, loop.begin + loop.length);
      if (!timer.extrapolate || --turnsBeforeNextTry > 0 || turn == loop.turns)
        continue;
      for (int64_t cycle = 1; cycle <= maxCycle && cycle <= loop.turns - turn; ++cycle) {
        // isSteady looks back over the longer of a cycle and the window, and two cycles more.
        if (std::max(program.window, cycle * loop.length) + 2 * cycle * loop.length > position - begin)
          break;
        if (!looksSteady(cycle * loop.length))
          continue;
        if (isSteady(loop, cycle * loop.length)) {
          int64_t skipped = (loop.turns - turn) / cycle;
          skip(loop, cycle * loop.length, skipped);
          turn += skipped * cycle;
          turnsBeforeNextTry = loop.turns; // fewer turns than a cycle remain
        } else {
          turnsBeforeNextTry = ++tries;
        }
        break;
      }
    }
  }

  /// The last action of the cycle grew as it did in the cycle before.
  bool looksSteady(int64_t length) const {
    const int64_t *end = timer.ends.data() + position - 1;
    return end[0] - end[-length] == end[-length] - end[-2 * length];
  }

  /// By induction every further cycle adds to each end as much as the last one: ends of the last cycle, and all earlier
  /// ends that later actions read, grew by as much as in the cycle before; and each action of the last cycle that
  /// waited for the later of device and input waits for the same one again, since that one does not grow more slowly.
  bool isSteady(const PipelineProgram::Loop &loop, int64_t length) {
    const int64_t *end = timer.ends.data() + position;
    int64_t growth = end[-1] - end[-1 - length];
    bool uniform = true;
    for (int64_t i = -std::max(length, program.window); i < 0; ++i) {
      int64_t grown = end[i] - end[i - length];
      if (grown != end[i - length] - end[i - 2 * length])
        return false;
      uniform &= grown == growth;
    }
    return uniform || keepsOrder(loop, length);
  }

  bool keepsOrder(const PipelineProgram::Loop &loop, int64_t length) {
    const int64_t *end = timer.ends.data() + position;
    auto actionAt = [&](int64_t i) { return program.actions[loop.begin + (i + 4 * length) % loop.length]; };
    llvm::SmallVector<int64_t, 64> last(program.chunks.size(), 0); // per device: its last action before, 0: none
    for (int64_t i = -2 * length; i < 0; ++i) {
      PipelineProgram::Action action = actionAt(i);
      int64_t before = last[action.device];
      last[action.device] = i;
      if (i < -length || !action.needs || !before)
        continue;
      int64_t freeAt = end[before] + times[actionAt(before).code].after;
      int64_t arrival = end[i - action.needs] + times[action.code].latency;
      int64_t freeGrowth = end[before] - end[before - length];
      int64_t arrivalGrowth = end[i - action.needs] - end[i - action.needs - length];
      int64_t lead = freeAt - arrival, gain = freeGrowth - arrivalGrowth;
      if (lead > 0 ? gain < 0 : lead < 0 ? gain > 0 : gain != 0)
        return false;
    }
    return true;
  }

  void skip(const PipelineProgram::Loop &loop, int64_t length, int64_t cycles) {
    int64_t *end = timer.ends.data() + position;
    llvm::SmallVector<bool, 64> seen(program.chunks.size(), false);
    for (int64_t i = -1; i >= -loop.length; --i) {
      uint16_t device = program.actions[loop.begin + loop.length + i].device;
      if (!seen[device])
        free[device] += cycles * (end[i] - end[i - length]);
      seen[device] = true;
    }
    for (int64_t i = -std::max(length, program.window); i < 0; ++i) // in ascending order: the subtracted entry is still
                                                                    // unchanged
      moved.push_back(cycles * (end[i] - end[i - length]));
    for (int64_t i = -int64_t(moved.size()); i < 0; ++i)
      end[i] += moved[moved.size() + i];
    moved.clear();
  }

  PipelineTimer &timer;
  const PipelineProgram &program;
  const PipelineTimer::CodeTimes<int64_t> *times;
  int64_t *free;
  llvm::SmallVector<int64_t, 256> moved;
};

/// Durations until the output is sent, and after that.
static std::pair<double, double> durationsOf(PipelineProgram::CodeKind kind, const StageDurations &durations) {
  switch (kind) {
  case PipelineProgram::Forward:
    return {durations.forward.value, 0};
  case PipelineProgram::Backward:
    return {durations.backward.value, 0};
  case PipelineProgram::WeightGradient:
    return {durations.weightGradient.value, 0};
  case PipelineProgram::BackwardAndWeightGradient:
    return {durations.backward.value, durations.weightGradient.value};
  case PipelineProgram::PairedBackward:
    return {durations.pairedBackward().value, 0};
  case PipelineProgram::PairedBackwardAndWeightGradient:
    return {durations.pairedBackward().value, durations.pairedWeightGradient().value};
  case PipelineProgram::codeKinds:
    break;
  }
  llvm_unreachable("unknown code");
}

llvm::Error PipelineTimer::time(const PipelineProgram &program, llvm::ArrayRef<StageDurations> durations,
                                const PipelineMessages &messages, PipelineTime &result) {
  auto refuse = [&](const llvm::Twine &text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); };
  if (durations.size() != 1 && int64_t(durations.size()) != program.stageCount)
    return refuse("durations for " + llvm::Twine(durations.size()) + " virtual stages, not " +
                  llvm::Twine(program.stageCount));
  auto isTime = [](Seconds time) { return time.value >= 0 && time.value < 1e100; };
  bool valid = isTime(messages.forward) && isTime(messages.backward);
  double once = 0; // one micro-batch through the pipeline, messages included
  for (const StageDurations &each : durations) {
    valid &= isTime(each.forward) && isTime(each.backward) && isTime(each.weightGradient) && isTime(each.overlap);
    once += (each.forward + each.backward + each.weightGradient + messages.forward + messages.backward).value;
  }
  if (!valid)
    return refuse("a duration or message time of the pipeline is negative or not finite");
  if (durations.size() == 1)
    once *= program.stageCount;

  // Busy times, a bound of the step time, then the times of each code on the grid.
  size_t deviceCount = program.chunks.size();
  double share = 1.0 / program.shape.slices, bound = 0;
  result.busy.assign(deviceCount, Seconds(0));
  result.begin.assign(deviceCount, Seconds(0));
  result.end.assign(deviceCount, Seconds(0));
  result.stepTime = Seconds(0);
  result.replayed = 0;
  exactTimes.resize(program.codes.size());
  for (size_t i = 0; i < program.codes.size(); ++i) {
    const PipelineProgram::Code &code = program.codes[i];
    if (code.count == 0) {
      exactTimes[i] = {};
      continue;
    }
    const StageDurations &each = durations[durations.size() == 1 ? 0 : code.stage];
    bool isForward = code.kind == PipelineProgram::Forward;
    auto [duration, behind] = durationsOf(code.kind, each);
    double message = isForward ? messages.forward.value : messages.backward.value;
    double latency = code.receives ? message : 0, blocked = code.sends && messages.blockingSends ? message : 0;
    exactTimes[i] = {duration * share, latency * share, (behind + blocked) * share};
    result.busy[code.device] += Seconds((duration + behind) * share * code.count);
    result.end[code.device] += Seconds((duration + behind + blocked + 2 * latency) * share * code.count);
    bound = std::max(bound, result.end[code.device].value);
  }
  bound += 2 * once;
  if (bound <= 0)
    return llvm::Error::success();
  double unit = std::ldexp(1.0, std::ilogb(bound) + 2 - 60);
  times.clear();
  for (const CodeTimes<double> &exact : exactTimes)
    times.push_back(exact.duration + exact.latency + exact.after == 0
                        ? CodeTimes<int64_t>{}
                        : CodeTimes<int64_t>{std::llrint(exact.duration / unit), std::llrint(exact.latency / unit),
                                             std::llrint(exact.after / unit)});

  ProgramReplay replay(*this, program);
  replay.run();
  result.replayed = replay.position;
  int64_t latest = 0;
  for (size_t device = 0; device < deviceCount; ++device) {
    latest = std::max(latest, free[device]);
    int64_t first = program.first[device];
    result.begin[device] = Seconds((ends[first] - times[program.actions[first].code].duration) * unit);
    result.end[device] = Seconds(free[device] * unit);
  }
  result.stepTime = Seconds(latest * unit);
  return llvm::Error::success();
}

} // namespace mlir::ppc
