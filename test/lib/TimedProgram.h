// A step (or an evaluation) of a program as activities: every action on every rank, the bytes that it accesses, its
// waits, and its rendezvous. Derived from the reference of the ops alone: it uses neither the ops' interfaces nor any
// pass, so that it can be compared with them.
#ifndef PPC_TEST_LIB_TIMEDPROGRAM_H
#define PPC_TEST_LIB_TIMEDPROGRAM_H

#include "TimedMemory.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include <set>

namespace mlir::ppc::test {

/// Bytes of a rank that an action touches from its beginning to its end, or until its code has finished with them.
struct ByteUse {
  const BufferPlace *place;
  int64_t slot;
  bool reads, writes;
  std::optional<size_t> early = std::nullopt; ///< index in `reaches` at which it completes

  int64_t begin() const { return place->begin(slot); }
  int64_t end() const { return begin() + place->bytes(); }
  /// Whether some byte is of both: none is of a buffer without bytes, wherever it lies.
  bool overlaps(const ByteUse &other) const { return std::max(begin(), other.begin()) < std::min(end(), other.end()); }
};

/// Actions of several ranks, all of which start before one completes.
struct Rendezvous {
  enum Kind {
    Message,    ///< members: the sender, the receiver
    Collective, ///< members: the ranks of a set, in its order
    Routine     ///< a routine that communicates inside; members: all ranks of its device, or of all devices
  } kind;
  SmallVector<std::optional<size_t>> members; ///< none: one that never comes
};

/// An action on one rank. Numbers index activities and rendezvous.
struct Activity {
  Operation *action;
  size_t device;
  int64_t rank;    ///< among all ranks: row-major, devices first
  int64_t inOrder; ///< index in the list of its device
  StringRef stream = {};
  SmallVector<size_t> after = {};                    ///< producers of its tokens, which must have completed
  SmallVector<std::pair<size_t, size_t>> since = {}; ///< whose earlier tokens, and for which entries
  SmallVector<size_t> reaches = {}; ///< entries for which it gives tokens, in the order in which its code reaches them
  SmallVector<ByteUse> uses = {};   ///< each offset and slot once
  SmallVector<size_t> reads = {};   ///< indices in `uses`, in the order of operands, buffers or arguments
  SmallVector<size_t> writes = {};
  SmallVector<size_t> destroyed = {}; ///< whose content is lost at its end
  SmallVector<size_t> groups = {};    ///< over which it communicates, itself or in its code: numbers of sets of ranks
  SmallVector<size_t> meetings = {};  ///< an exchange: of what it sends, of what it receives
  ppcrt::RoutineOp routine = {};      ///< routine of a run
  func::FuncOp code = {};

  bool isTransfer() const { return !code && !isa<ppcrt::LoadOp, ppcrt::CheckFiniteOp>(action); }
};

class TimedProgram {
public:
  TimedProgram(ModuleOp module, bool isEvaluation);

  /// "", or why it cannot be run at all: a name that is not there, a group without this rank, memory past the arena, or
  /// an action that writes bytes which it uses for something else too. Once, before anything is asked.
  std::string read();

  ModuleOp module;
  ppcrt::ProgramOp program;
  GridAttr grid, deviceGrid;
  std::vector<MemoryLayout> layouts; ///< by device
  std::vector<Activity> activities;  ///< by rank, in order of issue
  std::vector<Rendezvous> meetings;
  /// Activities of each rank and stream, in order.
  std::vector<SmallVector<size_t>> queues;
  /// Queues as the CPU backend issues them: all actions of a rank but sends in one queue, and each send in a queue of
  /// its own.
  std::vector<SmallVector<size_t>> hostQueues;

  int64_t ranksOfDevice() const { return GridAttr(deviceGrid).deviceCount(); }
  /// Whether hosts run it: nothing but loads, runs, sends and receives.
  bool isForHosts() const;
  int64_t rankCount() const { return layouts.size() * ranksOfDevice(); }
  size_t deviceOf(int64_t rank) const { return rank / ranksOfDevice(); }

private:
  std::string readDevice(size_t device, ppcrt::DeviceOp op);
  std::string readUses(Activity &activity);
  std::string readRun(Activity &activity, ppcrt::RunOp run);
  std::string readMessage(Activity &activity, FlatSymbolRefAttr name, int64_t microBatch, bool isSent);
  std::string readCollective(Activity &activity, ppcrt::CollectiveOp op);
  /// Reads when a run with completion events has finished with which operands. A value that code uses or writes after
  /// its event is not finished.
  std::string readReaches(Activity &activity);
  enum Access { Read, Write, Destroy };
  std::string use(Activity &activity, Attribute name, std::optional<int64_t> microBatch, Access access);
  /// Two uses of its own on the same bytes, of which one writes: "" or what they are.
  std::string ownConflict(const Activity &activity) const;
  /// The ranks with which `rank` communicates in `group`; empty when it is in none of its sets.
  SmallVector<int64_t> membersOf(ppcrt::GroupOp group, int64_t rank) const;
  /// Joins the rendezvous that is identified by these values, in the order in which activities are read.
  void meet(Activity &activity, Rendezvous::Kind kind, const void *what, ArrayRef<int64_t> key, size_t place,
            size_t members);
  /// The next of its kind on this rank.
  int64_t count(const void *what, ArrayRef<int64_t> key) {
    return counts[{what, std::vector<int64_t>(key.begin(), key.end())}]++;
  }
  /// Communication of functions between several ranks.
  struct Communication {
    bool meets = false, betweenDevices = false;
    llvm::SetVector<Operation *> ops; ///< one for each list of axes and stages
  };
  const Communication &communicationOf(func::FuncOp code);
  size_t numberOf(ArrayRef<int64_t> members) {
    return sets.try_emplace(std::vector<int64_t>(members.begin(), members.end()), sets.size()).first->second;
  }
  func::FuncOp codeOf(ppcrt::RoutineOp routine) { return module.lookupSymbol<func::FuncOp>(routine.getCode()); }

  bool isEvaluation;
  std::set<ppcrt::RoutineKind> joined; ///< kinds of routines that communicate between devices
  using Key = std::pair<const void *, std::vector<int64_t>>;
  std::map<Operation *, Communication> communications;
  std::map<std::vector<int64_t>, size_t> sets;
  std::map<Key, int64_t> counts;
  std::map<Key, size_t> meetingByKey;
};

/// "rank 3 (device 1): ppcrt.send ...", for error messages.
std::string describe(const Activity &activity);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_TIMEDPROGRAM_H
