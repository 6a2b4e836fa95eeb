// The manifest: what the runtime must know of a compiled program, as JSON (docs/Runtime.md describes the format).
#ifndef PPC_CODEGEN_MANIFEST_H
#define PPC_CODEGEN_MANIFEST_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir::ppc {

/// Writes the manifest of a module whose stages are scheduled and laid out (`ppc-assign-arena`), from its attributes
/// `ppc.model`, `ppc.plan`, `ppc.groups` and `ppc.stages`, and from `ppc.prediction` and `ppc.weights` if they are there.
/// `planText` is the plan as people read it, `configText` the model's config.json (empty: it has none). Fails with an error
/// on the module when an attribute is missing.
FailureOr<std::string> writeManifest(ModuleOp module, StringRef planText, StringRef configText);

/// Records in `ppc.model` what the manifest says of the model: its name, sequence length, global batch, vocabulary and
/// parameter count, read from the arguments of its one function (inputs [batch, sequence], dimensions called "vocab").
LogicalResult recordModel(ModuleOp module, StringRef name, double flopsPerToken);

} // namespace mlir::ppc

#endif // PPC_CODEGEN_MANIFEST_H
