// Draws the timeline of a pipeline schedule as text.
#include "ppc/Scheduling/ScheduleDrawing.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace mlir::ppc {

std::string drawnName(const ScheduleTimeline &timeline, int64_t device, const PipelineAction &action) {
  std::string name = toString(action);
  if (timeline.sliceCount > 1)
    name += "." + std::to_string(action.slice);
  if (timeline.replicaCount > 1)
    return name;
  std::set<int64_t> stages;
  for (const TimedAction &timed : timeline.devices[device])
    stages.insert(timed.action.stage);
  if (stages.size() > 1)
    name += char('a' + std::min<int64_t>(std::distance(stages.begin(), stages.find(action.stage)), 25));
  return name;
}

std::string drawSchedule(const ScheduleTimeline &timeline, Seconds cell) {
  auto cellOf = [&](Seconds time) { return size_t(std::llround(time / cell)); };
  size_t cells = cellOf(timeline.stepTime), width = 1;
  std::vector<std::vector<std::string>> names(timeline.devices.size());
  for (size_t device = 0; device < timeline.devices.size(); ++device)
    for (const TimedAction &timed : timeline.devices[device]) {
      names[device].push_back(drawnName(timeline, device, timed.action));
      width = std::max(width, names[device].back().size());
    }
  size_t digits = std::to_string(timeline.devices.empty() ? 0 : timeline.devices.size() - 1).size();

  std::string result;
  for (size_t device = 0; device < timeline.devices.size(); ++device) {
    std::vector<std::string> row(cells, ".");
    for (size_t i = 0; i < timeline.devices[device].size(); ++i) {
      const TimedAction &timed = timeline.devices[device][i];
      for (size_t at = cellOf(timed.start); at < cellOf(timed.end); ++at)
        row[at] = at == cellOf(timed.start) ? names[device][i] : std::string(width, '-');
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
