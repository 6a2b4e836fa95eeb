// Which actions of a list may begin: those on a stream one after the other, each after the tokens that it takes. A send
// need not wait for the sends before it on its stream once all else that is before it in the list has ended: then the
// list is an order that gives the same, and a stage that is late holds back nobody. Says nothing of what actions do.
#pragma once

#include "runtime/program/Manifest.h"

#include <cstdint>
#include <vector>

namespace ppcrt {

class ActionOrder {
public:
  struct Entry {
    const Action *action;
    int64_t microBatch;
  };
  static constexpr int64_t none = -1;

  ActionOrder() = default;
  // The list outlives this object.
  ActionOrder(const ActionList &actions, size_t streamCount);

  int64_t size() const { return int64_t(entries.size()); }
  const Entry &at(int64_t place) const { return entries[size_t(place)]; }

  // Nothing has begun.
  void reset();
  // The place of the first action on the stream that has not begun; `none` when all have.
  int64_t next(int stream) const;
  // Whether the action, the next on its stream, may begin.
  bool mayBegin(int64_t place);
  void begin(int64_t place) { ++streams[size_t(at(place).action->stream)].begun; }
  // An early token of the action, by its number (0 to 63), is there.
  // `moment`: when, where time is emulated (Transport::setMoment).
  void reach(int64_t place, int64_t token, double moment);
  // The action has ended, as those before it on its stream have: all of its tokens are there.
  void end(int64_t place, double moment);
  // Of an action that may begin: the latest moment of what it had to wait for. 0 where nothing has one.
  double readyAt(int64_t place) const;
  // The latest moment of all.
  double latest() const;
  bool haveAllEnded() const { return endedCount == size(); }

private:
  // A token that an action takes: of which place, and its number, or Dependence::end.
  struct Token {
    int64_t place, number;
  };

  struct Stream {
    std::vector<int64_t> places; // in order
    size_t begun = 0, ended = 0; // so many of them
  };

  bool areTokensThere(int64_t place) const;

  std::vector<Entry> entries;
  std::vector<Token> tokens;
  std::vector<size_t> firstToken; // [place], and one more: in `tokens`
  std::vector<Stream> streams;
  std::vector<uint64_t> reached;                 // [place]: early tokens that are there, by bit
  std::vector<bool> ended;                       // [place]
  std::vector<double> endMoments;                // [place]
  std::vector<std::vector<double>> reachMoments; // [place][token]
  int64_t endedCount = 0;
  int64_t firstOpen = 0; // of those that are not sends, the first that has not ended
};

} // namespace ppcrt
