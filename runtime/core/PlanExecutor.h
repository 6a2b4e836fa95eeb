// One rank's training: walks the actions of its stage, keeps slots until their messages are gone, updates.
#pragma once

#include "runtime/core/Manifest.h"
#include "runtime/core/RankContext.h"
#include "runtime/core/TokenSource.h"
#include "runtime/include/ppcrt.h"

#include <cstddef>

namespace ppcrt {

class FiniteCheck;
class WeightFiles;

// Throws InputError when the manifest names a function that the program does not have.
void checkEntries(const Manifest &manifest, const ppcrt_program &program);

struct StepResult {
  float loss = 0;     // as the update function reports them; 0 when it does not
  float gradNorm = 0; // before clipping
};

// Told of the functions that the executor calls: `what` is one of functionKindNames.
class ExecutionObserver {
public:
  virtual ~ExecutionObserver() = default;
  virtual void begin(const char *what, int64_t microBatch) = 0;
  virtual void end() = 0;
};

class PlanExecutor {
public:
  // `arena` holds the stage's arena_bytes and is zero. Everything is borrowed for the life of this object.
  PlanExecutor(const Manifest &manifest, const ppcrt_program &program, RankContext &context, std::byte *arena,
               const TokenSource &tokens, ExecutionObserver *observer = nullptr);

  // Fills this rank's blocks of the parameters, from files when there are some; states stay zero.
  void initializeParameters(uint64_t seed, const WeightFiles *weights = nullptr);

  // Looks for values that are not finite from now on. Borrowed; null: not any more.
  void watch(FiniteCheck *finiteCheck) { check = finiteCheck; }

  // Runs step `step` (from 1).
  StepResult run(int64_t step, double learningRate);

  // Whether the program has what evaluate() needs.
  bool canEvaluate() const { return functions[int(FunctionKind::Evaluate)]; }
  // The loss of the samples of batch `batch` (from 0) of `samples` with the parameters as they are: forward alone, nothing
  // is changed that a step does not begin anew. Neither the observer nor the counts of traffic see it.
  double evaluate(int64_t batch, const TokenSource &samples);

private:
  using Arguments = std::vector<void *>;

  void beginStep(int64_t step, double learningRate);
  void beginMicroBatch(int64_t step, int64_t microBatch);
  void perform(const Action &action);
  void findEvaluation();
  float metric(const char *name) const;
  void call(FunctionKind kind, int64_t microBatch);
  void fillInput(const Buffer &buffer, const Block &block, int64_t step, int64_t microBatch);
  void checkTokens(int64_t sample, int64_t first, int64_t count, const int32_t *ids) const;
  void waitSends(int64_t slot);
  std::byte *address(const Buffer &buffer, int64_t microBatch) const;

  const Manifest &manifest;
  const Stage &stage;
  RankContext &context;
  std::byte *arena;
  const TokenSource *tokens;
  ExecutionObserver *observer;
  FiniteCheck *check = nullptr;
  int64_t rank;
  int64_t runningStep = 0;
  std::array<ppcrt_function, functionKindCount> functions{};       // null: nothing to do
  std::array<std::vector<Arguments>, functionKindCount> arguments; // [kind][slot]
  std::vector<std::pair<const Buffer *, Block>> inputs;
  std::vector<std::vector<int64_t>> pending; // [slot]: requests of sends that still read it
  std::vector<bool> begun;                   // [micro-batch], in this step
  std::vector<const Action *> evaluation;    // forward, and the messages between forwards; in order
};

} // namespace ppcrt
