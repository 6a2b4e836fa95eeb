// Random operands that make sense for an op: positive where it takes a logarithm, in range where it indexes.
#ifndef PPC_TEST_LIB_RANDOMOPERANDS_H
#define PPC_TEST_LIB_RANDOMOPERANDS_H

#include "dialects/ppc/Ppc.h"
#include <random>

namespace mlir::ppc::test {

using Random = std::mt19937_64;

/// An error where a value inside of `root` is too large to be computed by the interpreter in a test.
LogicalResult verifySizes(Operation *root);
/// Values for operand `number` of `op`.
ReferenceTensor randomOperand(Operation *op, unsigned number, Random &random);
SmallVector<ReferenceTensor> randomOperands(Operation *op, Random &random);
/// The least number of rows or classes that an index value selects from.
int64_t indexBound(Value ids);
/// Values in [-1, 1) for a tensor of `type`.
ReferenceTensor randomTensor(Type type, Random &random);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_RANDOMOPERANDS_H
