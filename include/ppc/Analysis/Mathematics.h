// Fingerprint of the computation of a training program, whatever its layout: a checkpoint tells by it whether a program
// resumes the run that wrote it.
#ifndef PPC_ANALYSIS_MATHEMATICS_H
#define PPC_ANALYSIS_MATHEMATICS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc {

/// Identity of the computation of a module with one function, the loss as it was imported, before its precision is
/// lowered:
///   "fingerprint": 32 hexadecimal digits of a hash of the function's result, as a tree of operations down to its
///     arguments (inputs, parameters and constants). Names of values, the order of operations, dead code and the
///     annotations of passes (`ppc.layer`, locations, initial values) do not enter, so two programs with the same
///     fingerprint compute the same loss from the same parameters.
///   "operations": human-readable, to report differences: NAME, the number of operations of a kind, and NAME.ATTRIBUTE,
///     its values with their numbers if there are several; `none` for an absent optional one.
/// Empty for any other module.
llvm::json::Object modelMathematics(ModuleOp module);

/// Attributes of the update operations of a step that `ppc-append-optimizer` has completed: NAME.ATTRIBUTE, as above.
llvm::json::Object optimizerMathematics(ModuleOp module);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_MATHEMATICS_H
