// One order of all events of a step; if there is one the step has no deadlock.
#ifndef PPC_TIMING_LINEARORDER_H
#define PPC_TIMING_LINEARORDER_H

#include "ppc/Timing/StepEvents.h"

namespace mlir::ppc {

/// All events, each after those that it waits for. Where there is no such order, an error at one action of a circle of
/// waits, with a note at each of the others that says how it waits.
FailureOr<std::vector<Event>> findLinearOrder(const StepEvents &events);

/// Whether such an order is left when, besides, each device lets what communicates in groups happen in the order in
/// which it issues it, one after the other whatever the stream: then all devices can issue in that order, and none that
/// has resources for one collective at a time keeps another from beginning. Errors as findLinearOrder.
LogicalResult verifyIssueOrder(const StepEvents &events);

} // namespace mlir::ppc

#endif // PPC_TIMING_LINEARORDER_H
