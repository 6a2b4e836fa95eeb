// Runs the stage programs of a pipeline on all ranks, as the runtime's plan executor does, on the interpreter.
#ifndef PPC_TEST_LIB_RANKEXECUTOR_H
#define PPC_TEST_LIB_RANKEXECUTOR_H

#include "dialects/ppc/Ppc.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Interpreter/Interpreter.h"
#include <map>

namespace mlir::ppc::test {

/// A tensor on every rank of a stage.
using RankTensors = SmallVector<ReferenceTensor>;
/// Logical values by name: "parameter w", "m of w", "scalar step", "input ids".
using NamedTensors = std::map<std::string, ReferenceTensor>;

/// Memory starts as NaN, and a slot becomes NaN again when a micro-batch takes it, so that a value from a wrong slot, or none
/// at all, shows in the results.
class RankExecutor {
public:
  /// `module` has ppc.plan and ppc.stages with slots and actions.
  explicit RankExecutor(ModuleOp module);

  /// One step, or the evaluation of its samples: forwards and the messages between them, then `evaluate`. Once for each executor. ""
  /// or what went wrong.
  std::string run(const NamedTensors &values);
  std::string evaluate(const NamedTensors &values);
  /// What lies in the buffers of parameters, states, gradients and metrics, by stage, buffer and rank.
  std::vector<std::vector<RankTensors>> outputs() const;
  /// What `evaluate` has left, by stage, result and rank; nothing where programs have no such function.
  std::vector<std::vector<RankTensors>> evaluation() const;

private:
  struct Stage {
    SmallVector<DictionaryAttr> buffers, actions;
    std::vector<RankTensors> arena;
    std::vector<std::vector<RankTensors>> slots;
    std::map<std::string, func::FuncOp> functions;
    std::map<int64_t, bool> begun;
    size_t next = 0;
  };

  RankTensors *memory(Stage &stage, int64_t buffer, int64_t microBatch);
  std::string perform(size_t stage, const NamedTensors &values, bool &waits);
  std::string begin(Stage &stage, int64_t microBatch, const NamedTensors &values);
  std::string gather(Stage &stage, func::FuncOp function, int64_t microBatch, SmallVector<RankValues> &arguments);
  std::string store(Stage &stage, func::FuncOp function, int64_t microBatch, ArrayRef<RankValues> results);
  /// Memory as a step finds it, and what `prepare` makes of it.
  std::string prepare(const NamedTensors &values);
  /// All actions of all stages, as far as messages let them.
  std::string follow(const NamedTensors &values);
  /// A function that all stages run together.
  std::string finish(StringRef name);
  /// Leaves the actions of an evaluation.
  void keepForwards();

  ModuleOp module;
  GridAttr grid;
  std::vector<Stage> stages;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, RankTensors> messages;
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_RANKEXECUTOR_H
