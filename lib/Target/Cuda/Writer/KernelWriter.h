// Writes the body of one kernel: what all shapes of regions have in common.
#ifndef PPC_LIB_TARGET_CUDA_KERNELWRITER_H
#define PPC_LIB_TARGET_CUDA_KERNELWRITER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "ppc/Target/Cuda/Writer/Kernel.h"
#include "ppc/Transforms/Fusion/RowRegion.h"

namespace mlir::ppc::cuda {

constexpr int64_t kWarp = 32;
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3; // of addresses

class KernelWriter {
public:
  KernelWriter(Operation *op, ModuleOp kernels, StringRef name);

  /// Declares the function: a parameter for each memref from outside of the op, and its other values computed again.
  LogicalResult begin();
  /// Ends it. The kernel's sizes are set by then.
  Kernel finish();

  /// Blocks have exactly kernel.threads, and one is enough on a multiprocessor: so assemblers know how many registers a
  /// thread has when it begins, and let it take more.
  void takeAllRegisters();

  /// Inside of what follows only so many threads go on: those whose number is below `count`. Returns the number.
  Value threadsBelow(int64_t count);
  /// The indices of iteration `number` of loops of these sizes, the last one fastest.
  SmallVector<Value> delinearize(Value number, ArrayRef<int64_t> sizes);

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value i32(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); }
  /// %tid.x and %ctaid.x, of i32.
  Value thread();
  Value block();
  /// The latter read anew, which nothing keeps in a register until then.
  Value blockAgain();
  Value asIndex(Value number) { return arith::IndexCastUIOp::create(b, b.getIndexType(), number); }

  /// The place of an element of a memref of the op.
  Value address(Value memref, ValueRange indices);
  /// The address of a tensor map, which becomes a parameter.
  Value tensorMap(KernelTensorMap map);
  /// `width` elements from there on, as a vector if more than one; they lie at a multiple of their size.
  Value load(Value memref, ValueRange indices, int64_t width = 1);
  void store(Value value, Value memref, ValueRange indices, int64_t width = 1);
  /// The indices of an operand of a generic op in iteration `dims`.
  SmallVector<Value> place(linalg::LinalgOp loops, OpOperand &operand, ValueRange dims);

  /// An array of f32 in the shared memory of the block, 16 bytes aligned; and a place in it, by a number of i32 or
  /// index.
  Value sharedArray(int64_t elements);
  Value sharedPlace(Value array, Value number);

  /// Clones the ops of a block but its terminator, accesses of memory on addresses; `dims` are what `linalg.index`
  /// gives.
  void clone(Block &block, ValueRange dims);
  void cloneOp(Operation &inner, ValueRange dims);

  Operation *op;
  ModuleOp kernels;
  ImplicitLocOpBuilder b;
  Kernel kernel;
  LLVM::LLVMFuncOp function;
  IRMapping map; // values outside and in the op -> values of the kernel; memrefs -> addresses

private:
  int64_t sharedArrays = 0;
  LogicalResult collectBuffers();
  LogicalResult capture(Value value);
};

/// Attention is one kernel; its gradients are two, of queries, and of keys and values.
FailureOr<SmallVector<Kernel>> buildAttentionKernels(Operation *op, ModuleOp kernels, StringRef name);

/// Attention by warpgroups where `chip` has them and they can do it (AttentionWarpgroups.cpp), instead of kernel
/// `number`.
std::optional<Kernel> buildChipAttention(Operation *op, size_t number, ModuleOp kernels, StringRef name,
                                         StringRef chip);

/// Loops over a generic op, one iteration of its parallel loops a thread, reductions inside.
void writeLoops(KernelWriter &w, linalg::GenericOp generic);
/// Other loops: in one thread, but for an innermost loop over columns.
void writeSequential(KernelWriter &w, scf::ForOp loop);

/// Loops that add a row of a table for each position, a warp for each position and some columns. False, and nothing is
/// written, if the loop is not of that kind.
bool writeRowScatter(KernelWriter &w, scf::ForOp loop);

/// How many neighbouring elements a thread can take of a generic op without reductions, in accesses of up to 16 bytes;
/// 1 if they do not lie side by side, aligned, in every operand.
int64_t elementsPerThread(linalg::GenericOp generic);
void writeElementwise(KernelWriter &w, linalg::GenericOp generic, int64_t width);

/// Ops that share rows (`scf.execute_region`, see RowRegion.h), in one kernel: a row is in the registers of a warp or a
/// block, as are the buffers that the region allocates.
void writeRowRegion(KernelWriter &w, const RowRegion &region);

/// True for a generic op whose only reduction is over leading loops, by one sum, product, maximum or minimum, while the
/// last of the others runs along memory.
bool isColumnSum(linalg::GenericOp generic);
/// A block for 32 columns, whose warps take rows in turns.
void writeColumnSum(KernelWriter &w, linalg::GenericOp generic);

/// True for a generic op whose only reduction is over the rows' contiguous elements, by one sum, product, maximum or
/// minimum.
bool isRowReduction(linalg::GenericOp generic);
/// A warp a row, or a block where rows are long; partial results are combined in a fixed tree.
void writeRowReduction(KernelWriter &w, linalg::GenericOp generic);

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_KERNELWRITER_H
