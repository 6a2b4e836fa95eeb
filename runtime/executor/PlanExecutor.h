// One rank's training. The rank itself does what its device loads and runs, in the order of the manifest, and waits
// before each of these for the tokens that it takes; communication on other streams begins as soon as it may: after
// each of these, where code gives an early token or has communicated, and while the rank waits.
#pragma once

#include "runtime/data/TokenSource.h"
#include "runtime/executor/RankContext.h"
#include "runtime/executor/RoutineCode.h"
#include "runtime/executor/StreamCommunication.h"
#include "runtime/program/Manifest.h"
#include "runtime/transport/DeviceMemory.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace ppcrt {

class EmulatedBodies;
class FiniteCheck;
class WeightFiles;

struct StepResult {
  float loss = 0;     // as the update function reports them; 0 when it does not
  float gradNorm = 0; // before clipping
};

// Told of the routines that the executor runs: `what` is one of routineKindNames; micro-batch -1: of
// the whole step.
class ExecutionObserver {
public:
  virtual ~ExecutionObserver() = default;
  virtual void begin(const char *what, int64_t microBatch) = 0;
  virtual void end() = 0;
};

class PlanExecutor : private RoutineListener {
public:
  // `memory` holds the device's arena_bytes and is zero; `code` is of the rank's device. Everything is borrowed for the
  // life of this object.
  PlanExecutor(const Manifest &manifest, RoutineCode &code, RankContext &context, DeviceMemory &memory,
               const TokenSource &tokens, ExecutionObserver *observer = nullptr);

  // Fills this rank's blocks of the parameters, from files when there are some; states stay zero.
  void initializeParameters(uint64_t seed, const WeightFiles *weights = nullptr);

  // Looks for values that are not finite from now on. Borrowed; null: not any more.
  void watch(FiniteCheck *finiteCheck);

  // Holds routines to emulated times from now on. Borrowed. `streams()` is what it lets get on meanwhile.
  void emulate(EmulatedBodies *emulatedBodies) { bodies = emulatedBodies; }
  StreamCommunication &streams() { return communication; }

  // Runs step `step` (from 1).
  StepResult run(int64_t step, double learningRate);

  // Whether the program has what evaluate() needs.
  bool canEvaluate() const;
  // The mean loss of the samples of batch `batch` (from 0) of `samples` with the parameters as they are: forward alone.
  // Gradients keep what the last step left, and nothing else is changed that a step does not begin anew. Neither the
  // observer nor the profile nor the counts of traffic see it.
  double evaluate(int64_t batch, const TokenSource &samples);

private:
  void perform(ActionOrder &order);
  void clear(Role role);
  void setScalars(int64_t step, double learningRate);
  void load(int64_t microBatch);
  void run(size_t routine, int64_t microBatch);
  void reached(int64_t entry) override;
  void communicates() override;
  void communicated(double moment) override;
  void waits() override { communication.carryOn(); }
  // When the rank has come to where it is, in emulated time; 0 in other.
  double moment() const;
  float metric(const char *name) const;
  void fillInput(const Buffer &buffer, const Block &block, int64_t microBatch);
  void checkTokens(int64_t sample, int64_t first, int64_t count, const int32_t *ids) const;

  const Manifest &manifest;
  const Device &device;
  RoutineCode &code;
  RankContext &context;
  DeviceMemory &memory;
  const TokenSource *tokens;
  ExecutionObserver *observer;
  FiniteCheck *check = nullptr;
  EmulatedBodies *bodies = nullptr;
  int64_t rank;
  int64_t runningStep = 0;
  ActionOrder step, evaluation;
  std::vector<int64_t> stepIssue, evaluationIssue; // where waiting takes place on the device
  StreamCommunication communication;
  ActionOrder *performed = nullptr;  // the one of both that is under way
  int64_t place = ActionOrder::none; // of what the rank does in it
  std::vector<void *> arguments;     // of the call that is made
  std::vector<int32_t> ids;          // of the input that is filled
  std::vector<std::pair<const Buffer *, Block>> inputs;
};

} // namespace ppcrt
