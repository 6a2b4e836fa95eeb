// Family of devices that a module is compiled for: set once, when its plan is made, and read by all later passes.
#ifndef PPC_ANALYSIS_MODULETARGET_H
#define PPC_ANALYSIS_MODULETARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/Target/TargetCapabilities.h"

namespace mlir::ppc {

namespace attr {
/// On a module: the name of a target, as of --target.
inline constexpr StringLiteral target = "ppc.target";
} // namespace attr

void setModuleTarget(ModuleOp module, const TargetCapabilities &target);
/// Errors: the module names none, or one that this build does not have.
llvm::Expected<const TargetCapabilities *> moduleTarget(ModuleOp module);
/// The targets that the module may become programs of: the one that it names, else all of this build. Error: it names
/// one that this build does not have.
llvm::Expected<ArrayRef<const TargetCapabilities *>> possibleTargets(ModuleOp module);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_MODULETARGET_H
