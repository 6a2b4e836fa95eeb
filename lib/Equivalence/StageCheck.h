// Follows the schedules of all stages of a pipelined program through one step.
#ifndef PPC_LIB_EQUIVALENCE_STAGECHECK_H
#define PPC_LIB_EQUIVALENCE_STAGECHECK_H

#include "FunctionWalk.h"
#include "StepInterface.h"
#include "dialects/ppcrt/PpcRt.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include <set>

namespace mlir::ppc {

class StageCheck {
public:
  /// Follows the step, whose `last` routine is the update, or the evaluation.
  StageCheck(ppcrt::ProgramOp program, Derivation &derivation, const StepInterface &interface, ppcrt::RoutineKind last)
      : program(program), derivation(derivation), interface(interface), last(last) {}

  /// Fails with errors; counts in `report`.
  LogicalResult run(EquivalenceReport &report);

private:
  /// Contents of a buffer.
  struct Content {
    bool isSet = false, isSum = false;
    Relation relation;
    int64_t microBatch = -1; ///< whose; -1: of the step
    /// Of a running sum: what was added, and for which micro-batches.
    std::vector<std::pair<Relation, SmallVector<int64_t>>> added;
  };
  /// Result of walking a function of a stage.
  struct Outcome {
    std::vector<Known> arguments, results;
  };
  struct Function {
    ppcrt::RoutineKind kind;
    func::FuncOp op;
    SmallVector<int64_t> arguments, results; ///< buffers
    std::vector<Outcome> outcomes;
  };
  struct Stage {
    ppcrt::DeviceOp device;
    SmallVector<ppcrt::BufferOp> buffers;
    DenseMap<Attribute, int64_t> bufferByName;
    std::vector<std::vector<Content>> contents; ///< by buffer and slot
    DenseMap<Attribute, Function> functions;    ///< by routine
    Block::iterator next, end;                  ///< actions
  };

  LogicalResult read();
  LogicalResult readFunction(size_t stage, ppcrt::RoutineOp routine);
  /// The function of the routine that an action runs; null when it runs none.
  Function *functionOf(size_t stage, Operation *action);
  /// The first routine of a kind that the device runs, of which the stages' run together; null when it has none.
  Function *functionOf(size_t stage, ppcrt::RoutineKind kind);
  LogicalResult initialize(size_t stage);
  LogicalResult load(size_t stage, int64_t microBatch);
  /// Follows the actions of all stages up to the first routine of the kind `last`, or after it to the end.
  LogicalResult followActions(bool isBehind);
  /// Checks that all stages have reached it.
  LogicalResult checkStandAtLast();
  /// Performs the next action of a stage; false when it waits for a message.
  FailureOr<bool> perform(size_t stage);
  LogicalResult send(size_t stage, ppcrt::MessageOp message, int64_t microBatch, Operation *action);
  FailureOr<bool> receive(size_t stage, ppcrt::MessageOp message, int64_t microBatch, Operation *action);
  /// Exchanges, copies, collectives and finite checks; false when it waits for a message.
  FailureOr<bool> transfer(size_t stage, Operation *action);
  FailureOr<bool> exchange(size_t stage, ppcrt::ExchangeOp action);
  LogicalResult copy(size_t stage, ppcrt::CopyOp action);
  LogicalResult reduceBuckets(size_t stage, ppcrt::CollectiveOp action);
  /// The axes over which a collective communicates, of those that have several ranks.
  FailureOr<SmallVector<StringAttr, 2>> axesOf(size_t stage, ppcrt::CollectiveOp action);
  /// The contents that an action reads from a buffer; a running sum must be complete.
  FailureOr<Content> found(size_t stage, Attribute buffer, std::optional<int64_t> microBatch, Operation *action);
  LogicalResult call(size_t stage, Function &function, int64_t microBatch);
  FailureOr<Known> argument(size_t stage, Function &function, unsigned number, int64_t microBatch);
  LogicalResult store(size_t stage, Function &function, unsigned number, const Known &known, int64_t microBatch);
  LogicalResult completeSums(size_t stage);
  LogicalResult completeSum(size_t stage, int64_t buffer);
  /// Runs the routines of this kind of all stages together: update, or evaluate, which programs may lack.
  LogicalResult finishStep(ppcrt::RoutineKind kind);
  /// Whether "evaluate" has left the loss in the metrics that are called so.
  LogicalResult checkLoss();
  FailureOr<bool> reduceAcrossStages(std::vector<FunctionWalk> &walks, size_t stage);
  LogicalResult checkOutputs();

  Content *content(size_t stage, int64_t buffer, int64_t microBatch);
  std::string describeBuffer(size_t stage, int64_t buffer) const;
  InFlightDiagnostic error(size_t stage) {
    return emitError(stages[stage].device.getLoc()) << "stage " << stage << ": ";
  }

  ppcrt::ProgramOp program;
  Derivation &derivation;
  const StepInterface &interface;
  ppcrt::RoutineKind last;
  EquivalenceReport *report = nullptr;
  std::vector<Stage> stages;
  std::unique_ptr<ppcrt::ProgramSymbols> symbols;
  llvm::SmallPtrSet<Operation *, 4> hasSent; ///< exchanges that have sent and wait to receive: by name and micro-batch
  std::map<std::pair<const void *, int64_t>, Content> messages; ///< on their way: by name and micro-batch
};

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_STAGECHECK_H
