// Makes one random timing mutation in a program: waits, offsets and slots of values, members of collectives, order.
#ifndef PPC_TEST_LIB_TIMEMUTATION_H
#define PPC_TEST_LIB_TIMEMUTATION_H

#include "RandomOperands.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace mlir::ppc::test {

/// `wait` (a token is not waited for), `token` (another one is), `slot` (number of slots, micro-batch), `place` (slots
/// of micro-batches, where the program lists them), `offset` (offset and stride in the arena), `bucket` (members and
/// form of a collective), `stream`, `group`, `order`, `early` (values that a routine finishes before its end, if it
/// lists them, or the completion event that is waited for).
ArrayRef<StringRef> timeMutationKinds();

/// Makes one mutation of `kind` in the ppcrt.program of `module`. Returns its description, or std::nullopt if none
/// applies (the module is then unchanged). The result need not verify.
std::optional<std::string> mutateTime(ModuleOp module, StringRef kind, Random &random);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_TIMEMUTATION_H
