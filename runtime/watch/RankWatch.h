// Who holds up a run: judges what ranks tell of themselves. A rank is named when its action takes many times as long as
// it usually does, or when its process does not run; one that waits for others is not. Knows no transport.
#pragma once

#include "runtime/program/Manifest.h"
#include "runtime/watch/RankProgress.h"

#include <string>
#include <vector>

namespace ppcrt {

class RankWatch {
public:
  // An action is late after `factor` times its usual time, and no earlier than after `least` seconds; one that has not
  // been timed yet, after `factor` times the predicted time of a step, or `unknown` times `least` where that was not
  // predicted by measured speeds. A process is still after `least` seconds.
  struct Limits {
    double factor, least;
    static constexpr double unknown = 10;
  };

  // Of a rank at one moment.
  struct Look {
    RankSnapshot rank;
    double still = 0;     // seconds for which its process has not run, or has not been heard of
    bool isThere = false; // has begun and not ended
    bool isJudged = true; // by the time of its action; false: only by that of its process
  };

  // `manifest` is borrowed. `stillness` says what a process is that does not run: "its process is stopped"; `pause`:
  // seconds from one look to the next.
  RankWatch(const Manifest &manifest, Limits limits, std::string stillness, double pause);

  struct Remark {
    std::string text; // one line without its end
    bool isWarning;   // or a note
  };
  // What is to be said of the ranks, [rank]; `now` in seconds. Of the time for which the watcher was held up itself,
  // more than a few pauses, it counts half a pause: nobody is accused of the rest, and on a machine on which every look
  // comes late a rank is named all the same, after more of them.
  std::vector<Remark> look(const std::vector<Look> &ranks, double now);

private:
  struct Accused {
    double since = 0; // when it was named; 0: it is not
    double quietUntil = 0, pause = 0;
    uint64_t marks = 0;
    bool wasStill = false;
  };

  double lateAfter(const RankSnapshot &rank) const;
  bool isLate(const RankSnapshot &rank, bool isJudged, double age, double still) const;
  void count(const std::vector<Look> &ranks, double now);
  std::string describeAction(int64_t rank, const RankSnapshot &snapshot) const;
  std::string describeWaiting(const std::vector<Look> &ranks, const std::vector<bool> &late) const;
  std::string accusation(int64_t rank, const Look &look, double seconds) const;
  void lookForStandstill(const std::vector<Look> &ranks, std::vector<Remark> &remarks);

  const Manifest &manifest;
  Limits limits;
  std::string stillness;
  double longestGap; // seconds between two looks of a watcher that was not held up itself
  std::vector<Accused> accused;
  // By the time of the watcher: when it saw the rank get on, and run, the last time.
  struct Seen {
    uint64_t marks = 0;
    double gotOn = 0, ran = 0;
  };
  std::vector<Seen> seen; // [rank]
  double lastLook = 0;
  double time = 0;        // of the watcher: that of its looks, and no more than half a pause where it was held up
  uint64_t lastSum = 0;   // of all marks and waits
  double standsSince = 0; // the watcher's time when it last changed, or somebody did not wait
  bool isStandstillSaid = false;
};

// Prints remarks to the standard error, notes only where it is not `quiet`.
void print(const std::vector<RankWatch::Remark> &remarks, bool quiet);

} // namespace ppcrt
