// A fake NCCL between processes of one machine, each with a GPU of its own: the functions that the runtime uses,
// as nccl.h declares them. Members that call different things at the same time, or whose sends and receives do not
// match, are a fault that names both.
#include "test/CudaStandIn/Driver/Machine.h"
#include "test/CudaStandIn/Nccl/Rendezvous.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <unistd.h>
#include <utility>

using namespace standin;

namespace {

enum NcclStatus {
  NcclSuccess = 0,
  UnhandledCudaError = 1,
  SystemError = 2,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
  RemoteError = 6
};
enum Type { Bytes = 0, I32 = 2, I64 = 4, F32 = 7, F64 = 8, Bf16 = 9 };
enum Reduction { Sum = 0, Max = 2 };

uint64_t bytesOf(int type) {
  switch (type) {
  case Bytes:
    return 1;
  case I32:
  case F32:
    return 4;
  case I64:
  case F64:
    return 8;
  case Bf16:
    return 2;
  default:
    return 0;
  }
}

struct Move {
  int peer;
  uint64_t address, bytes;
};

// The contribution of a member to one collective of a communicator.
struct Call {
  CallFacts facts{};
  uint64_t in = 0, out = 0;
  std::vector<Move> sends, receives;
  uint64_t turn = 0;
  bool isPosted = false, neverComes = false;
};

struct Communicator {
  std::string name;
  Rendezvous meeting;
  uint64_t turns = 0, done = 0;
  int fault = NcclSuccess;
  bool isAborted = false;
};

// Communicators of this process, and the number of calls issued on them.
std::vector<Communicator *> communicators;
uint64_t callsIssued = 0;

std::byte *bytesAt(ptx::Use use, uint64_t address, uint64_t bytes) {
  if (std::byte *found = Machine::get().memory.use(use, address, int64_t(bytes)))
    return found;
  throw ptx::Fault(ptx::FaultKind::OutOfBounds, "NCCL: " + std::to_string(bytes) + " bytes at " +
                                                    std::to_string(address) + " are not in one allocation");
}

std::string describe(const CallFacts &facts) {
  const char *const names[] = {"all-reduce", "all-gather", "reduce-scatter", "sends and receives"};
  std::string text = names[int(facts.kind)];
  return facts.kind == CallKind::Exchange
             ? text
             : text + " of " + std::to_string(facts.count) + " elements of type " + std::to_string(facts.type) +
                   ", reduction " + std::to_string(facts.reduction);
}

float widen(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

uint16_t narrow(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  return uint16_t(isNan ? (bits >> 16 | 0x40) : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Elements [first, first + count) of all members, in their order, summed as C.
template <typename T, typename C, typename Load, typename Store>
void reduce(const Communicator &of, const CallFacts &facts, uint64_t first, std::byte *out, Load load, Store store) {
  for (uint64_t i = 0; i < facts.count; ++i) {
    C total{};
    for (int member = 0; member < of.meeting.members; ++member) {
      T stored;
      std::memcpy(&stored, of.meeting.slot(member) + (first + i) * sizeof(T), sizeof(T));
      C value = load(stored);
      bool isFirst = member == 0, isNan = value != value;
      total = isFirst ? value : facts.reduction == Sum ? C(total + value) : isNan || value > total ? value : total;
    }
    T stored = store(total);
    std::memcpy(out + i * sizeof(T), &stored, sizeof(T));
  }
}

void reduce(const Communicator &of, const CallFacts &facts, uint64_t first, std::byte *out) {
  auto same = [](auto value) { return value; };
  if (facts.type == F32)
    reduce<float, float>(of, facts, first, out, same, same);
  else if (facts.type == F64)
    reduce<double, double>(of, facts, first, out, same, same);
  else if (facts.type == I32)
    reduce<int32_t, int32_t>(of, facts, first, out, same, same);
  else if (facts.type == I64)
    reduce<int64_t, int64_t>(of, facts, first, out, same, same);
  else
    reduce<uint16_t, float>(of, facts, first, out, widen, narrow);
}

void post(Communicator &of, Call &call) {
  int members = of.meeting.members;
  std::byte *slot = of.meeting.slot(of.meeting.index);
  std::vector<uint64_t> bytesTo(size_t(members), 0);
  uint64_t used = 0;
  if (call.facts.kind == CallKind::Exchange) {
    for (const Move &send : call.sends)
      bytesTo[size_t(send.peer)] += send.bytes;
    std::vector<uint64_t> at(size_t(members), 0);
    for (int member = 0; member < members; used += bytesTo[size_t(member++)])
      at[size_t(member)] = used;
    if (used <= Rendezvous::slotBytes)
      for (const Move &send : call.sends)
        std::memcpy(slot + std::exchange(at[size_t(send.peer)], at[size_t(send.peer)] + send.bytes),
                    bytesAt(ptx::Use::Read, send.address, send.bytes), send.bytes);
  } else {
    bool readsAll = call.facts.kind == CallKind::ReduceScatter;
    used = call.facts.count * bytesOf(call.facts.type) * uint64_t(readsAll ? members : 1);
    if (used <= Rendezvous::slotBytes)
      std::memcpy(slot, bytesAt(ptx::Use::Read, call.in, used), used);
  }
  if (used > Rendezvous::slotBytes)
    throw ptx::Fault(ptx::FaultKind::Launch, "NCCL: " + std::to_string(used) + " bytes are too many for the stand-in");
  of.meeting.post(call.turn, call.facts, bytesTo);
  call.isPosted = true;
}

void compare(const Communicator &of, const Call &call) {
  const Rendezvous &meeting = of.meeting;
  for (int member = 0; member < meeting.members; ++member)
    if (!(meeting.factsOf(member) == call.facts))
      throw ptx::Fault(ptx::FaultKind::Divergence,
                       "NCCL: member " + std::to_string(meeting.index) + " calls " + describe(call.facts) +
                           " while member " + std::to_string(member) + " calls " + describe(meeting.factsOf(member)));
  if (call.facts.kind != CallKind::Exchange)
    return;
  std::vector<uint64_t> wanted(size_t(meeting.members), 0);
  for (const Move &receive : call.receives)
    wanted[size_t(receive.peer)] += receive.bytes;
  for (int member = 0; member < meeting.members; ++member)
    if (uint64_t sent = meeting.bytesTo(member, meeting.index); sent != wanted[size_t(member)])
      throw ptx::Fault(ptx::FaultKind::Divergence, "NCCL: member " + std::to_string(meeting.index) + " wants " +
                                                       std::to_string(wanted[size_t(member)]) + " bytes of member " +
                                                       std::to_string(member) + ", which sends " +
                                                       std::to_string(sent));
}

void take(const Communicator &of, const Call &call) {
  const Rendezvous &meeting = of.meeting;
  const CallFacts &facts = call.facts;
  uint64_t block = facts.count * bytesOf(facts.type);
  switch (facts.kind) {
  case CallKind::AllReduce:
    return reduce(of, facts, 0, bytesAt(ptx::Use::Write, call.out, block));
  case CallKind::ReduceScatter:
    return reduce(of, facts, facts.count * uint64_t(meeting.index), bytesAt(ptx::Use::Write, call.out, block));
  case CallKind::AllGather:
    for (int member = 0; member < meeting.members; ++member)
      std::memcpy(bytesAt(ptx::Use::Write, call.out, block * uint64_t(meeting.members)) + uint64_t(member) * block,
                  meeting.slot(member), block);
    return;
  case CallKind::Exchange:
    std::vector<uint64_t> read(size_t(meeting.members), 0);
    for (const Move &receive : call.receives) {
      uint64_t at = meeting.offsetTo(receive.peer, meeting.index) +
                    std::exchange(read[size_t(receive.peer)], read[size_t(receive.peer)] + receive.bytes);
      std::memcpy(bytesAt(ptx::Use::Write, receive.address, receive.bytes), meeting.slot(receive.peer) + at,
                  receive.bytes);
    }
  }
}

// Calls of different communicators that two processes have issued in opposite orders may deadlock on a device that
// executes one of them at a time. Checks the last few calls of the other communicators.
void checkOrder(const Communicator &of, const Call &call) {
  constexpr uint64_t looked = 8;
  for (const Communicator *other : communicators)
    for (int member = 0; other != &of && member < of.meeting.members; ++member)
      for (int there = 0; there < other->meeting.members; ++there) {
        if (member == of.meeting.index || other->meeting.processOf(there) != of.meeting.processOf(member))
          continue;
        for (uint64_t turn = other->turns; turn > 0 && turn + looked > other->turns; --turn) {
          uint64_t mine = of.meeting.numberOf(of.meeting.index, call.turn),
                   mineOther = other->meeting.numberOf(other->meeting.index, turn),
                   its = of.meeting.numberOf(member, call.turn), itsOther = other->meeting.numberOf(there, turn);
          if (mine && mineOther && its && itsOther && (mine < mineOther) != (its < itsOther))
            throw ptx::Fault(ptx::FaultKind::Divergence,
                             "NCCL: two processes issue call " + std::to_string(call.turn) + " of communicator " +
                                 of.name + " and call " + std::to_string(turn) + " of " + other->name +
                                 " in opposite orders: on a device that does one at a time both would wait");
        }
      }
}

bool attempt(Communicator &of, Call &call) {
  if (of.isAborted || call.neverComes)
    return of.isAborted;
  if (!call.isPosted) {
    if (!of.meeting.isFree(call.turn))
      return false;
    post(of, call);
  }
  if (!of.meeting.haveAllPosted(call.turn))
    return false;
  compare(of, call);
  checkOrder(of, call);
  take(of, call);
  of.meeting.leave(call.turn);
  of.done = call.turn;
  return true;
}

int issue(Communicator *of, Stream *stream, Call call) {
  Machine &machine = Machine::get();
  Lock lock(machine.mutex);
  if (machine.status() || !of || !stream)
    return machine.status() ? UnhandledCudaError : InvalidArgument;
  call.turn = ++of->turns;
  of->meeting.number(call.turn, ++callsIssued);
  bool fails = machine.isPlanted("nccl");
  of->fault = fails ? InternalError : of->fault;
  call.neverComes = fails || machine.isPlanted("hang");
  auto shared = std::make_shared<Call>(std::move(call));
  machine.enqueueWithOthers(stream,
                            "NCCL's " + describe(shared->facts) + " as member " + std::to_string(of->meeting.index) +
                                " of " + std::to_string(of->meeting.members),
                            [of, shared] { return attempt(*of, *shared); });
  return machine.status() ? UnhandledCudaError : NcclSuccess;
}

// Sends and receives between ncclGroupStart and ncclGroupEnd.
struct OpenGroup {
  int depth = 0;
  Communicator *of = nullptr;
  Stream *stream = nullptr;
  Call call;
};
thread_local OpenGroup openGroup;

int move(Communicator *of, Stream *stream, bool sends, int peer, uint64_t address, uint64_t bytes) {
  if (!of || peer < 0 || peer >= of->meeting.members)
    return InvalidArgument;
  Call alone;
  Call &call = openGroup.depth ? openGroup.call : alone;
  call.facts.kind = CallKind::Exchange;
  (sends ? call.sends : call.receives).push_back({peer, address, bytes});
  if (!openGroup.depth)
    return issue(of, stream, std::move(alone));
  if (openGroup.of && openGroup.of != of)
    return InvalidUsage; // one communicator for each group here
  openGroup.of = of, openGroup.stream = stream;
  return NcclSuccess;
}

} // namespace

extern "C" {

struct Id {
  char bytes[128];
};

int ncclGetUniqueId(Id *id) {
  static int made;
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->bytes, sizeof id->bytes, "/ppc-standin-%d-%d-%lx", int(getpid()), ++made,
                static_cast<unsigned long>(std::random_device()()));
  return NcclSuccess;
}

int ncclCommInitRank(Communicator **communicator, int members, Id id, int member) {
  {
    Lock lock(Machine::get().mutex);
    if (!Machine::get().mayPrepare("ncclCommInitRank"))
      return UnhandledCudaError;
  }
  try {
    auto *made = new Communicator{id.bytes, {id.bytes, members, member}};
    Lock lock(Machine::get().mutex);
    Machine::get().used += Machine::get().ofCommunicator;
    communicators.push_back(made);
    *communicator = made;
  } catch (const std::runtime_error &error) {
    std::fprintf(stderr, "stand-in of NCCL: %s\n", error.what());
    return SystemError;
  }
  return NcclSuccess;
}

int ncclCommDestroy(Communicator *) { return NcclSuccess; } // others may still look at it

int ncclCommGetAsyncError(Communicator *of, int *status) {
  Lock lock(Machine::get().mutex);
  bool waits = of->done < of->turns;
  *status = Machine::get().status()                  ? UnhandledCudaError
            : of->fault                              ? of->fault
            : waits && of->meeting.deadMember() >= 0 ? RemoteError
                                                     : NcclSuccess;
  return NcclSuccess;
}

int ncclCommAbort(Communicator *of) {
  Lock lock(Machine::get().mutex);
  of->isAborted = true;
  return NcclSuccess;
}

const char *ncclGetErrorString(int status) {
  return status == RemoteError     ? "a remote process has ended"
         : status == InternalError ? "internal error"
                                   : "error of a stand-in";
}

int ncclAllReduce(uint64_t in, uint64_t out, size_t count, int type, int reduction, Communicator *of, Stream *stream) {
  return issue(of, stream, {{CallKind::AllReduce, type, reduction, count}, in, out, {}, {}});
}

int ncclAllGather(uint64_t in, uint64_t out, size_t count, int type, Communicator *of, Stream *stream) {
  return issue(of, stream, {{CallKind::AllGather, type, 0, count}, in, out, {}, {}});
}

int ncclReduceScatter(uint64_t in, uint64_t out, size_t count, int type, int reduction, Communicator *of,
                      Stream *stream) {
  return issue(of, stream, {{CallKind::ReduceScatter, type, reduction, count}, in, out, {}, {}});
}

int ncclSend(uint64_t in, size_t count, int type, int peer, Communicator *of, Stream *stream) {
  return move(of, stream, true, peer, in, count * bytesOf(type));
}

int ncclRecv(uint64_t out, size_t count, int type, int peer, Communicator *of, Stream *stream) {
  return move(of, stream, false, peer, out, count * bytesOf(type));
}

int ncclGroupStart() {
  ++openGroup.depth;
  return NcclSuccess;
}

int ncclGroupEnd() {
  if (openGroup.depth == 0)
    return InvalidUsage;
  if (--openGroup.depth || !openGroup.of)
    return NcclSuccess;
  Call call = std::move(openGroup.call);
  openGroup.call = {};
  return issue(std::exchange(openGroup.of, nullptr), openGroup.stream, std::move(call));
}

} // extern "C"
