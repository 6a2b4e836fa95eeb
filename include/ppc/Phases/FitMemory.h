// Recomputation that fits a memory budget, measured on compiled programs.
#ifndef PPC_PHASES_FITMEMORY_H
#define PPC_PHASES_FITMEMORY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ppc {

class Target;

struct MemoryBudget {
  int64_t bytes;              ///< of a rank's arena
  bool recomputeIsGiven;      ///< the user chose what backward recomputes: nothing may be added to it
  const Target &target;       ///< whose device phase lays out the arenas
  bool overlap;               ///< collectives run concurrently with computation
  const std::string &cluster; ///< name or file, as of buildPartitionPhase
};

/// Runs the passes that `build` adds on `module` as the phase `name`. Fails after an error.
using PhaseRunner =
    function_ref<LogicalResult(ModuleOp module, StringRef name, function_ref<void(OpPassManager &)> build)>;

/// How many bytes fewer each stage must save per micro-batch for backward than the plan says, such that every arena
/// fits the budget; empty if the plan fits as it is. Lowers copies of `planned`, a module after the plan phase, until
/// their arenas fit. Prints an error through `report` and fails if they cannot.
FailureOr<SmallVector<int64_t>> fitMemory(ModuleOp planned, const MemoryBudget &budget, PhaseRunner runPhase,
                                          function_ref<void(const Twine &)> report);

} // namespace mlir::ppc

#endif // PPC_PHASES_FITMEMORY_H
