// A step of a compiled program as plain data: the actions that each pipeline rank issues on its streams, and the
// communication of its routines between their segments of computation. Read from `ppcrt.program`, replayed by
// ProgramReplay.h.
#ifndef PPC_SIMULATION_STEPPROGRAM_H
#define PPC_SIMULATION_STEPPROGRAM_H

#include "ppc/Support/Units.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mlir::ppc {

/// Kind of a collective of a group.
enum class GroupCallKind : uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Permute };

/// One collective of a group. `block` is the bytes of one member: the buffer of an all-reduce or a permute, the input
/// of a gather, the output of a reduce-scatter, the part for one member of an all-to-all.
struct GroupCall {
  GroupCallKind kind = GroupCallKind::AllReduce;
  int32_t group = 0; // index into StepProgram::groups
  Bytes block;
};

/// A call of the runtime, which ends a segment of a routine.
struct PieceEnd {
  enum class Kind : uint8_t {
    Call,  // communicates and waits for the end
    Start, // begins to communicate
    Wait,  // waits for the end of the call that segment `number` of the same routine started
    Reach, // signals completion event `number` inside the routine
  };
  Kind kind = Kind::Call;
  GroupCall call;     // for Call and Start
  int32_t number = 0; // for Wait and Reach
};

struct StepRoutine {
  std::string entry;          // the function
  std::vector<PieceEnd> ends; // in order; one more segment follows the last one
};

/// Reference to the end of an action of the same device, or to a completion event inside its routine.
struct StepToken {
  int32_t action = 0;
  int32_t early = -1; // -1: the end
};

struct StepAction {
  enum class Kind : uint8_t { Load, Run, Send, Receive, Collective };
  Kind kind = Kind::Load;
  int32_t stream = 0;
  int32_t number = 0;      // number of the routine that runs, or of the transfer
  int64_t microBatch = -1; // micro-batch of a transfer
  std::vector<StepToken> after;
  std::vector<GroupCall> calls; // calls of a Collective: they start together
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
  std::vector<int32_t> axes; // indices into StepProgram::axes, in the order of the group
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
