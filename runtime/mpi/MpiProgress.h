// What ranks tell each other of themselves over MPI, in small messages several times a second, whatever else they do:
// all of them to the first rank, which watches, and the first to the second, which watches whether it runs.
#pragma once

#include "runtime/mpi/OpenMpi.h"
#include "runtime/watch/RankWatch.h"

#include <vector>

namespace ppcrt {

class MpiProgress {
public:
  // Seconds between two words of a rank, of so many.
  static double pause(int ranks);

  // Every rank makes one, of at least two, and ends it with finish(). `own` is borrowed. What the watch says is
  // printed, notes where it is not `quiet`.
  MpiProgress(const OpenMpi &mpi, const RankProgress &own, RankWatch watch, bool quiet);

  // Tells and hears when it is time to; now() is `now`. Called several times a second, by one thread at a time, which
  // holds off other calls of MPI.
  void exchange(double now);
  // Returns when all ranks have called it.
  void finish();

private:
  using Handle = OpenMpi::Handle;
  struct Word {
    RankSnapshot rank;
    int64_t isLast = 0;
  };
  // Of one rank that this one hears.
  struct Heard {
    int rank = 0;
    Handle request = nullptr;
    Word arriving, last;
    double arrived = 0; // now(), of `last`
  };

  void tell(double now, bool isLast);
  void listen(Heard &one);
  void hear(double now);
  std::vector<RankWatch::Look> looks(double now) const;
  bool isDone(Handle &request) const;

  const OpenMpi &mpi;
  const RankProgress &own;
  RankWatch watch;
  bool quiet;
  Handle comm; // of these words alone
  int me, ranks;
  double every, nextTurn = 0;
  Word said;
  Handle saying; // requestNull: nothing
  std::vector<Heard> others;
};

} // namespace ppcrt
