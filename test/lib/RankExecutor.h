// Runs a program on all ranks of all devices, as the runtime's plan executor does, on the interpreter.
#ifndef PPC_TEST_LIB_RANKEXECUTOR_H
#define PPC_TEST_LIB_RANKEXECUTOR_H

#include "StepValues.h"
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Interpreter/Interpreter.h"
#include <set>

namespace mlir::ppc::test {

/// A tensor on every rank of a device.
using RankTensors = SmallVector<ReferenceTensor>;

/// Memory starts as NaN, and a slot of a buffer becomes NaN again when another micro-batch first uses it, so that a
/// value from a wrong slot, or none at all, shows in the results.
class RankExecutor {
public:
  /// `module` has a ppcrt.program with steps, whose code works on tensors.
  explicit RankExecutor(ModuleOp module, Arithmetic arithmetic = Arithmetic::Exact);

  /// One step, or the evaluation of its samples. Once for each executor. "" or what went wrong.
  std::string run(const NamedTensors &values);
  std::string evaluate(const NamedTensors &values);
  /// Contents of the buffers of parameters, states, gradients and metrics, by device, buffer and rank.
  std::vector<std::vector<RankTensors>> outputs() const;
  /// Results of `evaluate`, by device, result and rank; empty if programs have no such routine.
  std::vector<std::vector<RankTensors>> evaluation() const;

private:
  struct Stage {
    ppcrt::DeviceOp device;
    SmallVector<ppcrt::BufferOp> buffers;
    std::map<std::string, int64_t> places;        ///< indices of buffers, by name
    std::vector<std::vector<RankTensors>> memory; ///< by buffer and slot
    SmallVector<Operation *> actions, behind;     ///< before what all stages run together, and after it
    ppcrt::RoutineOp last;                        ///< routine of the last run
    /// State by buffer and slot: the buffer, of those that share it, and the micro-batch that used it last.
    std::vector<std::vector<std::pair<int64_t, int64_t>>> holders;
    size_t next = 0;
  };

  /// Contents of a buffer; null if there is none of that name.
  RankTensors *memory(Stage &stage, StringRef buffer, int64_t microBatch);
  std::string perform(size_t stage, const NamedTensors &values, bool &waits);
  std::string load(Stage &stage, int64_t microBatch, const NamedTensors &values);
  std::string runRoutine(Stage &stage, ppcrt::RunOp run);
  std::string runCollective(Stage &stage, ppcrt::CollectiveOp op);
  std::string gather(Stage &stage, ppcrt::RoutineOp routine, int64_t microBatch, SmallVector<RankValues> &arguments);
  std::string store(Stage &stage, ppcrt::RoutineOp routine, int64_t microBatch, ArrayRef<RankValues> results);
  /// Memory as a step finds it.
  void initialize(const NamedTensors &values);
  /// All actions of all devices, as far as messages let them, but the last routine.
  std::string follow(const NamedTensors &values);
  /// A routine that all devices run together.
  std::string finish(ppcrt::RoutineKind kind);
  std::string execute(const NamedTensors &values, ppcrt::RoutineKind last);
  func::FuncOp codeOf(ppcrt::RoutineOp routine) { return module.lookupSymbol<func::FuncOp>(routine.getCode()); }

  ModuleOp module;
  Arithmetic arithmetic;
  ppcrt::ProgramOp program;
  GridAttr grid;
  std::vector<Stage> stages;
  std::map<std::pair<std::string, int64_t>, RankTensors> messages; ///< by name and micro-batch
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_RANKEXECUTOR_H
