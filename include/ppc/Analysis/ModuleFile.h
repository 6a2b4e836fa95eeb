// Models in MLIR text, in files that users write.
#ifndef PPC_ANALYSIS_MODULEFILE_H
#define PPC_ANALYSIS_MODULEFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::ppc {

/// Reads a *.mlir. Null after a diagnostic: unreadable; refused by checkModuleText, before MLIR's parser sees it; not
/// MLIR; more ops than limits::moduleOps.
OwningOpRef<ModuleOp> readModuleFile(StringRef path, MLIRContext &context);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_MODULEFILE_H
