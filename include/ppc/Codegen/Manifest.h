// The manifest: what the runtime must know of a compiled program, as JSON (docs/internals/Runtime.md describes the
// format).
#ifndef PPC_CODEGEN_MANIFEST_H
#define PPC_CODEGEN_MANIFEST_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace mlir::ppc {

/// Writes the manifest of a module whose `ppcrt.program` is scheduled and laid out (`ppc-assign-arena`), from it and
/// the groups, from the attributes `ppc.model` and `ppc.plan`, and from `ppc.prediction` and `ppc.weights` if they are
/// there. `planText` is the plan as people read it, `configText` the model's config.json (empty: it has none),
/// `mathematics` what checkpoints compare (Analysis/Mathematics.h), written as it is. `target` is the name of the
/// target whose programs run it, `code` the table of its functions where they are no code for hosts. Fails with an
/// error at what is missing, or at an action or buffer that programs do not have yet.
FailureOr<std::string> writeManifest(ModuleOp module, StringRef target, StringRef planText, StringRef configText,
                                     const llvm::json::Object &mathematics,
                                     std::optional<llvm::json::Object> code = std::nullopt);

} // namespace mlir::ppc

#endif // PPC_CODEGEN_MANIFEST_H
