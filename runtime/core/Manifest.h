// The program's manifest as data: everything the runtime knows of a compiled program besides its functions. Reading it
// checks it completely, so the rest of the runtime may rely on the invariants stated here. docs/internals/Runtime.md
// describes the JSON form.
#pragma once

#include "runtime/core/Block.h"
#include "runtime/core/DataType.h"
#include "runtime/core/DeviceCode.h"
#include "runtime/core/Grid.h"
#include "runtime/core/RunIdentity.h"
#include "runtime/core/Transport.h"
#include "runtime/core/WeightMap.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppcrt {

enum class InitKind { Zeros, Ones, Normal };

struct Parameter {
  std::string name; // unique
  DataType type;
  std::vector<int64_t> shape; // logical
  InitKind init = InitKind::Zeros;
  double std = 0;       // of InitKind::Normal
  int64_t zeroRow = -1; // of it, which begins with zeros; -1: none
};

enum class Role {
  Parameter,
  State,
  Gradient,
  Accumulator,
  Input,
  Saved,
  Message,
  Scalar,
  Metric,
  Scratch,
  Prepared,
  Gathered
};
inline constexpr int roleCount = 12;
extern const char *const roleNames[roleCount];

struct Buffer {
  Role role;
  std::string name;  // of the parameter, input, scalar or metric; of saved values the part of the model, or empty
  std::string state; // of Role::State: "m", "v", ...
  int64_t offset;    // bytes into the rank's memory (Device::hostStart), a multiple of 64
  DataType type = DataType::F32;
  std::vector<int64_t> shape; // local
  std::vector<Cut> cuts;      // relative to the logical tensor
  int64_t bytes;              // of one slot; all slots lie within the arena, or within the host's memory
  bool hasSlots = false;      // inputs, saved values and messages have slots, other buffers are there once
  int64_t slots = 1;
  std::vector<int64_t> places; // of micro-batches, which slot each has; empty: by its number
  int shares = -1;             // index into Device::buffers: in whose slots it lies, by turns; -1: in its own
  int64_t stride = 0;          // bytes from one slot to the next, a multiple of 64, at least `bytes`
  int64_t order = 0;           // of Role::Saved: its place among the values of the forward pass, where known
  int parameter = -1;          // index into Manifest::parameters for parameter, state and gradient buffers

  // Where a micro-batch's values begin, in bytes into the memory.
  int64_t slotOf(int64_t microBatch) const {
    return places.empty() || microBatch < 0 ? microBatch % slots : places[size_t(microBatch)];
  }
  int64_t start(int64_t microBatch) const { return offset + slotOf(microBatch) * stride; }
  int64_t end() const { return offset + (slots - 1) * stride + bytes; }
};

enum class RoutineKind { Prepare, Forward, Backward, WeightGradient, Update, Evaluate };
inline constexpr int routineKindCount = 6;
extern const char *const routineKindNames[routineKindCount];

// Whether such a routine runs for a whole step, not for one micro-batch.
inline bool isOfStep(RoutineKind kind) {
  return kind == RoutineKind::Prepare || kind == RoutineKind::Update || kind == RoutineKind::Evaluate;
}

// What the ranks of a program compute on.
enum class Target { Host, Cuda };

// A function of the program, or a body of its code for GPUs, with the buffers that it works on. A device may have
// several of one kind.
struct Routine {
  static constexpr int64_t mostEarlyTokens = 64;

  RoutineKind kind;
  std::string entry;
  std::vector<int> buffers; // indices into Device::buffers; those of a whole step use none with slots
  int64_t earlyTokens = 0;  // that its code gives before it ends, with ppcrt_reach
};

// An end of a message: what lies in `buffer` goes to, or comes from, the rank of device `peer` that has the same other
// coordinates.
struct MessageEnd {
  bool isSent;
  int64_t peer;
  int buffer;
  int64_t tag; // the same at both ends, and of no other message
};

// Communication of a group on whole buffers, one call for each i: what reads[i] holds is read, writes[i] is written. An
// all-reduce reads and writes buffers of one type and shape, which may be one.
struct CollectiveCall {
  CollectiveKind kind; // one of the first four
  Reduction reduction = Reduction::Sum;
  int group;                      // this device's ranks are in it
  std::vector<int> reads, writes; // indices into Device::buffers, of sizes that the kind asks for
};

// What lies in one buffer goes to another of the same type and shape, which may be in another memory.
struct CopyCall {
  int from, to; // indices into Device::buffers
};

enum class ActionKind { Load, Run, Send, Receive, Collective, Copy };
inline constexpr int actionKindCount = 6;

// Whether the rank itself does such an action, one after the other; all others are communication, which goes on.
inline bool isOfRank(ActionKind kind) { return kind == ActionKind::Load || kind == ActionKind::Run; }

// The end of an action so many places before in the list, or an early token of it, by its number.
struct Dependence {
  static constexpr int64_t end = -1;

  int64_t distance;
  int64_t token = end;
};

struct Action {
  ActionKind kind;
  int stream;
  int number;                    // index into routines (Run), messages (Send, Receive), collectives or copies
  int64_t microBatch;            // -1: of the whole step
  std::vector<Dependence> after; // what must be there before it begins
};

// Actions that are done `repeat` times, each time for micro-batches that are `step` later.
struct Repetition {
  int64_t repeat = 1;
  int64_t step = 0;
  std::vector<Action> actions;
};

// What a device does, in the order in which it is issued.
struct ActionList {
  static constexpr int64_t limit = int64_t(1) << 22; // actions

  std::vector<Repetition> parts;
  int64_t count = 0; // of actions, at most `limit`

  // Calls body(place in the list, action, its micro-batch) for each action.
  template <typename Body> void forEach(Body body) const {
    int64_t place = 0;
    for (const Repetition &part : parts)
      for (int64_t turn = 0; turn < part.repeat; ++turn)
        for (const Action &action : part.actions)
          body(place++, action, action.microBatch < 0 ? -1 : action.microBatch + turn * part.step);
  }
};

// What all ranks of one coordinate of the axis "pp" do, each on its own blocks.
struct Device {
  int64_t arenaBytes = 0;
  int64_t hostBytes = 0; // of the host's memory that is used beside the arena
  std::vector<Buffer> buffers;
  std::vector<Routine> routines;
  std::vector<std::string> streams; // what is on one stream is done one after the other
  std::vector<MessageEnd> messages;
  std::vector<CollectiveCall> collectives;
  std::vector<CopyCall> copies;
  ActionList step;
  std::optional<ActionList> evaluate; // leaves the loss where a step would, and changes nothing that a step keeps

  // A rank's memory is the arena and, from here on, what it uses of the host's: places are bytes from the beginning.
  int64_t hostStart() const { return (arenaBytes + 63) / 64 * 64; }
  int64_t memoryBytes() const { return hostBytes ? hostStart() + hostBytes : arenaBytes; }

  // Calls body(end, micro-batch) for each message that is sent or received in a step, in order. Those of an evaluation
  // are among them.
  template <typename Body> void forEachMessage(Body body) const {
    step.forEach([&](int64_t, const Action &action, int64_t microBatch) {
      if (action.kind == ActionKind::Send || action.kind == ActionKind::Receive)
        body(messages[action.number], microBatch);
    });
  }
};

// Of a program compiled with --profile: what ppcrt_profile's number means.
struct Operation {
  std::string name;
  double flops, bytes; // of one execution
};

struct Manifest {
  Target target = Target::Host;
  DeviceCode code; // of a program for GPUs
  std::string model;
  std::string plan; // YAML text
  Grid grid;
  std::vector<GroupSpec> groups;
  int64_t sequenceLength = 0;
  int64_t globalBatch = 0;
  int64_t microBatches = 0; // divides globalBatch
  int64_t vocabulary = 0;
  std::string schedule;
  DataType precision = DataType::F32; // of what products read: F32 or BF16
  double modelParameters = 0;
  double flopsPerToken = 0;
  std::vector<double> predictedPeakBytes; // of the arena, by the compiler; per device, or empty
  std::vector<double> plannedMemoryBytes; // of a rank, by the planner before it was compiled; per device, or empty
  double predictedStepSeconds = 0;        // by the planner; 0: not predicted
  bool predictionMeasured = true;         // false: by built-in constants, of a machine that was not measured
  std::vector<Parameter> parameters;
  WeightMap weights;
  Facts mathematics;                 // what the program computes; empty: it does not say
  std::vector<Operation> operations; // empty: not compiled with --profile
  std::vector<Device> devices;       // one per coordinate of "pp", which is the first axis

  int64_t microBatchSize() const { return globalBatch / microBatches; }
  const Device &deviceOf(int64_t rank) const { return devices[grid.stageOf(rank)]; }
};

// Reads and checks a manifest; throws InputError naming the key. What is guaranteed besides the comments above:
//   M1 buffers of parameters, states and gradients have the local shape that their cuts give; buffers have slots where
//      their role asks for it, and only there;
//   M2 all buffers but scratch and gathered ones, with all their slots, occupy disjoint bytes of the memory, and none
//      of these lies on them; a buffer that shares has the bytes of the one whose slots it lies in, and as many slots;
//   M3 every message has one end where it is sent and one where it is received, of equal size, which carry the same
//      micro-batches, each once, in a step and in an evaluation; an evaluation carries none that a step does not;
//   M4 no action uses a slot of a buffer for a micro-batch after one has used it for another that came later to it, of
//      this buffer or of one that shares the slot; the inputs of a micro-batch are loaded before they are used;
//   M5 an early token that an action takes is one that the routine of that place gives;
//   M6 devices whose ranks are in one group have the same collectives over it, in the order of their lists;
//   M7 a routine of a program for GPUs is a body that takes as many arguments as it has buffers, and reaches all of its
//      early tokens.
Manifest parseManifest(std::string_view text);

// The part of parseManifest that relates values to one another (M1 to M6).
void checkManifest(const Manifest &manifest);

} // namespace ppcrt
