// What has ended when an action begins.
#ifndef PPC_TIMING_HAPPENSBEFORE_H
#define PPC_TIMING_HAPPENSBEFORE_H

#include "ppc/Timing/StepEvents.h"

namespace mlir::ppc {

/// By stream of the program how many of its actions have ended, or of what they reach, whatever else may or may not
/// have happened.
using Clock = ArrayRef<uint32_t>;

/// Whether an action, or what is reached in the code of one, has ended by then.
inline bool hasEnded(const Activity &action, Clock clock) { return clock[action.stream] > action.place; }

/// Calls `begins` for each action, in `order` (findLinearOrder), with what has ended when it begins. Stops where that
/// fails. One action happens before another if and only if it has ended by its clock. Clocks live from when an event
/// is known to come until it has come: the memory is that of what is under way at one time, not of the program.
LogicalResult followClocks(const StepEvents &events, ArrayRef<Event> order,
                           function_ref<LogicalResult(uint32_t activity, Clock ended)> begins);

} // namespace mlir::ppc

#endif // PPC_TIMING_HAPPENSBEFORE_H
