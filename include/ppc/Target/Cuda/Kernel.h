//===- Kernel.h - Kernels of one device function ------------------------===//
//
// A kernel is one op of a device function (after `ppc-assign-offsets`: loops on buffers of static shapes) for all
// threads of a grid. It is a function of the LLVM dialect in a module of its own, whose arguments are the addresses of
// buffers; shapes, offsets and constants are in its code.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TARGET_CUDA_KERNEL_H
#define PPC_TARGET_CUDA_KERNEL_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc::cuda {

/// How a kernel is launched. All sizes are known when it is compiled.
struct Kernel {
  std::string name;
  /// What it is called with, in order: memrefs of the function that held the op, whose first bytes are the arguments.
  SmallVector<Value> buffers;
  /// Blocks, and threads of each.
  int64_t blocks = 1, threads = 1;
};

/// True for ops that become a kernel each: `linalg` ops on memrefs, `memref.copy`, and `scf.for` without calls inside.
bool isKernelOp(Operation *op);

/// Appends the kernel of `op` to `kernels` under `name`. Parallel loops of a `linalg` op are given to threads, one
/// iteration each; loops of reductions run inside, in their order, so that sums are the same from run to run. Other
/// loops run in one thread, but for an innermost loop whose iterations touch columns of their own, which are given to
/// threads. Values from outside other than memrefs are computed again inside; what cannot be is an error at the op.
FailureOr<Kernel> buildLoopKernel(Operation *op, ModuleOp kernels, StringRef name);

} // namespace mlir::ppc::cuda

#endif // PPC_TARGET_CUDA_KERNEL_H
