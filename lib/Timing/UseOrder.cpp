// Only the last write of a location and the reads since then can matter: all other uses were ordered before them.
#include "ppc/Timing/UseOrder.h"

namespace mlir::ppc {

std::optional<uint32_t> UseOrder::add(size_t number, uint32_t last, Clock clock, bool isWrite) {
  Place &place = places[number];
  ArrayRef<Activity> activities = events.getActivities();
  auto isOrdered = [&](uint32_t other) { return hasEnded(activities[other], clock); };
  if (place.writer != kNone && !isOrdered(place.writer))
    return activities[place.writer].action;
  if (isWrite) {
    for (uint32_t reader : place.readers)
      if (!isOrdered(reader))
        return activities[reader].action;
    place.writer = last;
    place.readers.clear();
    return std::nullopt;
  }
  auto sameStream = llvm::find_if(
      place.readers, [&](uint32_t reader) { return activities[reader].stream == activities[last].stream; });
  if (sameStream != place.readers.end())
    *sameStream = last;
  else
    place.readers.push_back(last);
  return std::nullopt;
}

} // namespace mlir::ppc
