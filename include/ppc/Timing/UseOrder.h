// Check that uses of one location are ordered, and the contents of the location by then.
#ifndef PPC_TIMING_USEORDER_H
#define PPC_TIMING_USEORDER_H

#include "ppc/Timing/HappensBefore.h"
#include <optional>

namespace mlir::ppc {

/// Locations that actions use: slots of buffers, ranges of bytes, communicators. Uses are added in the order of
/// followClocks. After an unordered use has been found, the state of its location means nothing.
class UseOrder {
public:
  UseOrder(const StepEvents &events, size_t placeCount) : events(events), places(placeCount) {}

  /// Adds a use by the action that starts at `clock`, which ends with `last` (StepEvents::endOfUse). Of any two
  /// uses, one of them a write, one must have completed when the other starts; returns the action of the earlier use
  /// that violates this, which may be one by the same action.
  std::optional<uint32_t> add(size_t place, uint32_t last, Clock clock, bool isWrite);

  /// Contents of a location: a number that the caller gives meaning; kNothing before anything was written.
  static constexpr int64_t kNothing = -1;
  int64_t content(size_t place) const { return places[place].content; }
  /// The action that wrote the contents; none if they were stored before the step, or if there are none.
  std::optional<uint32_t> writer(size_t place) const {
    uint32_t last = places[place].writer;
    return last == kNone ? std::nullopt : std::optional(events.getActivities()[last].action);
  }
  void setContent(size_t place, int64_t content) { places[place].content = content; }

private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Place {
    uint32_t writer = kNone; ///< activity with whose end the write ends
    int64_t content = kNothing;
    SmallVector<uint32_t, 2> readers; ///< activities with whose ends the reads since then end, the last one per stream
  };

  const StepEvents &events;
  std::vector<Place> places;
};

} // namespace mlir::ppc

#endif // PPC_TIMING_USEORDER_H
