// Counting what has begun and ended.
#include "runtime/program/ActionOrder.h"

#include <algorithm>

namespace ppcrt {

ActionOrder::ActionOrder(const ActionList &actions, size_t streamCount) : streams(streamCount) {
  entries.reserve(size_t(actions.count));
  firstToken.reserve(size_t(actions.count) + 1);
  actions.forEach([&](int64_t place, const Action &action, int64_t microBatch) {
    entries.push_back({&action, microBatch});
    firstToken.push_back(tokens.size());
    for (const Dependence &after : action.after)
      tokens.push_back({place - after.distance, after.token});
    streams[size_t(action.stream)].places.push_back(place);
  });
  firstToken.push_back(tokens.size());
  reset();
}

void ActionOrder::reset() {
  for (Stream &stream : streams)
    stream.begun = stream.ended = 0;
  reached.assign(entries.size(), 0);
  ended.assign(entries.size(), false);
  endMoments.assign(entries.size(), 0);
  reachMoments.assign(entries.size(), {});
  endedCount = firstOpen = 0;
}

int64_t ActionOrder::next(int number) const {
  const Stream &stream = streams[size_t(number)];
  return stream.begun < stream.places.size() ? stream.places[stream.begun] : none;
}

bool ActionOrder::areTokensThere(int64_t place) const {
  return std::all_of(tokens.begin() + std::ptrdiff_t(firstToken[size_t(place)]),
                     tokens.begin() + std::ptrdiff_t(firstToken[size_t(place) + 1]), [&](const Token &token) {
                       size_t at = size_t(token.place);
                       return ended[at] || (token.number != Dependence::end && reached[at] >> token.number & 1);
                     });
}

bool ActionOrder::mayBegin(int64_t place) {
  const Action &action = *at(place).action;
  const Stream &stream = streams[size_t(action.stream)];
  if (next(action.stream) != place || !areTokensThere(place))
    return false;
  if (stream.begun == stream.ended)
    return true;
  while (firstOpen < place && (ended[size_t(firstOpen)] || at(firstOpen).action->kind == ActionKind::Send))
    ++firstOpen;
  return action.kind == ActionKind::Send && firstOpen >= place;
}

void ActionOrder::reach(int64_t place, int64_t token, double moment) {
  reached[size_t(place)] |= uint64_t(1) << token;
  std::vector<double> &moments = reachMoments[size_t(place)];
  moments.resize(std::max(moments.size(), size_t(token) + 1));
  moments[size_t(token)] = moment;
}

double ActionOrder::readyAt(int64_t place) const {
  const std::vector<int64_t> &onStream = streams[size_t(at(place).action->stream)].places;
  auto own = std::lower_bound(onStream.begin(), onStream.end(), place);
  double ready = own == onStream.begin() ? 0 : endMoments[size_t(*(own - 1))];
  for (size_t i = firstToken[size_t(place)]; i < firstToken[size_t(place) + 1]; ++i) {
    const Token &token = tokens[i];
    ready = std::max(ready, token.number == Dependence::end ? endMoments[size_t(token.place)]
                                                            : reachMoments[size_t(token.place)][size_t(token.number)]);
  }
  return ready;
}

double ActionOrder::latest() const {
  return endMoments.empty() ? 0 : *std::max_element(endMoments.begin(), endMoments.end());
}

void ActionOrder::end(int64_t place, double moment) {
  endMoments[size_t(place)] = moment;
  ++streams[size_t(at(place).action->stream)].ended;
  ended[size_t(place)] = true;
  ++endedCount;
}

} // namespace ppcrt
