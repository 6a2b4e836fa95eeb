// Sorts the events of a step, and explains where they cannot be sorted.
#include "ppc/Timing/LinearOrder.h"

namespace mlir::ppc {

namespace {
using Edges = std::vector<std::pair<Event, Event>>;

constexpr uint32_t kNoActivity = UINT32_MAX;

class Sorter {
public:
  /// `issued`: pairs of an end and a start that happen in this order, in addition to `events`.
  Sorter(const StepEvents &events, Edges issued);

  /// Returns the events in order, as many as can be ordered.
  std::vector<Event> sort();
  /// Reports the cycle, if sorting has left events over.
  LogicalResult explain();

private:
  std::vector<std::vector<Event>> findEarlier() const;
  Event skipAhead(Event waiting, Event waitedFor) const;
  std::string reason(Event waiting, Event waitedFor) const;
  bool isAction(uint32_t activity) const { return events.getActivities()[activity].action == activity; }
  bool isOnStreamBefore(uint32_t first, uint32_t second) const;

  const StepEvents &events;
  std::vector<uint32_t> firstIssued; ///< by event, and one more: ranges of `laterIssued`, as StepEvents stores later
                                     ///< events; includes waits across
  std::vector<Event> laterIssued;
  std::vector<uint32_t> missing; ///< by event: how many it still waits for
};
} // namespace

Sorter::Sorter(const StepEvents &events, Edges issued)
    : events(events), firstIssued(events.getEventCount() + 1, 0), missing(events.getEventCount(), 0) {
  llvm::append_range(issued, events.getWaitsAcross());
  for (auto [before, after] : issued)
    ++firstIssued[before + 1];
  for (size_t event = 0; event < events.getEventCount(); ++event)
    firstIssued[event + 1] += firstIssued[event];
  std::vector<uint32_t> next(firstIssued.begin(), firstIssued.end() - 1);
  laterIssued.resize(issued.size());
  for (auto [before, after] : issued) {
    laterIssued[next[before]++] = after;
    ++missing[after];
  }
  for (Event event = 0; event < events.getEventCount(); ++event)
    for (Event after : events.getLater(event))
      ++missing[after];
}

std::vector<Event> Sorter::sort() {
  std::vector<Event> order;
  order.reserve(events.getEventCount());
  for (Event event = 0; event < events.getEventCount(); ++event)
    if (missing[event] == 0)
      order.push_back(event);
  // In the order in which they become possible, as on devices of equal speed: that keeps few actions in flight.
  for (size_t next = 0; next < order.size(); ++next) {
    Event event = order[next];
    auto happened = [&](Event after) {
      if (--missing[after] == 0)
        order.push_back(after);
    };
    llvm::for_each(events.getLater(event), happened);
    llvm::for_each(ArrayRef(laterIssued).slice(firstIssued[event], firstIssued[event + 1] - firstIssued[event]),
                   happened);
  }
  return order;
}

/// For each unordered event the unordered events that it waits for.
std::vector<std::vector<Event>> Sorter::findEarlier() const {
  std::vector<std::vector<Event>> earlier(events.getEventCount());
  for (Event event = 0; event < events.getEventCount(); ++event)
    if (missing[event]) {
      for (Event after : events.getLater(event))
        earlier[after].push_back(event);
      for (uint32_t i = firstIssued[event]; i < firstIssued[event + 1]; ++i)
        earlier[laterIssued[i]].push_back(event);
    }
  return earlier;
}

bool Sorter::isOnStreamBefore(uint32_t first, uint32_t second) const {
  const Activity &a = events.getActivities()[first], &b = events.getActivities()[second];
  return isAction(first) && isAction(second) && a.stream == b.stream && a.place < b.place;
}

/// Skips ahead on a stream: among all earlier actions only the first that does not end matters.
Event Sorter::skipAhead(Event waiting, Event waitedFor) const {
  uint32_t self = activityOf(waiting), other = activityOf(waitedFor);
  if (isEnd(waiting) || !isEnd(waitedFor) || !isOnStreamBefore(other, self))
    return waitedFor;
  ArrayRef<uint32_t> stream = events.getStream(events.getActivities()[self].stream);
  return endOf(*llvm::find_if(stream, [&](uint32_t action) { return missing[endOf(action)] != 0; }));
}

/// Reason why an activity waits, worded about the waiting one, for a note at the other one.
std::string Sorter::reason(Event waiting, Event waitedFor) const {
  uint32_t self = activityOf(waiting), other = activityOf(waitedFor);
  const Activity &own = events.getActivities()[self], &there = events.getActivities()[other];
  std::string name = events.describe(other);
  if (own.action == there.action)
    return isAction(self) ? "it runs this: " + name : "that comes after this in code: " + name;
  if (isEnd(waiting))
    return "that does not end before this starts: " + name;
  if (isOnStreamBefore(other, self))
    return "that comes after this on its stream: " + name;
  auto action = cast<ppcrt::ActionOpInterface>(own.op);
  bool takesToken = llvm::any_of(
      action.getAfter(), [&](Value token) { return token.getDefiningOp() == events.getActivities()[there.action].op; });
  return (takesToken ? "that takes the token of this: " : "that is issued after this: ") + name;
}

LogicalResult Sorter::explain() {
  std::vector<std::vector<Event>> earlier = findEarlier();
  std::vector<uint32_t> visited(events.getEventCount(), kNoActivity);
  std::vector<Event> path;
  Event event = 0;
  while (!missing[event])
    ++event;
  while (visited[event] == kNoActivity) {
    visited[event] = path.size();
    path.push_back(event);
    event = skipAhead(event, earlier[event].front());
  }
  path.erase(path.begin(), path.begin() + visited[event]);
  // Start the cycle at a wait of one activity for another.
  size_t first = 0;
  while (first + 1 < path.size() && activityOf(path[first]) == activityOf(path.back()))
    ++first;
  std::rotate(path.begin(), path.begin() + first, path.end());
  InFlightDiagnostic error = events.getActivities()[activityOf(path.front())].op->emitOpError()
                             << "waits for itself, a deadlock: " << events.describe(activityOf(path.front()));
  for (size_t i = 0; i < path.size(); ++i) {
    Event waiting = path[i], waitedFor = path[(i + 1) % path.size()];
    if (activityOf(waiting) != activityOf(waitedFor))
      error.attachNote(events.getActivities()[activityOf(waitedFor)].op->getLoc()) << reason(waiting, waitedFor);
  }
  return error;
}

FailureOr<std::vector<Event>> findLinearOrder(const StepEvents &events) {
  Sorter sorter(events, {});
  std::vector<Event> order = sorter.sort();
  if (order.size() == events.getEventCount())
    return order;
  (void)sorter.explain();
  return failure();
}

LogicalResult verifyIssueOrder(const StepEvents &events) {
  Edges issued;
  bool several = false; // streams of one device that communicate
  uint32_t last = kNoActivity;
  for (uint32_t activity = 0; activity < events.getActivities().size(); ++activity) {
    const Activity &own = events.getActivities()[activity];
    if (events.getGroups(activity).empty())
      continue;
    if (last != kNoActivity && events.getActivities()[last].device == own.device) {
      several |= events.getActivities()[last].stream != own.stream;
      issued.push_back({endOf(last), beginOf(activity)});
    }
    last = activity;
  }
  if (!several)
    return success(); // the order of streams is that
  Sorter sorter(events, std::move(issued));
  return success(sorter.sort().size() == events.getEventCount() || succeeded(sorter.explain()));
}

} // namespace mlir::ppc
