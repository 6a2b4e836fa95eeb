// Makes one random mistake of time in a program: what is waited for, where values lie, who meets whom, in which order.
#ifndef PPC_TEST_LIB_TIMEMUTATION_H
#define PPC_TEST_LIB_TIMEMUTATION_H

#include "RandomOperands.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace mlir::ppc::test {

/// wait (a token is not waited for), token (another one is), slot (number of slots, micro-batch), place (slots of
/// micro-batches where the program says them), offset (offset and stride in the arena), bucket (what a collective works
/// on and how), stream, group, order, early (with what code finishes before its end, when it says so, which early token
/// is waited for).
ArrayRef<StringRef> timeMutationKinds();

/// Changes one place of the ppcrt.program of `module` by a mistake of `kind`. What was done, or nothing when there is
/// no place for it (the module is then as it was). The result need not verify.
std::optional<std::string> mutateTime(ModuleOp module, StringRef kind, Random &random);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_TIMEMUTATION_H
