// One order of all events of a step; if there is one the step has no deadlock.
#ifndef PPC_TIMING_LINEARORDER_H
#define PPC_TIMING_LINEARORDER_H

#include "ppc/Timing/StepEvents.h"

namespace mlir::ppc {

/// All events, each after those that it waits for. If there is no such order, an error at one action of a cycle of
/// waits, with a note at each of the others that describes its wait.
FailureOr<std::vector<Event>> findLinearOrder(const StepEvents &events);

/// Whether such an order exists if, in addition, each device runs its collectives in the order in which it issues them,
/// one after the other whatever the stream: then all devices can issue in that order, and a device with resources for
/// one collective at a time blocks no other one. Errors as findLinearOrder.
LogicalResult verifyIssueOrder(const StepEvents &events);

} // namespace mlir::ppc

#endif // PPC_TIMING_LINEARORDER_H
