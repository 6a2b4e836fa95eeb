// Draws the timeline of a pipeline schedule as text.
#ifndef PPC_SCHEDULING_SCHEDULEDRAWING_H
#define PPC_SCHEDULING_SCHEDULEDRAWING_H

#include "ppc/Scheduling/ScheduleSimulator.h"

namespace mlir::ppc {

/// One line per stage, one cell per `cell` seconds: an action's name where it starts, '-' while it lasts, '.' while the
/// stage idles. Starts and ends are rounded to cells; an action shorter than half a cell is not drawn.
///
///   stage 0 |F0 F1 .  .  .  .  B0 -- B1 --|
///   stage 1 |.  F0 F1 B0 -- B1 -- .  .  . |
std::string drawSchedule(const ScheduleTimeline &timeline, Seconds cell);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_SCHEDULEDRAWING_H
