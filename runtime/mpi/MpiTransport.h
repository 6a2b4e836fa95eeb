// Ranks started by a launcher of MPI, on one machine or several. Reductions combine values in the order of the members'
// index, as those of LocalTransport do, so both transports give the same bits: MPI moves the data, this process adds.
#pragma once

#include "runtime/mpi/MpiCalls.h"
#include "runtime/mpi/MpiExchange.h"
#include "runtime/mpi/MpiProgress.h"
#include "runtime/mpi/OpenMpi.h"
#include "runtime/transport/Transport.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

namespace ppcrt {

// What one rank takes part in.
struct RankShape {
  std::vector<std::vector<int>> groups; // [group] = members by index; empty when this rank is none of them
  struct Message {
    int source, destination; // one of them is this rank
    MessageKey key;
  };
  std::vector<Message> messages; // every message of a step that this rank sends or receives
};

class MpiTransport final : public Transport {
public:
  // MPI is initialised, with OpenMpi::threadSerialized where communication is to get on while ranks compute: that takes
  // calls of MPI, which a thread of this object makes while there are requests, at times when the rank is in none
  // itself. Every rank calls this at the same time; creates one communicator for each group.
  // `calls` is borrowed.
  MpiTransport(const OpenMpi &mpi, const RankShape &shape, MpiCalls &calls);
  ~MpiTransport() override;

  // From now on all ranks are watched, until the end of this object, which then waits for those of the others. Every
  // rank calls it, with nothing under way; `ownProgress` is borrowed. Does nothing for a rank alone, and where MPI
  // allows no second thread.
  void watch(RankProgress &ownProgress, RankWatch watch, bool quiet);

  int rank() const override { return me; }
  int rankCount() const override { return ranks; }
  int groupCount() const override { return int(links.size()) - 1; }
  int groupSize(int group) const override { return links[place(group)].size; }
  int groupIndex(int group) const override { return links[place(group)].index; }

  Request start(const Collective &call) override;
  Request startSend(int destination, MessageKey key, const void *bytes, int64_t size) override;
  Request startReceive(int source, MessageKey key, void *bytes, int64_t size) override;
  bool test(Request request) override;
  void wait(Request request) override;
  void waitAny(double deadline) override;
  void run(const Collective &call) override;

  int64_t clockOffset() override;
  // The same by asking the first rank for its time, whatever machine this is. The error is at most half of the shortest
  // of some round trips. Every rank calls it while nothing is under way.
  int64_t measureClockOffset();

private:
  using Handle = OpenMpi::Handle;
  struct Pending {
    Request request;
    MpiMessages messages;                  // of the round that is under way
    std::unique_ptr<MpiExchange> exchange; // null: a message
    const char *name;                      // of the call: a literal
    int64_t first;                         // the group, or the peer
    MessageKey key{-1, -1};
    bool hasEnded = false;
    bool isTold = false; // by waitAny()
  };

  size_t place(int group) const { return group == everyRank ? links.size() - 1 : size_t(group); }
  int tag(int source, int destination, MessageKey key) const;

  // For all that follows `calls` is held.
  Request begin(const Collective &call);
  Request keep(Pending pending);
  Pending &find(Request request);
  void forget(Request request);
  // Lets a request get on as far as it can without waiting.
  void advance(Pending &pending);
  // Lets all of them; whether some have not ended.
  bool advanceAll();
  void helpRequests();
  void wakeHelper();
  // While the rank waits: whether something has got on.
  bool helpOnce();
  void tellProgress();

  const OpenMpi &mpi;
  int me, ranks;
  SparePool pool;
  std::vector<MpiGroup> links;                                // the last one is the group of all ranks
  Handle messageComm;                                         // for messages alone
  std::map<std::tuple<int, int, int64_t, int64_t>, int> tags; // source, destination, tag, micro-batch -> tag of MPI

  MpiCalls &calls;                  // held in every call of MPI, and for all that follows
  std::vector<Pending> outstanding; // in the order in which they were started
  Request nextRequest = endedAtOnce + 1;
  uint64_t rounds = 0;      // messages and rounds of collectives that have ended
  RankProgress unwatched{}; // where nobody asks
  RankProgress *progress = &unwatched;
  std::unique_ptr<MpiProgress> watching;    // or null
  std::condition_variable_any requestBegan; // or the end of this object
  bool isWaiting = false;                   // the rank itself lets requests get on
  bool isHelping = false, isEnding = false;
  std::thread helper;
};

} // namespace ppcrt
