// Ranks started by a launcher of MPI, on one machine or several. Reductions combine values in the order of the members'
// index, as those of LocalTransport do, so both transports give the same bits: MPI moves the data, this process adds.
#pragma once

#include "runtime/core/Transport.h"
#include "runtime/host/OpenMpi.h"

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
  // MPI is initialised, with OpenMpi::threadSerialized where messages are to travel while ranks compute: between
  // machines a large one moves only while its sender is in a call of MPI. A thread of this object makes such calls from
  // the start of a large send to its end, at times when the rank is in none itself. Every rank calls this at the same
  // time; creates one communicator for each group.
  MpiTransport(const OpenMpi &mpi, const RankShape &shape);
  ~MpiTransport() override;

  int rank() const override { return me; }
  int rankCount() const override { return ranks; }
  int groupCount() const override { return int(links.size()) - 1; }
  int groupSize(int group) const override { return link(group).size; }
  int groupIndex(int group) const override { return link(group).index; }

  void allReduce(int group, void *buffer, int64_t count, DataType type, Reduction kind) override;
  void allGather(int group, const void *in, void *out, int64_t count, DataType type) override;
  void reduceScatter(int group, const void *in, void *out, int64_t count, DataType type, Reduction kind) override;
  void allToAll(int group, const void *in, void *out, int64_t count, DataType type) override;
  void barrier(int group) override;
  void gather(const void *in, int64_t bytes, void *out) override;
  int64_t clockOffset() override;
  // The same by asking the first rank for its time, whatever machine this is. The error is at most half of the shortest
  // of some round trips. Every rank calls it.
  int64_t measureClockOffset();

  int64_t send(int destination, MessageKey key, const void *bytes, int64_t size) override;
  void waitSend(int64_t request) override;
  void receive(int source, MessageKey key, void *bytes, int64_t size) override;

private:
  using Handle = OpenMpi::Handle;
  struct Link {
    int size = 0;
    int index = 0;
    Handle comm = nullptr;
  };

  const Link &link(int group) const { return links[group == everyRank ? links.size() - 1 : size_t(group)]; }
  // Members' blocks of `bytes`, one after the other; `in` may be this member's block of `out`.
  void gatherBlocks(const Link &link, const void *in, void *out, int64_t bytes);
  void exchangeBlocks(const Link &link, const void *in, void *out, int64_t bytes);
  void helpSends();
  int tag(int source, int destination, MessageKey key) const;
  std::byte *space(std::vector<std::byte> &buffer, int64_t bytes);

  const OpenMpi &mpi;
  int me, ranks;
  std::vector<Link> links;                                    // the last one is the group of all ranks
  Handle messageComm;                                         // for messages alone
  std::map<std::tuple<int, int, int64_t, int64_t>, int> tags; // source, destination, tag, micro-batch -> tag of MPI
  std::map<int64_t, std::vector<Handle>> sends;               // request -> those of its parts
  int64_t nextSend = 0;

  std::mutex calls;                  // held in every call of MPI, and for all that follows
  std::condition_variable sendBegan; // a large one, or the end of this object
  bool helping = false;              // large sends are under way
  bool ending = false;
  std::thread helper;

  std::vector<std::byte> gathered, packed; // kept between calls
};

} // namespace ppcrt
