// Random operands that make sense for an op: positive where it takes a logarithm, in range where it indexes.
#ifndef PPC_TEST_LIB_RANDOMOPERANDS_H
#define PPC_TEST_LIB_RANDOMOPERANDS_H

#include "dialects/ppc/Ppc.h"
#include <random>

namespace mlir::ppc::test {

using Random = std::mt19937_64;

/// An error where a value inside of `root` has more elements than a test computes by the interpreter, or a tensor
/// has a size that is not known.
LogicalResult verifySizes(Operation *root, int64_t most = int64_t(1) << 18);
/// Values for operand `number` of `op`.
ReferenceTensor randomOperand(Operation *op, unsigned number, Random &random);
SmallVector<ReferenceTensor> randomOperands(Operation *op, Random &random);
/// The least number of rows or classes that an index value selects from.
int64_t indexBound(Value ids);
/// Values in [-1, 1) for a tensor of `type`.
ReferenceTensor randomTensor(Type type, Random &random);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_RANDOMOPERANDS_H
