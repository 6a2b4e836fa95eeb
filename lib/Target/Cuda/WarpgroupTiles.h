// MMAs of warpgroups (four warps, sm_90a): TMA copies tiles into shared memory by tensor maps, memory barriers
// count its bytes, and `wgmma` reads tiles from shared memory and runs asynchronously (PTX ISA 8.0, "Asynchronous
// Warpgroup Level Matrix Instructions", "Data Movement and Conversion: cp.async.bulk.tensor"). Everything is inline
// PTX: upstream's ops have no A in registers, and their wait ties no registers.
#ifndef PPC_LIB_TARGET_CUDA_WARPGROUPTILES_H
#define PPC_LIB_TARGET_CUDA_WARPGROUPTILES_H

#include "KernelWriter.h"

namespace mlir::ppc::cuda {

constexpr int64_t kWarpgroup = 128;
constexpr int64_t kStep = 16; // summed dimension of one MMA instruction

/// Rows of bf16 in shared memory, `dim` a multiple of 64: blocks of 64 columns one after the other, each with rows of
/// 128 bytes whose 16-byte units are swizzled. `address` is an i32, a multiple of 1,024.
struct SwizzledTile {
  Value address;
  int64_t rows, dim;

  static constexpr int64_t rowBytes = 128, pieceColumns = 64;
  int64_t pieces() const { return dim / pieceColumns; }
  int64_t pieceBytes() const { return rows * rowBytes; }
  int64_t bytes() const { return pieces() * pieceBytes(); }
  /// From the beginning to columns 16 k to 16 k + 15 of its rows.
  int64_t bytesToColumns(int64_t k) const {
    constexpr int64_t steps = pieceColumns / kStep;
    return k / steps * pieceBytes() + k % steps * kStep * 2;
  }
};

class WarpgroupTiles {
public:
  explicit WarpgroupTiles(KernelWriter &w) : w(w), b(w.b) {}

  using Registers = SmallVector<Value>;

  // ---- Shared memory ----
  /// Declares the kernel's dynamic shared memory and returns its address, an i32.
  Value declareShared(int64_t bytes);
  /// Barriers are i32 addresses of eight bytes; a wait ends with the phase of the given `parity`.
  void initialize(Value barrier, int64_t arrivals);
  void showBarriers(); // to copies, once they are initialized
  void arrive(Value barrier);
  void expect(Value barrier, int64_t bytes); // and arrives
  void waitFor(Value barrier, Value parity);
  /// Begins to copy the box of a tensor map at these coordinates (i32, the fastest first); `barrier` counts its bytes.
  void copyBox(Value to, Value map, ArrayRef<Value> coordinates, Value barrier);

  // ---- Warps ----
  /// Named barriers of the block, from 1; by whole warps.
  void sync(Value number, int64_t threads);
  void arriveAt(Value number, int64_t threads);
  void syncWarp(); // its lanes go on together
  void setRegisters(int64_t ofThread, bool takes);
  /// %tid.x, read where it is used.
  Value threadAgain();
  /// The number (i32) as an opaque value: loops up to it are not unrolled.
  Value unknown(Value number);
  /// The number of the warpgroup, known to be the same for its threads.
  Value number(Value thread);

  // ---- MMAs, in flight until waitFor ----
  // left right' for 64 rows of `left` from `row` (a multiple of 64) on, with columns of the result for rows of `right`.
  Registers multiplyRows(SwizzledTile left, Value row, SwizzledTile right);
  /// Overload for fragments of `left`, four registers per 16 columns.
  Registers multiplyRows(ArrayRef<Registers> left, SwizzledTile right);
  /// sums + left right; fragments of `left` are for 16 rows of `right` each.
  Registers addColumns(ArrayRef<Registers> left, SwizzledTile right, ValueRange sums);
  /// Waits until at most `pending` MMAs are in flight; returns the results of the others.
  Registers waitFor(unsigned pending, ValueRange results);
  /// The descriptor of a tile from an address in it on. `leading`: bytes to the next 64 columns, for MMAs over rows;
  /// `flags`: bits of the architecture.
  Value descriptor(Value address, int64_t leading, int64_t flags = 0);

private:
  Value i32Add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  void emit(StringRef text, StringRef constraints, ValueRange operands);
  Registers emitProduct(std::string text, int64_t count, ValueRange sums, ArrayRef<std::pair<Value, char>> operands);

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
};

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_WARPGROUPTILES_H
