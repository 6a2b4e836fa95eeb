// Exponentials of kernels, as exactly as what is made of them needs.
#ifndef PPC_LIB_TARGET_CUDA_EXPONENTIALS_H
#define PPC_LIB_TARGET_CUDA_EXPONENTIALS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ppc::cuda {

/// 2^x by the machine's instruction, within 2 units in the last place; subnormal results are 0.
Value powerOfTwo(ImplicitLocOpBuilder &b, Value x);

/// e^x of f32 for any x, within a few units in the last place: what rounding takes from x log2 e is a factor near 1,
/// without which the error would grow with x. The factor is no number where x is infinite or so large that the power
/// is.
Value exponential(ImplicitLocOpBuilder &b, Value x);

/// Replaces, in kernels before they are lowered, exponentials that may do without that factor, and reciprocals after
/// them:
///  - e^x of which all that leaves the thread is rounded to 16 bits, is 2^(x log2 e): off by |x| units of 2^-24;
///  - e^(x - y), with a y that several of them share (the largest or the logarithm of a row), is 2^(x log2 e - y log2
///  e),
///    one multiply-add: off by |x - y| + |y| units of 2^-24, the second of which is the same for the row, and as if y
///    had been rounded once more;
///  - z / (1 + e^x) is z times the machine's reciprocal, since the divisor is at least 1.
void expandExponentials(ModuleOp kernels);

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_EXPONENTIALS_H
