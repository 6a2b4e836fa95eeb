// Vector clocks over the streams of all devices, passed from event to event.
#include "ppc/Timing/HappensBefore.h"

namespace mlir::ppc {

namespace {
/// Rows of one width, used again.
class ClockPool {
public:
  explicit ClockPool(size_t width) : width(width) {}

  /// All zero.
  uint32_t take() {
    if (free.empty()) {
      free.push_back(rows.size() / std::max<size_t>(width, 1));
      rows.resize(rows.size() + std::max<size_t>(width, 1));
    }
    uint32_t row = free.pop_back_val();
    std::fill_n(rows.begin() + row * width, width, 0);
    return row;
  }
  void give(uint32_t row) { free.push_back(row); }
  MutableArrayRef<uint32_t> operator[](uint32_t row) { return MutableArrayRef(rows).slice(row * width, width); }

private:
  size_t width;
  std::vector<uint32_t> rows;
  SmallVector<uint32_t> free;
};

constexpr uint32_t kNoRow = UINT32_MAX;
} // namespace

LogicalResult followClocks(const StepEvents &events, ArrayRef<Event> order,
                           function_ref<LogicalResult(uint32_t activity, Clock ended)> begins) {
  ClockPool pool(events.getStreamCount());
  std::vector<uint32_t> rows(events.getEventCount(), kNoRow);
  for (Event event : order) {
    uint32_t row = rows[event] == kNoRow ? pool.take() : rows[event];
    uint32_t activity = activityOf(event);
    const Activity &own = events.getActivities()[activity];
    bool isAction = own.action == activity;
    if (isEnd(event) && (isAction || own.isReach()))
      pool[row][own.stream] = own.place + 1;
    if (!isEnd(event) && isAction && failed(begins(activity, pool[row])))
      return failure();
    ArrayRef<Event> later = events.getLater(event);
    bool isGiven = false; // the row itself, to the last that needs it
    for (auto [i, after] : llvm::enumerate(later)) {
      if (rows[after] == kNoRow && i + 1 == later.size()) {
        rows[after] = row;
        isGiven = true;
        break;
      }
      if (rows[after] == kNoRow)
        rows[after] = pool.take();
      for (auto [known, more] : llvm::zip_equal(pool[rows[after]], pool[row]))
        known = std::max(known, more);
    }
    if (!isGiven)
      pool.give(row);
  }
  return success();
}

} // namespace mlir::ppc
