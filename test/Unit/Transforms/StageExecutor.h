// Runs the program of a pipeline as the runtime's plan executor does, on the interpreter.
#ifndef PPC_TEST_UNIT_TRANSFORMS_STAGEEXECUTOR_H
#define PPC_TEST_UNIT_TRANSFORMS_STAGEEXECUTOR_H

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Interpreter/Interpreter.h"

#include <map>
#include <set>

namespace mlir::ppc::test {

/// One rank per device. Memory starts as NaN, and a slot of a buffer becomes NaN again when another micro-batch first
/// uses it, so that a value from a wrong slot, or none at all, shows in the results.
class StageExecutor {
public:
  /// `module` has a ppcrt.program with steps, whose code works on tensors.
  explicit StageExecutor(ModuleOp module);

  /// Sets all buffers of this role and name (and state, "m" or "v"). Returns how many there are.
  int set(ppcrt::BufferRole role, StringRef name, const ReferenceTensor &value, StringRef state = "");
  /// All such buffers, one per device that has it.
  SmallVector<ReferenceTensor> get(ppcrt::BufferRole role, StringRef name, StringRef state = "");

  /// One step: the actions of all devices, then the updates in lock-step. `inputs` are the whole step's, by name.
  /// "" or what went wrong.
  std::string runStep(const std::map<std::string, ReferenceTensor> &inputs);

private:
  using Inputs = std::map<std::string, ReferenceTensor>;
  struct Stage {
    ppcrt::DeviceOp device;
    SmallVector<ppcrt::BufferOp> buffers;
    std::map<std::string, std::vector<ReferenceTensor>> memory; ///< by buffer and slot
    SmallVector<Operation *> actions;
    size_t next = 0;
    /// State of slots: the buffer, of those that share it, and the micro-batch that used it last.
    std::map<std::pair<std::string, size_t>, std::pair<std::string, int64_t>> holders;
  };

  ReferenceTensor &memory(Stage &stage, StringRef buffer, int64_t microBatch);
  void load(Stage &stage, int64_t microBatch, const Inputs &inputs);
  /// Performs the stage's next action; false when it has to wait for a message.
  bool perform(Stage &stage, const Inputs &inputs, std::string &error);
  bool perform(Stage &stage, ppcrt::MessageOp message, bool isSend, int64_t microBatch, std::string &error);
  RankValues argumentsOf(Stage &stage, ppcrt::RoutineOp routine, int64_t microBatch);
  void store(Stage &stage, ppcrt::RoutineOp routine, int64_t microBatch, const RankValues &results);
  func::FuncOp codeOf(ppcrt::RoutineOp routine);

  ModuleOp module;
  ppcrt::ProgramOp program;
  std::vector<Stage> stages;
  std::map<std::pair<std::string, int64_t>, ReferenceTensor> messages; ///< by name and micro-batch
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_UNIT_TRANSFORMS_STAGEEXECUTOR_H
