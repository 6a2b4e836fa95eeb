// One collective of ranks that can read and write each other's memory. Members say where their buffers are; when all
// have, the work is there in parts, and any member that waits for something takes the next part, whoever's buffers it
// is about: so a collective ends without the members that compute meanwhile. Each part reads the members in the order
// of their index, so results do not depend on who does it.
#pragma once

#include "runtime/transport/Transport.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace ppcrt {

// Lies in shared memory, where all-zero bytes are its initial state, and serves one collective after the other: the
// turns, which members count for themselves.
class SharedOperation {
public:
  // What it takes for a number of members.
  static size_t bytesFor(int members) { return sizeof(SharedOperation) + size_t(members) * sizeof(Entry); }

  // Whether turn `turn` may begin, and whether it has ended. Turns count from 0 and wrap around.
  bool isFree(uint32_t turn) const { return ended.load(std::memory_order_acquire) == turn; }
  bool hasEnded(uint32_t turn) const { return int32_t(ended.load(std::memory_order_acquire) - turn) > 0; }

  // Member `index` begins the turn, which is free, at `moment`; the buffers of `call` lie in shared memory. True for
  // the last of the members, who says with open() that the work is there. Ends the process when the members' calls
  // differ.
  bool arrive(uint32_t turn, int members, int index, const Collective &call, double moment);
  // The latest moment of those at which the members have arrived; for the one who opens.
  double latestMoment(int members) const;
  // `transfer`: what EmulatedLinks::begin() gave for it, or 0.
  void open(uint32_t turn, int members, uint64_t transfer);
  // Of the turn, once it is open: the transfer; until then nothing.
  std::optional<uint64_t> transferOf(uint32_t turn) const;

  enum class Done { Nothing, Part, All };
  // Takes the next part of the turn and does it. Nothing: it is not there yet, or all parts are taken. All: it was the
  // last part that was under way, and the turn has ended.
  Done help(uint32_t turn, int members);

  // Whether all of it is done in less time than it takes to wake somebody; for the one who opens, before.
  bool isSmall(int members) const;

private:
  // What a member says; equal on all members but for the addresses.
  struct alignas(64) Entry {
    const std::byte *in;
    std::byte *out;
    int64_t count;
    int32_t group, shift;
    DataType type;
    Reduction reduction;
    CollectiveKind kind;
    double moment;
  };

  Entry *entries() { return reinterpret_cast<Entry *>(this + 1); }
  const Entry *entries() const { return reinterpret_cast<const Entry *>(this + 1); }
  void checkAgreement(int members, int index) const;
  void doPart(int members, int64_t part) const;

  alignas(64) std::atomic<uint32_t> arrived; // members, of this turn
  std::atomic<uint32_t> ended;               // turns
  // (1 + turn) << 32 | parts that nobody has taken yet: in one word, so that whoever comes late, with a turn that is
  // over, takes nothing of the next one.
  alignas(64) std::atomic<uint64_t> untaken;
  std::atomic<uint32_t> parts, left; // of this turn: all, and those that are not done
  std::atomic<uint64_t> transfer;
};

} // namespace ppcrt
