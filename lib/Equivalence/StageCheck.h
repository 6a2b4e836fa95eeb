// Follows the schedules of all stages of a pipelined program through one step.
#ifndef PPC_LIB_EQUIVALENCE_STAGECHECK_H
#define PPC_LIB_EQUIVALENCE_STAGECHECK_H

#include "FunctionWalk.h"
#include "StepInterface.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include <set>

namespace mlir::ppc {

class StageCheck {
public:
  StageCheck(ModuleOp module, Derivation &derivation, const StepInterface &interface)
      : module(module), derivation(derivation), interface(interface) {}

  /// Fails with errors; counts in `report`.
  LogicalResult run(EquivalenceReport &report);

private:
  /// What lies in a buffer.
  struct Content {
    bool isSet = false, isSum = false;
    Relation relation;
    int64_t microBatch = -1; ///< whose; -1: of the step
    /// Of a running sum: what was added, and for which micro-batches.
    std::vector<std::pair<Relation, SmallVector<int64_t>>> added;
  };
  /// What a function of a stage did when it was walked.
  struct Outcome {
    std::vector<Known> arguments, results;
  };
  struct Function {
    func::FuncOp op;
    SmallVector<int64_t> arguments, results; ///< buffers
    std::vector<Outcome> outcomes;
  };
  struct Stage {
    SmallVector<DictionaryAttr> buffers, actions;
    std::vector<Content> arena;
    std::vector<std::vector<Content>> slots;
    std::map<std::string, Function> functions;
    std::set<int64_t> begun;
    size_t next = 0;
  };

  LogicalResult read();
  LogicalResult readFunction(size_t stage, StringRef action, DictionaryAttr entry);
  LogicalResult initialize(size_t stage);
  LogicalResult beginMicroBatch(size_t stage, int64_t microBatch);
  /// What stages make of their parameters before all micro-batches.
  LogicalResult prepare();
  LogicalResult followActions();
  /// Performs the next action of a stage; false when it waits for a message.
  FailureOr<bool> perform(size_t stage);
  LogicalResult call(size_t stage, Function &function, int64_t microBatch);
  FailureOr<Known> argument(size_t stage, Function &function, unsigned number, int64_t microBatch);
  LogicalResult store(size_t stage, Function &function, unsigned number, const Known &known, int64_t microBatch);
  LogicalResult completeSums(size_t stage);
  /// Runs the functions `action` of all stages together: "update", or "evaluate", which stages may lack.
  LogicalResult finishStep(StringRef action);
  /// Whether "evaluate" has left the loss in the metrics that are called so.
  LogicalResult checkLoss();
  FailureOr<bool> reduceAcrossStages(std::vector<FunctionWalk> &walks, size_t stage);
  LogicalResult checkOutputs();

  Content *content(size_t stage, int64_t buffer, int64_t microBatch);
  std::string describeBuffer(size_t stage, int64_t buffer) const;
  InFlightDiagnostic error(size_t stage) { return module.emitError() << "stage " << stage << ": "; }

  ModuleOp module;
  Derivation &derivation;
  const StepInterface &interface;
  EquivalenceReport *report = nullptr;
  std::vector<Stage> stages;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, Content> messages; ///< from, to, tag, micro-batch
};

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_STAGECHECK_H
