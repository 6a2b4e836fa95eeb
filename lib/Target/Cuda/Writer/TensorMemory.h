// Products of tensor cores in tensor memory (tcgen05, sm_100a): beside registers and shared memory a multiprocessor has
// 128 lanes of 512 columns of 32 bits. One thread begins products; they run beside what follows, take tiles from shared
// memory, or the left one from tensor memory, leave their sums there, a row a lane, and complete a phase of a memory
// barrier when they are done. A warp moves numbers between its registers and 32 lanes, those of its place in its
// warpgroup (PTX ISA 8.6, "TensorCore 5th Generation Family Instructions"). Everything is inline PTX, so that results
// depend on what waits for them.
#ifndef PPC_LIB_TARGET_CUDA_TENSORMEMORY_H
#define PPC_LIB_TARGET_CUDA_TENSORMEMORY_H

#include "WarpgroupTiles.h"

namespace mlir::ppc::cuda {

/// Addresses are of i32: a lane in the upper half, a column in the lower one.
class TensorMemory {
public:
  TensorMemory(KernelWriter &w, WarpgroupTiles &tiles) : w(w), b(w.b), tiles(tiles) {}

  using Registers = SmallVector<Value>;
  static constexpr int64_t columns = 512, rows = 128; // of the memory; of a product

  /// All of it, by one warp, which gives it back as well. The address is put into shared memory.
  void allocate(Value place);
  void release(Value address);

  // ---- Products of 128 rows, by one thread ----
  /// sums = left right', with columns of the result for rows of `right`.
  void multiplyRows(Value sums, SwizzledTile left, SwizzledTile right);
  /// sums = left right, or, if `adds` is not 0, sums + left right; `left` has two numbers of bf16 in a column.
  void addColumns(Value sums, Value left, SwizzledTile right, Value adds);
  /// Arrives at a memory barrier when the thread's products so far are done.
  void commit(Value barrier);

  // ---- Lanes of a warp ----
  /// The address for this warp: `warp` is its number.
  Value ofWarp(Value address, Value warp);
  /// `count` columns (a multiple of 32), of f32, when they are there.
  Registers load(Value address, int64_t count);
  /// Begins to store words of i32 or f32, 16 or 32, side by side; waits until all are stored.
  void store(Value address, ValueRange words);
  void waitForStores();

  /// Between uses of tensor memory and what tells another thread of them; and between being told and uses.
  void beforeTelling();
  void afterBeingTold();

private:
  void emit(StringRef text, StringRef constraints, ValueRange operands);

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
  WarpgroupTiles &tiles;
};

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_TENSORMEMORY_H
