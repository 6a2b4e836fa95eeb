// The manifest: the description of a compiled program for the runtime, as JSON (docs/internals/Runtime.md describes the
// format).
#ifndef PPC_CODEGEN_MANIFEST_H
#define PPC_CODEGEN_MANIFEST_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace mlir::ppc {

/// Writes the manifest of a module whose `ppcrt.program` is scheduled and has offsets (`ppc-assign-arena`), from it
/// and the groups, from the attributes `ppc.model` and `ppc.plan`, and from `ppc.prediction` and `ppc.weights` if
/// present. `planText` is the human-readable plan, `configText` the model's config.json (empty: it has none),
/// `mathematics` the description that checkpoints compare (Analysis/Mathematics.h), written as it is. `target` is the
/// name of the target whose programs run it, `code` the table of its functions if they are not code for the CPU
/// backend. Fails with an error at a missing attribute, or at an action or buffer that programs do not support.
FailureOr<std::string> writeManifest(ModuleOp module, StringRef target, StringRef planText, StringRef configText,
                                     const llvm::json::Object &mathematics,
                                     std::optional<llvm::json::Object> code = std::nullopt);

} // namespace mlir::ppc

#endif // PPC_CODEGEN_MANIFEST_H
