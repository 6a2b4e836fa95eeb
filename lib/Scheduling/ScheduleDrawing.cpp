// Draws the timeline of a pipeline schedule as text.
#include "ppc/Scheduling/ScheduleDrawing.h"

#include <algorithm>
#include <cmath>

namespace mlir::ppc {

std::string drawSchedule(const ScheduleTimeline &timeline, Seconds cell) {
  auto cellOf = [&](Seconds time) { return size_t(std::llround(time / cell)); };
  size_t cells = cellOf(timeline.stepTime), width = 1;
  for (const std::vector<TimedAction> &device : timeline.devices)
    for (const TimedAction &timed : device)
      width = std::max(width, toString(timed.action).size());
  size_t digits = std::to_string(timeline.devices.empty() ? 0 : timeline.devices.size() - 1).size();

  std::string result;
  for (size_t device = 0; device < timeline.devices.size(); ++device) {
    std::vector<std::string> row(cells, ".");
    for (const TimedAction &timed : timeline.devices[device]) {
      for (size_t at = cellOf(timed.start); at < cellOf(timed.end); ++at)
        row[at] = at == cellOf(timed.start) ? toString(timed.action) : std::string(width, '-');
    }
    std::string number = std::to_string(device);
    result += "device " + std::string(digits - number.size(), ' ') + number + " |";
    for (size_t at = 0; at < cells; ++at) {
      result += row[at] + std::string(width - row[at].size(), ' ');
      result += at + 1 < cells ? " " : "";
    }
    result += "|\n";
  }
  return result;
}

} // namespace mlir::ppc
