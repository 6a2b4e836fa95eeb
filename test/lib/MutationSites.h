// Where mistakes are made: ops of a program, and how they are named in reports.
#ifndef PPC_TEST_LIB_MUTATIONSITES_H
#define PPC_TEST_LIB_MUTATIONSITES_H

#include "RandomOperands.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc::test {

template <typename T> T &pick(SmallVectorImpl<T> &list, Random &random) { return list[random() % list.size()]; }

/// The ops of the program for which `wanted` holds.
SmallVector<Operation *> opsWhere(ModuleOp module, function_ref<bool(Operation *)> wanted);

/// The function and the text of an op, shortened.
std::string textOf(Operation *op);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_MUTATIONSITES_H
