// Which family of devices a module becomes programs of: said once, by whoever makes its plan, and asked by all passes
// behind.
#ifndef PPC_ANALYSIS_MODULETARGET_H
#define PPC_ANALYSIS_MODULETARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

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
