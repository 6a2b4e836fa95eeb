// Time of a training step under a pipeline schedule, fast enough for a search: microseconds for any number of
// micro-batches. A schedule of one shape is compiled once (PipelineProgram.h); timing runs the program, and leaves a
// loop as soon as every further iteration provably adds the same to each time. The result equals a full replay: times
// are integer multiples of about 2^-58 of the step, so "the same" holds to the bit.
#ifndef PPC_SCHEDULING_PIPELINETIME_H
#define PPC_SCHEDULING_PIPELINETIME_H

#include "ppc/Scheduling/PipelineProgram.h"
#include "ppc/Scheduling/ScheduleSimulator.h"

#include <functional>

namespace mlir::ppc {

/// Results of `PipelineTimer::time`. Keep one and reuse it: its vectors are not allocated again.
struct PipelineTime {
  Seconds stepTime;                          // until the last device is free
  llvm::SmallVector<Seconds, 64> busy;       // per device: sum of its actions, blocking sends not counted
  llvm::SmallVector<Seconds, 64> begin, end; // per device: when its first action starts, when it is free
  int64_t replayed = 0;                      // actions that were replayed to find out

  /// Idle share of the busiest device: the part that no better balance, only a better order, could recover.
  double bubbleRate() const;

  /// The longest that a device takes from its first action to its last. Step follows step in this time where no device
  /// waits for all others in between (the zero-bubble schedules with an optimizer that validates afterwards).
  Seconds span() const;
};

/// Returns the shape with which a schedule that can do so (`fittedInFlight`) fits these durations, given as for
/// PipelineTimer::time: with x = F + B + 2 transfers, averaged over the stages, x / F forwards ahead per later device,
/// and x / W deferred weight gradients per earlier device. At most p ("zb1p") or 2p ("zb2p") micro-batches are saved,
/// of which W needs the share `weightShare`. For other schedules returns the given shape.
PipelineShape fitPipelineShape(const PipelineScheduleKind &kind, PipelineShape shape,
                               llvm::ArrayRef<StageDurations> durations, const PipelineMessages &messages,
                               double weightShare);

/// Not thread-safe: one per thread.
class PipelineTimer {
public:
  /// `compiled`: where compiled schedules come from, instead of its own ones; they must outlive it.
  using Compiled =
      std::function<llvm::Expected<const PipelineProgram *>(const PipelineScheduleKind &, const PipelineShape &)>;
  explicit PipelineTimer(Compiled compiled = {}) : compiled(std::move(compiled)) {}

  /// The compiled schedule, cached for the timer's life. Errors as `PipelinePrograms::get`.
  llvm::Expected<const PipelineProgram *> compile(const PipelineScheduleKind &kind, const PipelineShape &shape);

  /// `durations` of one whole micro-batch: one per virtual stage, or one for all; a slice takes its share, also of the
  /// messages. Errors: any other count; negative, infinite or NaN times.
  llvm::Error time(const PipelineProgram &program, llvm::ArrayRef<StageDurations> durations,
                   const PipelineMessages &messages, PipelineTime &result);

  /// Both at once, by name.
  llvm::Error time(llvm::StringRef schedule, const PipelineShape &shape, llvm::ArrayRef<StageDurations> durations,
                   const PipelineMessages &messages, PipelineTime &result);

  /// Replays every action; for tests.
  bool extrapolate = true;

private:
  template <typename Time> struct CodeTimes {
    Time duration, latency, after;
  };
  Compiled compiled;
  PipelinePrograms programs;
  std::vector<CodeTimes<double>> exactTimes;
  std::vector<CodeTimes<int64_t>> times;
  std::vector<int64_t> ends, free;
  friend class ProgramReplay;
};

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_PIPELINETIME_H
