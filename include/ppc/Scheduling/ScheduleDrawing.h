// Draws the timeline of a pipeline schedule: as text, and as trace events for a viewer.
#ifndef PPC_SCHEDULING_SCHEDULEDRAWING_H
#define PPC_SCHEDULING_SCHEDULEDRAWING_H

#include "ppc/Scheduling/ScheduleSimulator.h"

#include "llvm/Support/JSON.h"

namespace mlir::ppc {

/// One line per device, one cell per `cell` seconds: an action's name where it starts, '-' while it lasts, '.' while
/// the device idles. Starts and ends are rounded to cells; an action shorter than half a cell is not drawn.
///
///   device 0 |F0 F1 .  .  .  .  B0 -- B1 --|
///   device 1 |.  F0 F1 B0 -- B1 -- .  .  . |
///
/// Names come from `drawnName`.
std::string drawSchedule(const ScheduleTimeline &timeline, Seconds cell);

/// The action as drawings name it: "F3"; on a device with several chunks of one replica "F3a" on the first of them in
/// the model, "F3b" on the second; "F3.1" for slice 1 of a sequence in several.
std::string drawnName(const ScheduleTimeline &timeline, int64_t device, const PipelineAction &action);

/// Writes events of the Chrome trace format (ui.perfetto.dev, chrome://tracing) into an open array "traceEvents". A
/// process is a device, with threads 0 "compute", 1 "messages forward", 2 "messages backward", and a counter of the
/// micro-batches x chunks that it keeps; an arrow leads from each message to the action that waits for it.
/// Microseconds.
void writeScheduleEvents(const ScheduleTimeline &timeline, llvm::json::OStream &json);

/// A whole trace file of that.
std::string scheduleTrace(const ScheduleTimeline &timeline);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SCHEDULEDRAWING_H
