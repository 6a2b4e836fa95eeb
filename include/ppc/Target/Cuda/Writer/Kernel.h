//===- Kernel.h - Kernels of one device function ------------------------===//
//
// A kernel is one op of a device function (after `ppc-assign-offsets`: loops on buffers of static shapes) for all
// threads of a grid. It is a function of the LLVM dialect in a module of its own, whose arguments are the addresses of
// buffers; shapes, offsets and constants are in its code.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TARGET_CUDA_WRITER_KERNEL_H
#define PPC_TARGET_CUDA_WRITER_KERNEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <optional>
#include <vector>

namespace mlir::ppc::cuda {

/// A parameter behind the operands: a tensor map (128 bytes, which the driver encodes) of a buffer of bf16, of which a
/// kernel copies boxes into shared memory with 128-byte swizzling. The fastest dimension comes first.
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
  /// What it is called with, in order, as values of the function that held the op: memrefs, whose first bytes'
  /// addresses are the arguments, and results of `ppcrt.coordinate`, which are of 64 bits.
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

/// Appends the kernels of `op` to `kernels`, under names that begin with `name`, in the order in which they are
/// launched. Most ops become one. Parallel loops are given to threads, side by side where their elements lie side by
/// side; rows are reduced by a warp or a block in a fixed tree, other reductions run inside of a thread in their order,
/// so that sums are the same from run to run. Loops that are no `linalg` op run in one thread, but for an innermost
/// loop whose iterations touch columns of their own. Values from outside other than memrefs are computed again inside;
/// what cannot be is an error at the op.
FailureOr<SmallVector<Kernel>> buildKernels(Operation *op, ModuleOp kernels, StringRef name);

/// What `chip` alone can run instead of the kernel number `number` of those that buildKernels made of `op`: a kernel
/// with the same operands, under this name. None where it has nothing better.
std::optional<Kernel> buildChipKernel(Operation *op, size_t number, ModuleOp kernels, StringRef name, StringRef chip);

/// Of a kernel's function: Kernel::sharedBytes, where there are any.
inline constexpr StringLiteral kSharedBytesAttr = "ppc.shared_bytes";

/// Of a launch: the places of operands that its kernel neither reads nor writes on chips that have none of their own.
inline constexpr StringLiteral kIdleOperandsAttr = "ppc.idle_operands";

/// Of a launch, where it is not the whole buffer of each: for each operand the bytes that its kernel touches at most,
/// since it takes elements at places that it computes, one in an iteration; -1: the whole buffer.
inline constexpr StringLiteral kTouchedBytesAttr = "ppc.touched_bytes";

/// The name of the module that holds the kernels of a module.
inline constexpr StringLiteral kKernelsName = "kernels";

/// `ppc-outline-kernels`: each such op of a function becomes launches (`ppcrt.launch`) of kernels in the module
/// `kernels`, which holds each kernel once, by its code; those of single chips are in modules beside it
/// (ChipKernels.h). Runs after `ppc-assign-offsets`. An error is at the op that no kernel can be made of.
std::unique_ptr<Pass> createOutlineKernelsPass();

} // namespace mlir::ppc::cuda

#endif // PPC_TARGET_CUDA_WRITER_KERNEL_H
