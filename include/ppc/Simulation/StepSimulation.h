// Replays one training step event by event: every pipeline rank (one rank stands for its replicas) with streams of
// compute, collectives, sends and copies that slow each other down and share links, and its memory over time.
// StepEstimator uses closed formulas where the replay follows dependences. Model and limits:
// docs/internals/Simulation.md.
#ifndef PPC_SIMULATION_STEPSIMULATION_H
#define PPC_SIMULATION_STEPSIMULATION_H

#include "ppc/Simulation/StepWork.h"

namespace mlir::ppc {

/// A rank's queues; tasks of one queue run in order.
enum class SimulatedStream : uint8_t {
  Compute,
  LayerCollectives, // tensor-, context- and expert-parallel, inside layers
  StateCollectives, // data-parallel: gradients and parameters
  MessagesForward,
  MessagesBackward,
  CopiesToHost,
  CopiesFromHost,
};
constexpr int simulatedStreamCount = 7;
/// "compute", "layer collectives", "state collectives", "messages forward", "messages backward", "copies to host",
/// "copies from host".
llvm::StringRef toString(SimulatedStream stream);

enum class SimulatedKind : uint8_t {
  Forward,
  Backward,
  WeightGradient, // one of `micro batch` on `stage`; in LayerCollectives: those that compute waits for
  ParameterGather,
  GradientReduction,
  Optimizer,
  Message,
  Copy,
};
/// "forward", "backward", "weight gradient", "parameter gather", "gradient reduction", "optimizer", "message", "copy".
llvm::StringRef toString(SimulatedKind kind);

struct SimulatedEvent {
  SimulatedStream stream = SimulatedStream::Compute;
  SimulatedKind kind = SimulatedKind::Forward;
  bool backward = false; // for collectives, sends and copies: in the backward pass
  int32_t device = 0;    // pipeline rank
  int32_t stage = -1;    // virtual; -1: of the whole device
  int32_t microBatch = -1, slice = 0;
  int32_t layer = -1; // layer of the chunk; -1: all of them
  const LayerOp *op =
      nullptr;         // one op of the layer; null: all of them, or (`isWait`) time of the layer besides its ops
  bool isWait = false; // launches that kernels wait for, copies of shards
  bool again = false;  // recomputed
  Seconds beside;      // time of a collective that it overlapped with compute before
  Seconds start, end;
};

/// Bytes that a rank holds from `time` on.
struct MemoryPoint {
  Seconds time;
  Bytes bytes;
};

struct SimulatedDevice {
  std::array<Seconds, simulatedStreamCount> busy;
  /// part of `busy` during which no compute runs on the device
  std::array<Seconds, simulatedStreamCount> exposed;
  Seconds idle; // nothing runs at all
  Bytes peak;
  Seconds peakTime;                // first reached
  std::vector<MemoryPoint> memory; // by time
};

struct SimulatedStep {
  Seconds stepTime; // from the start of the update to the end of all gradients: period of consecutive steps
  std::vector<SimulatedDevice> devices;
  /// Events of all devices by start. The update and events after it are at the end of the step, as in timelines: the
  /// step begins with the first forward.
  std::vector<SimulatedEvent> events;
  int64_t tasks = 0;    // replayed
  bool stopped = false; // it takes longer than StepSimulationOptions::latest; nothing else is known then
  bool extrapolated =
      false; // a steady state of the schedule was not replayed to its end; events are of a shorter step then
};

struct StepSimulationOptions {
  bool keepEvents = false; // events and memory timelines
  bool everyLayer = false; // tasks are layers, also where nothing depends on it
  /// Where a step has no more tasks than that, they are single ops; else those of the first and the last micro-batch
  /// are, or none.
  int64_t opTasks = 0;
  /// Longer steps are replayed in part where their schedule has a steady state (with offloaded activations: 20 times as
  /// long).
  int64_t maxTasks = 60000;
  /// Stops a whole replay once the step is known to take longer; 0: never.
  Seconds latest;
};

/// Errors: tasks that wait for each other in a circle (a schedule that does not verify); as simulateTasks.
llvm::Expected<SimulatedStep> simulateWork(const StepWork &work, const StepSimulationOptions &options = {});

/// Overload for a layout that the estimator has evaluated. Errors: as above.
llvm::Expected<SimulatedStep> simulateStep(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                           const ParallelLayout &layout, const Stack &stack, const StepDetail &detail,
                                           const StepCost &cost, const StepSimulationOptions &options = {});

} // namespace mlir::ppc

#endif // PPC_SIMULATION_STEPSIMULATION_H
