// One rank's training: does the actions of its device in the order of the manifest. Sends are started and run on; an
// action that comes after one waits for it first.
#pragma once

#include "runtime/core/Manifest.h"
#include "runtime/core/RankContext.h"
#include "runtime/core/TokenSource.h"
#include "runtime/include/ppcrt.h"

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace ppcrt {

class FiniteCheck;
class WeightFiles;

// Throws InputError when the manifest names a function that the program does not have.
void checkEntries(const Manifest &manifest, const ppcrt_program &program);

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

class PlanExecutor {
public:
  // `arena` holds the device's arena_bytes and is zero. Everything is borrowed for the life of this object.
  PlanExecutor(const Manifest &manifest, const ppcrt_program &program, RankContext &context, std::byte *arena,
               const TokenSource &tokens, ExecutionObserver *observer = nullptr);

  // Fills this rank's blocks of the parameters, from files when there are some; states stay zero.
  void initializeParameters(uint64_t seed, const WeightFiles *weights = nullptr);

  // Looks for values that are not finite from now on. Borrowed; null: not any more.
  void watch(FiniteCheck *finiteCheck) { check = finiteCheck; }

  // Runs step `step` (from 1).
  StepResult run(int64_t step, double learningRate);

  // Whether the program has what evaluate() needs.
  bool canEvaluate() const;
  // The loss of the samples of batch `batch` (from 0) of `samples` with the parameters as they are: forward alone,
  // nothing is changed that a step does not begin anew. Neither the observer nor the profile nor the counts of traffic
  // see it.
  double evaluate(int64_t batch, const TokenSource &samples);

private:
  // An action of this device, and for which sends it waits: up to those places in the list, on those streams.
  struct Instruction {
    const Action *action;
    int64_t microBatch;
    size_t firstWait, endOfWaits; // in Instructions::waits
  };
  struct Instructions {
    std::vector<Instruction> list;
    std::vector<std::pair<int, int64_t>> waits; // stream, place
  };
  // A send that has begun, and where it is in the list.
  struct Pending {
    int64_t place, request;
  };

  static Instructions instructionsOf(const ActionList &actions);
  void perform(const Instructions &instructions);
  void beginStep(int64_t step, double learningRate);
  void load(int64_t microBatch);
  void run(const Routine &routine, ppcrt_function function, int64_t microBatch);
  void send(const MessageEnd &end, int64_t microBatch, int stream, int64_t place);
  void receive(const MessageEnd &end, int64_t microBatch);
  // Waits for the sends of a stream up to a place in the list.
  void waitSends(int stream, int64_t place);
  float metric(const char *name) const;
  void fillInput(const Buffer &buffer, const Block &block, int64_t microBatch);
  void checkTokens(int64_t sample, int64_t first, int64_t count, const int32_t *ids) const;
  std::byte *address(const Buffer &buffer, int64_t microBatch) const { return arena + buffer.start(microBatch); }

  const Manifest &manifest;
  const Device &device;
  RankContext &context;
  std::byte *arena;
  const TokenSource *tokens;
  ExecutionObserver *observer;
  FiniteCheck *check = nullptr;
  int64_t rank;
  int64_t runningStep = 0;
  Instructions step, evaluation;
  std::vector<ppcrt_function> functions; // [routine]
  std::vector<void *> arguments;         // of the call that is made
  std::vector<std::pair<const Buffer *, Block>> inputs;
  std::vector<std::deque<Pending>> pending; // [stream]: sends that are not waited for yet, in order
};

} // namespace ppcrt
