// Runs the stage programs of a pipeline as the runtime's plan executor does, on the interpreter.
#ifndef PPC_TEST_UNIT_TRANSFORMS_STAGEEXECUTOR_H
#define PPC_TEST_UNIT_TRANSFORMS_STAGEEXECUTOR_H

#include "dialects/ppc/Ppc.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Interpreter/Interpreter.h"

#include <map>

namespace mlir::ppc::test {

/// One device per stage. Memory starts as NaN, and a slot becomes NaN again when a micro-batch takes it, so that a value
/// from a wrong slot, or none at all, shows in the results.
class StageExecutor {
public:
  /// `module` has ppc.stages with slots and actions.
  explicit StageExecutor(ModuleOp module);

  /// Sets all buffers of this role and name (and state, "m" or "v"). Returns how many there are.
  int set(StringRef role, StringRef name, const ReferenceTensor &value, StringRef state = "");
  /// All such buffers, one per stage that has it.
  SmallVector<ReferenceTensor> get(StringRef role, StringRef name, StringRef state = "");

  /// One step: the actions of all stages, then the updates in lock-step. `inputs` are the whole step's, by name.
  /// "" or what went wrong.
  std::string runStep(const std::map<std::string, ReferenceTensor> &inputs);

private:
  struct Function {
    func::FuncOp op;
    SmallVector<int64_t> buffers;
  };
  struct Stage {
    SmallVector<DictionaryAttr> buffers;
    std::vector<ReferenceTensor> arena;              // by buffer; empty for those in slots
    std::vector<std::vector<ReferenceTensor>> slots; // by slot and buffer
    std::map<std::string, Function> functions;
    SmallVector<DictionaryAttr> actions;
    size_t next = 0;
    std::map<int64_t, bool> begun;
  };
  struct MessageKey {
    int64_t from, to, tag, microBatch;
    bool operator<(const MessageKey &other) const {
      return std::tie(from, to, tag, microBatch) < std::tie(other.from, other.to, other.tag, other.microBatch);
    }
  };

  static bool matches(DictionaryAttr buffer, StringRef role, StringRef name, StringRef state);
  ReferenceTensor &memory(Stage &stage, int64_t buffer, int64_t microBatch);
  void beginMicroBatch(Stage &stage, int64_t microBatch, const std::map<std::string, ReferenceTensor> &inputs);
  /// Performs the stage's next action; false when it has to wait for a message.
  bool perform(int64_t number, std::string &error);
  RankValues argumentsOf(Stage &stage, const Function &function, int64_t microBatch);
  void store(Stage &stage, const Function &function, int64_t microBatch, const RankValues &results);

  ModuleOp module;
  std::vector<Stage> stages;
  std::map<MessageKey, ReferenceTensor> messages;
};

} // namespace mlir::ppc::test

#endif // PPC_TEST_UNIT_TRANSFORMS_STAGEEXECUTOR_H
