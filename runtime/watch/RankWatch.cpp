// Times against their usual ones, and the words for it.
#include "runtime/watch/RankWatch.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace ppcrt {
namespace {

constexpr double gapInPauses = 3;
constexpr double countedOfGap = 0.5; // pauses
constexpr int mostWaiting = 4;       // ranks that are listed

} // namespace

RankWatch::RankWatch(const Manifest &manifest, Limits limits, std::string stillness, double pause)
    : manifest(manifest), limits(limits), stillness(std::move(stillness)), longestGap(gapInPauses * pause),
      accused(size_t(manifest.grid.rankCount())), seen(accused.size()) {}

double RankWatch::lateAfter(const RankSnapshot &rank) const {
  if (rank.usual > 0)
    return std::max(limits.least, limits.factor * rank.usual);
  if (manifest.predictionMeasured && manifest.predictedStepSeconds > 0)
    return std::max(limits.least, limits.factor * manifest.predictedStepSeconds);
  return Limits::unknown * limits.least;
}

bool RankWatch::isLate(const RankSnapshot &rank, bool isJudged, double age, double still) const {
  if (still >= limits.least)
    return true;
  bool works = isJudged && rank.action > 0 && !rank.waitsInAction && !rank.isInCall();
  return works && age >= lateAfter(rank);
}

void RankWatch::count(const std::vector<Look> &ranks, double now) {
  double gap = lastLook > 0 ? now - lastLook : 0, before = time;
  time += gap > longestGap ? countedOfGap * longestGap / gapInPauses : gap;
  lastLook = now;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].rank.marks != std::exchange(seen[rank].marks, ranks[rank].rank.marks))
      seen[rank].gotOn = std::max(before, time - ranks[rank].rank.age);
    if (ranks[rank].still <= 0)
      seen[rank].ran = time;
  }
}

std::string RankWatch::describeAction(int64_t rank, const RankSnapshot &snapshot) const {
  if (snapshot.marks % 2 == 1)
    return "on its way from one action to the next";
  if (snapshot.action == 0)
    return snapshot.step ? "between two steps" : "before the first step";
  const Device &device = manifest.deviceOf(rank);
  std::string text = "in loading";
  if (size_t(snapshot.action) <= device.routines.size()) {
    const Routine &routine = device.routines[size_t(snapshot.action - 1)];
    text = std::string("in ") + routineKindNames[int(routine.kind)];
    if (routine.entry != routineKindNames[int(routine.kind)])
      text += " (" + routine.entry + ")";
  }
  if (snapshot.actionMicroBatch >= 0)
    text += format(" of micro-batch %lld", (long long)snapshot.actionMicroBatch);
  return text;
}

std::string RankWatch::accusation(int64_t rank, const Look &look, double seconds) const {
  const RankSnapshot &snapshot = look.rank;
  std::string text = manifest.grid.describe(rank) + " has not got on for " + format("%.1f s ", seconds) +
                     describeAction(rank, snapshot);
  if (snapshot.step)
    text += format(", step %lld", (long long)snapshot.step);
  if (snapshot.isInCall())
    text += ", " + describeWait(snapshot);
  if (snapshot.usual > 0)
    text += format(" (usually %.3g s)", snapshot.usual);
  return look.still >= limits.least ? text + "; " + stillness : text;
}

std::string RankWatch::describeWaiting(const std::vector<Look> &ranks, const std::vector<bool> &late) const {
  std::string text;
  int count = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (const Look &look = ranks[rank]; look.isThere && !late[rank] && look.rank.isInCall())
      if (++count <= mostWaiting)
        text += (count == 1 ? "; waiting: " : ", ") + format("rank %zu in ", rank) + describeWait(look.rank);
  return count > mostWaiting ? text + format(" and %d more", count - mostWaiting) : text;
}

std::vector<RankWatch::Remark> RankWatch::look(const std::vector<Look> &ranks, double now) {
  count(ranks, now);
  std::vector<Remark> remarks;
  std::vector<bool> late(ranks.size());
  std::vector<double> age(ranks.size()), still(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const Look &look = ranks[rank];
    age[rank] = std::min(look.rank.age, time - seen[rank].gotOn);
    still[rank] = std::min(look.still, time - seen[rank].ran);
    late[rank] = look.isThere && isLate(look.rank, look.isJudged, age[rank], still[rank]);
  }
  std::string waiting = describeWaiting(ranks, late);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const Look &look = ranks[rank];
    Accused &one = accused[rank];
    bool hasGotOn = one.since > 0 && !late[rank] && (one.wasStill ? look.still <= 0 : look.rank.marks != one.marks);
    if (hasGotOn && look.isThere)
      remarks.push_back({manifest.grid.describe(int64_t(rank)) + " goes on", false});
    if (hasGotOn || !look.isThere)
      one.since = 0;
    if (!late[rank] || one.since > 0 || now < one.quietUntil)
      continue;
    double seconds = std::max(still[rank], look.rank.waitsInAction || look.rank.isInCall() ? 0.0 : age[rank]);
    remarks.push_back({accusation(int64_t(rank), look, seconds) + waiting, true});
    one.pause = std::max(limits.least, 2 * one.pause);
    one.since = now, one.quietUntil = now + one.pause, one.marks = look.rank.marks, one.wasStill = look.still > 0;
  }
  lookForStandstill(ranks, remarks);
  return remarks;
}

void RankWatch::lookForStandstill(const std::vector<Look> &ranks, std::vector<Remark> &remarks) {
  uint64_t sum = 0;
  bool all = true, any = false;
  for (const Look &look : ranks) {
    sum += look.rank.marks + look.rank.waits;
    all &= !look.isThere || (look.isJudged && look.rank.isInCall() && look.still <= 0);
    any |= look.isThere;
  }
  if (!all || !any || sum != std::exchange(lastSum, sum)) {
    standsSince = time;
    isStandstillSaid = false;
  }
  if (isStandstillSaid || time - standsSince < Limits::unknown * limits.least)
    return;
  isStandstillSaid = true;
  remarks.push_back({format("all ranks wait for others, and none has got on for %.1f s", time - standsSince) +
                         describeWaiting(ranks, std::vector<bool>(ranks.size())),
                     true});
}

void print(const std::vector<RankWatch::Remark> &remarks, bool quiet) {
  for (const RankWatch::Remark &remark : remarks)
    if (remark.isWarning || !quiet)
      std::fprintf(stderr, "%s: %s\n", remark.isWarning ? "warning" : "note", remark.text.c_str());
}

} // namespace ppcrt
