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
#include "mlir/Pass/Pass.h"

#include <memory>
#include <optional>
#include <vector>

namespace mlir::ppc::cuda {

/// A parameter that follows the operands: a tensor map (128 bytes, encoded by the driver) of a bf16 buffer, from which
/// a kernel copies boxes into shared memory with 128-byte swizzling. The fastest dimension comes first.
struct KernelTensorMap {
  Value buffer;                 // one of the operands
  SmallVector<int64_t> sizes;   // elements
  SmallVector<int64_t> strides; // bytes, from the second dimension on
  SmallVector<int64_t> box;     // elements
};

/// That a GPU starts at once.
inline constexpr int64_t kMostBlocks = 0x7fffffff;

/// How a kernel is launched. All sizes are known when it is compiled.
struct Kernel {
  std::string name;
  /// Arguments in order, as values of the function that held the op: memrefs, passed as the address of their first
  /// byte, and 64-bit results of `ppcrt.coordinate`.
  SmallVector<Value> operands;
  /// Blocks, and threads of each.
  int64_t blocks = 1, threads = 1;
  /// Dynamic shared memory of a block, in bytes.
  int64_t sharedBytes = 0;
  std::vector<KernelTensorMap> maps;
  /// Its share of the op's operations; less than 0: as much as each of the others.
  double share = -1;
};

/// True for ops that become kernels: `linalg` ops on memrefs, regions of them (`scf.execute_region`), `memref.copy`,
/// `scf.for` without calls inside, attention and its gradients.
bool isKernelOp(Operation *op);

/// Appends the kernels of `op` to `kernels`, under names that begin with `name`, in launch order. Most ops become one
/// kernel. Parallel loops are distributed over threads; neighbouring threads take neighbouring elements. A warp or a
/// block reduces a row in a fixed tree; other reductions run inside a thread in loop order, so sums are the same from
/// run to run. Loops that are not `linalg` ops run in one thread, except for an innermost loop whose iterations touch
/// separate columns. Values defined outside, other than memrefs, are recomputed inside; a value that cannot be
/// recomputed is an error at the op.
FailureOr<SmallVector<Kernel>> buildKernels(Operation *op, ModuleOp kernels, StringRef name);

/// Builds the kernel that only `chip` can run instead of kernel `number` of those that buildKernels made of `op`: same
/// operands, same name. Returns std::nullopt if the chip has no better kernel.
std::optional<Kernel> buildChipKernel(Operation *op, size_t number, ModuleOp kernels, StringRef name, StringRef chip);

/// Attribute of a kernel's function: Kernel::sharedBytes, if it is not 0.
inline constexpr StringLiteral kSharedBytesAttr = "ppc.shared_bytes";

/// Attribute of a launch: indices of operands that its kernel neither reads nor writes, on chips without a kernel of
/// their own.
inline constexpr StringLiteral kIdleOperandsAttr = "ppc.idle_operands";

/// Attribute of a launch that does not touch all of each buffer: for each operand an upper bound on the bytes that its
/// kernel touches, because it accesses one computed element per iteration; -1: the full buffer.
inline constexpr StringLiteral kTouchedBytesAttr = "ppc.touched_bytes";

/// The name of the module that holds the kernels of a module.
inline constexpr StringLiteral kKernelsName = "kernels";

/// `ppc-outline-kernels`: each such op of a function becomes launches (`ppcrt.launch`) of kernels in the module
/// `kernels`, which holds each distinct kernel once. Kernels of single chips are in separate modules (ChipKernels.h).
/// Runs after `ppc-assign-offsets`. Reports an error at an op that cannot become a kernel.
std::unique_ptr<Pass> createOutlineKernelsPass();

} // namespace mlir::ppc::cuda

#endif // PPC_TARGET_CUDA_KERNEL_H
