// Makes one random mutation in a partitioned program, of the kinds of bugs that parallel programs have.
#ifndef PPC_TEST_LIB_PROGRAMMUTATION_H
#define PPC_TEST_LIB_PROGRAMMUTATION_H

#include "RandomOperands.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc::test {

/// The kinds of mutations, by name.
ArrayRef<StringRef> mutationKinds();

/// Makes one mutation of `kind` in `module`, which has a ppcrt.program. Returns its description, or std::nullopt if
/// none applies (the module is then unchanged).
std::optional<std::string> mutateProgram(ModuleOp module, StringRef kind, Random &random);

/// Mutations of chunked matmuls and collectives; used by mutateProgram.
std::optional<std::string> mutatePieces(ModuleOp module, StringRef kind, Random &random);

/// Mutations of actions, messages and buffers of the `ppcrt.program`; used by mutateProgram.
std::optional<std::string> mutateStages(ModuleOp module, StringRef kind, Random &random);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_PROGRAMMUTATION_H
