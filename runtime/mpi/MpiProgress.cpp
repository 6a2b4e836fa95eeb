// At most one message is under way from each rank: nothing piles up before one that is stopped.
#include "runtime/mpi/MpiProgress.h"
#include "runtime/base/Clock.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace ppcrt {
namespace {

constexpr double leastPause = 0.25;     // seconds between two words of a rank
constexpr double pausePerRank = 0.0002; // what the first rank can hear beside its work

} // namespace

MpiProgress::MpiProgress(const OpenMpi &mpi, const RankProgress &own, RankWatch watch, bool quiet)
    : mpi(mpi), own(own), watch(std::move(watch)), quiet(quiet), saying(mpi.requestNull) {
  mpi.Comm_dup(mpi.world, &comm);
  mpi.Comm_rank(comm, &me);
  mpi.Comm_size(comm, &ranks);
  every = pause(ranks);
  others.resize(me == 0 ? size_t(ranks - 1) : me == 1 ? 1 : 0);
  for (size_t i = 0; i < others.size(); ++i) {
    others[i].rank = me == 0 ? int(i) + 1 : 0;
    others[i].arrived = now();
    listen(others[i]);
  }
}

double MpiProgress::pause(int ranks) { return std::max(leastPause, pausePerRank * ranks); }

bool MpiProgress::isDone(Handle &request) const {
  int done = 0;
  mpi.Testall(1, &request, &done, OpenMpi::ignoreStatus);
  return done;
}

void MpiProgress::listen(Heard &one) {
  mpi.Irecv(&one.arriving, sizeof one.arriving, mpi.byte, one.rank, 0, comm, &one.request);
}

void MpiProgress::tell(double now, bool isLast) {
  said = {snapshot(own, now), isLast};
  mpi.Isend(&said, sizeof said, mpi.byte, me == 0 ? 1 : 0, 0, comm, &saying);
}

void MpiProgress::hear(double now) {
  for (Heard &one : others)
    while (!one.last.isLast && isDone(one.request)) {
      one.last = one.arriving;
      one.arrived = now;
      if (!one.last.isLast)
        listen(one);
    }
}

std::vector<RankWatch::Look> MpiProgress::looks(double now) const {
  std::vector<RankWatch::Look> result{size_t(ranks)};
  result[size_t(me)] = {snapshot(own, now), 0, true, me == 0};
  for (const Heard &one : others) {
    RankWatch::Look &look = result[size_t(one.rank)];
    look = {one.last.rank, now - one.arrived, !one.last.isLast, me == 0};
    look.rank.age += look.still;
    if (look.still < 2 * every) // it speaks
      look.still = 0;
  }
  return result;
}

void MpiProgress::exchange(double now) {
  if (now < nextTurn)
    return;
  nextTurn = now + every;
  if (isDone(saying))
    tell(now, false);
  hear(now);
  if (!others.empty())
    print(watch.look(looks(now), now), quiet);
}

void MpiProgress::finish() {
  mpi.Waitall(1, &saying, OpenMpi::ignoreStatus);
  tell(now(), true);
  auto haveAllFinished = [&] {
    return std::all_of(others.begin(), others.end(), [](const Heard &one) { return one.last.isLast; });
  };
  for (bool isTold = false; !isTold || !haveAllFinished();) {
    isTold = isTold || isDone(saying);
    hear(now());
    std::this_thread::yield();
  }
  mpi.Comm_free(&comm);
}

} // namespace ppcrt
