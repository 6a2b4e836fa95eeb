// A communicator of processes of one machine: shared memory in which each member posts what it calls, with its data,
// and takes what the others have posted. A call begins when a stream comes to it, and ends when all members have come.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace standin {

enum class CallKind : int32_t { AllReduce, AllGather, ReduceScatter, Exchange };

// Facts on which all members of a call must agree; exchanges name their ends instead.
struct CallFacts {
  CallKind kind;
  int32_t type, reduction;
  uint64_t count;
  bool operator==(const CallFacts &other) const {
    return kind == other.kind && type == other.type && reduction == other.reduction && count == other.count;
  }
};

class Rendezvous {
public:
  static constexpr int mostMembers = 64;
  // Virtual size of a member's slot; only used pages take memory.
  static constexpr uint64_t slotBytes = uint64_t(64) << 20;

  static constexpr uint64_t rememberedTurns = 4096;

  // Returns when all members have come. Throws std::runtime_error.
  Rendezvous(const std::string &name, int members, int index);

  const int members, index;

  // Whether all members have taken the data posted in the turn before.
  bool isFree(uint64_t turn) const;
  // `bytesTo[j]`: bytes of an exchange that go to member j, stored contiguously in order.
  void post(uint64_t turn, const CallFacts &facts, const std::vector<uint64_t> &bytesTo);
  bool haveAllPosted(uint64_t turn) const;
  void leave(uint64_t turn);
  // The member issues the turn as the call of its process that has this number, over all of its communicators.
  void number(uint64_t turn, uint64_t call);
  // The number of a turn, as long as it is remembered; 0: it is not, or has not been issued.
  uint64_t numberOf(int member, uint64_t turn) const;
  int processOf(int member) const { return header->members[member].process; }
  // A member whose process has exited, or -1.
  int deadMember() const;

  std::byte *slot(int member) const { return slots + uint64_t(member) * slotBytes; }
  const CallFacts &factsOf(int member) const { return header->members[member].facts; }
  // Bytes in the slot of `from` that are meant for `to`.
  uint64_t bytesTo(int from, int to) const { return header->members[from].bytesTo[to]; }
  uint64_t offsetTo(int from, int to) const;

private:
  struct Member {
    std::atomic<uint64_t> posted, taken;
    std::atomic<int> process;
    CallFacts facts;
    uint64_t bytesTo[mostMembers];
    struct Issued {
      std::atomic<uint64_t> turn, call;
    } issued[rememberedTurns];
  };
  struct Header {
    std::atomic<int> joined;
    Member members[mostMembers];
  };

  Header *header;
  std::byte *slots;
};

} // namespace standin
