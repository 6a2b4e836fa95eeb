// The happens-before relation: actions that have completed when an action starts.
#ifndef PPC_TIMING_HAPPENSBEFORE_H
#define PPC_TIMING_HAPPENSBEFORE_H

#include "ppc/Timing/StepEvents.h"

namespace mlir::ppc {

/// Vector clock: for each stream of the program, how many of its actions, or of the program points that they reach,
/// are certain to have completed.
using Clock = ArrayRef<uint32_t>;

/// Whether an action, or a program point reached in the code of one, has completed by then.
inline bool hasEnded(const Activity &action, Clock clock) { return clock[action.stream] > action.place; }

/// Calls `begins` for each action, in `order` (findLinearOrder), with its vector clock at its start. Stops if that
/// fails. One action happens before another if and only if it has completed by the clock of the other. Clocks live from
/// the first known predecessor of an event until the event: memory grows with the actions in flight at one time, not
/// with the program.
LogicalResult followClocks(const StepEvents &events, ArrayRef<Event> order,
                           function_ref<LogicalResult(uint32_t activity, Clock ended)> begins);

} // namespace mlir::ppc

#endif // PPC_TIMING_HAPPENSBEFORE_H
