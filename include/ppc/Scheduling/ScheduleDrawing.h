// Draws the timeline of a pipeline schedule as text.
#ifndef PPC_SCHEDULING_SCHEDULEDRAWING_H
#define PPC_SCHEDULING_SCHEDULEDRAWING_H

#include "ppc/Scheduling/ScheduleSimulator.h"

namespace mlir::ppc {

/// One line per device, one cell per `cell` seconds: an action's name where it starts, '-' while it lasts, '.' while
/// the device idles. Starts and ends are rounded to cells; an action shorter than half a cell is not drawn.
///
///   device 0 |F0 F1 .  .  .  .  B0 -- B1 --|
///   device 1 |.  F0 F1 B0 -- B1 -- .  .  . |
std::string drawSchedule(const ScheduleTimeline &timeline, Seconds cell);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SCHEDULEDRAWING_H
