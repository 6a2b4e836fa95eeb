// The program's manifest as data: everything the runtime knows of a compiled program besides its functions. Reading it
// checks it completely, so the rest of the runtime may rely on the invariants stated here. docs/Runtime.md describes
// the JSON form.
#pragma once

#include "runtime/core/Block.h"
#include "runtime/core/DataType.h"
#include "runtime/core/Grid.h"
#include "runtime/core/WeightMap.h"

#include <array>
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
  double std = 0; // of InitKind::Normal
};

enum class Role { Parameter, State, Gradient, Accumulator, Input, Saved, Message, Scalar, Metric, Scratch, Prepared };
inline constexpr int roleCount = 11;
extern const char *const roleNames[roleCount];

struct Buffer {
  Role role;
  std::string name;  // of the parameter, input, scalar or metric; of saved values the part of the model, or empty
  std::string state; // of Role::State: "m", "v", ...
  bool inSlot;       // the offset counts from the micro-batch's slot, otherwise from the arena
  int64_t offset;    // bytes, a multiple of 64
  DataType type = DataType::F32;
  std::vector<int64_t> shape; // local
  std::vector<Cut> cuts;      // relative to the logical tensor
  int64_t bytes;              // offset + bytes lies within the arena or the slot
  int64_t order = 0;          // of Role::Saved: its place among the values of the forward pass, where known
  int parameter = -1;         // index into Manifest::parameters for parameter, state and gradient buffers
};

// "prepare" runs once per step before the actions, "update" once after them; "evaluate" in its stead where only the loss
// is wanted, after the forward actions alone.
enum class FunctionKind { Forward, Backward, WeightGradient, Update, Prepare, Evaluate };
inline constexpr int functionKindCount = 6;
extern const char *const functionKindNames[functionKindCount];

// Whether such a function runs for a whole step, not for one micro-batch.
inline bool isOfStep(FunctionKind kind) {
  return kind == FunctionKind::Update || kind == FunctionKind::Prepare || kind == FunctionKind::Evaluate;
}

struct Function {
  std::string entry;
  std::vector<int> buffers; // indices into Stage::buffers; those of a whole step use none that live in a slot
};

enum class ActionKind { Forward, Backward, WeightGradient, Send, Receive };
inline constexpr int actionKindCount = 5;
extern const char *const actionKindNames[actionKindCount];

struct Action {
  ActionKind kind;
  int64_t microBatch;
  int buffer = -1;   // of send and receive
  int64_t stage = 0; // the peer of send and receive
  int64_t tag = 0;
};

struct Stage {
  int64_t arenaBytes = 0;
  int64_t slots = 1; // micro-batch m uses slot m % slots
  int64_t slotOffset = 0;
  int64_t slotBytes = 0;
  std::vector<Buffer> buffers;
  std::array<std::optional<Function>, functionKindCount> functions; // absent: nothing to do
  std::vector<Action> actions;                                      // of one step, in order, between "prepare" and "update"

  int64_t slotStart(int64_t microBatch) const { return slotOffset + microBatch % slots * slotBytes; }
};

// Of a program compiled with --profile: what ppcrt_profile's number means.
struct Operation {
  std::string name;
  double flops, bytes; // of one execution
};

struct Manifest {
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
  std::vector<double> predictedPeakBytes; // of the arena, by the compiler; per stage, or empty
  std::vector<double> plannedMemoryBytes; // of a rank, by the planner before it was compiled; per stage, or empty
  double predictedStepSeconds = 0;        // by the planner; 0: not predicted
  std::vector<Parameter> parameters;
  WeightMap weights;
  std::vector<Operation> operations; // empty: not compiled with --profile
  std::vector<Stage> stages; // one per coordinate of the "pp" axis; one when there is no such axis

  int64_t microBatchSize() const { return globalBatch / microBatches; }
  const Stage &stageOf(int64_t rank) const { return stages[grid.stageOf(rank)]; }
};

// Reads and checks a manifest; throws InputError naming the key. What is guaranteed besides the comments above:
//   M1 buffers of parameters, states and gradients have the local shape that their cuts give;
//   M2 parameters, states, gradients, losses, scalars, metrics and the slots occupy disjoint bytes of the arena;
//   M3 every send has exactly one receive, of equal size, and the other way round;
//   M4 a micro-batch's first action comes after the last action of the micro-batch that used its slot before.
Manifest parseManifest(std::string_view text);

// The part of parseManifest that relates values to one another (M1 to M4).
void checkManifest(const Manifest &manifest);

} // namespace ppcrt
