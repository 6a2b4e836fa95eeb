// Makes one random mistake in a partitioned program, of the kinds that people make in parallel programs.
#ifndef PPC_TEST_LIB_PROGRAMMUTATION_H
#define PPC_TEST_LIB_PROGRAMMUTATION_H

#include "RandomOperands.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc::test {

/// The kinds of mistakes, by name.
ArrayRef<StringRef> mutationKinds();

/// Changes one place of `module`, which has a ppcrt.program, by a mistake of `kind`. What was done, or nothing when
/// there is no place for it (the module is then as it was).
std::optional<std::string> mutateProgram(ModuleOp module, StringRef kind, Random &random);

/// The same for what is cut into pieces and put together again; used by mutateProgram.
std::optional<std::string> mutatePieces(ModuleOp module, StringRef kind, Random &random);

/// Mutates facts that the proof derives: replicated values, padding, partial sums; used by mutateProgram.
std::optional<std::string> mutateFacts(ModuleOp module, StringRef kind, Random &random);

/// The same for actions, messages and buffers of the `ppcrt.program`; used by mutateProgram.
std::optional<std::string> mutateStages(ModuleOp module, StringRef kind, Random &random);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_PROGRAMMUTATION_H
