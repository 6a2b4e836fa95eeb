// A step of a compiled program as plain data: what each pipeline device issues on its streams, and what its routines
// communicate between which pieces of computation. Read from `ppcrt.program`, replayed by ProgramReplay.h.
#ifndef PPC_SIMULATION_STEPPROGRAM_H
#define PPC_SIMULATION_STEPPROGRAM_H

#include "ppc/Support/Units.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mlir::ppc {

/// What the members of a group do together.
enum class GroupCallKind : uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Permute };

/// One call of a group. `block` is what one member has of it: all of the buffer of an all-reduce or a permute, what
/// goes in to a gather, what comes out of a reduce-scatter, what goes to one member in an all-to-all.
struct GroupCall {
  GroupCallKind kind = GroupCallKind::AllReduce;
  int32_t group = 0; // of StepProgram::groups
  Bytes block;
};

/// What ends a piece of a routine: a call of the runtime.
struct PieceEnd {
  enum class Kind : uint8_t {
    Call,  // communicates and waits for the end
    Start, // begins to communicate
    Wait,  // for the end of what the piece `number` of the same routine started
    Reach, // gives the early token `number`
  };
  Kind kind = Kind::Call;
  GroupCall call;     // of Call and Start
  int32_t number = 0; // of Wait and Reach
};

struct StepRoutine {
  std::string entry;          // the function
  std::vector<PieceEnd> ends; // in order; one more piece is behind the last
};

/// The end of an action of the same device, or an early token of it.
struct StepToken {
  int32_t action = 0;
  int32_t early = -1; // -1: the end
};

struct StepAction {
  enum class Kind : uint8_t { Load, Run, Send, Receive, Collective };
  Kind kind = Kind::Load;
  int32_t stream = 0;
  int32_t number = 0;      // of the routine that is run, or of the message
  int64_t microBatch = -1; // of a message
  std::vector<StepToken> after;
  std::vector<GroupCall> calls; // of a Collective: they begin together
};

struct StepDevice {
  int32_t streams = 0;
  std::vector<StepRoutine> routines;
  std::vector<StepAction> actions; // in the order in which they are issued
};

/// Every rank of the device `from` sends to the one of the same place in `to`.
struct StepMessage {
  int32_t from = 0, to = 0;
  Bytes bytes;
};

/// Ranks that differ in these axes only; where stages are given, those of these alone.
struct StepGroup {
  std::vector<int32_t> axes; // of StepProgram::axes, in the order of the group
  std::vector<int64_t> stages;
};

struct StepProgram {
  /// Names and sizes, outermost first; the first one numbers devices. Ranks are row-major over them.
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<StepGroup> groups;
  std::vector<StepMessage> messages;
  std::vector<StepDevice> devices;

  int64_t rankCount() const;
  /// Row-major over the axes that are listed.
  int64_t indexOver(int64_t rank, const std::vector<int32_t> &over) const;
  /// The ranks that communicate with `rank` in a group, in its order; empty where it is not in it.
  std::vector<int32_t> members(const StepGroup &group, int64_t rank) const;
};

} // namespace mlir::ppc

#endif // PPC_SIMULATION_STEPPROGRAM_H
