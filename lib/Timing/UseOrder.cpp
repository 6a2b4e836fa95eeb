// Of uses of one place only the last write and the reads since then can matter: all others were ordered before them.
#include "ppc/Timing/UseOrder.h"

namespace mlir::ppc {

std::optional<uint32_t> UseOrder::add(size_t number, uint32_t activity, Clock clock, bool isWrite) {
  Place &place = places[number];
  ArrayRef<Activity> activities = events.getActivities();
  auto isOrdered = [&](uint32_t other) { return hasEnded(activities[other], clock); };
  if (place.writer != kNone && !isOrdered(place.writer))
    return place.writer;
  if (isWrite) {
    for (uint32_t reader : place.readers)
      if (!isOrdered(reader))
        return reader;
    place.writer = activity;
    place.readers.clear();
    return std::nullopt;
  }
  auto sameStream = llvm::find_if(
      place.readers, [&](uint32_t reader) { return activities[reader].stream == activities[activity].stream; });
  if (sameStream != place.readers.end())
    *sameStream = activity;
  else
    place.readers.push_back(activity);
  return std::nullopt;
}

} // namespace mlir::ppc
