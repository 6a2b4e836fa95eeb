// Products of warpgroups (four warps, sm_90a): tiles in shared memory that a unit of its own copies there by tensor
// maps, barriers in memory that count its bytes, and `wgmma`, which reads tiles where they are and runs beside what
// follows (PTX ISA 8.0, "Asynchronous Warpgroup Level Matrix Instructions", "Data Movement and Conversion:
// cp.async.bulk.tensor"). Everything is inline PTX: upstream's ops have no A in registers, and a wait that ties no
// registers.
#ifndef PPC_LIB_TARGET_CUDA_WARPGROUPTILES_H
#define PPC_LIB_TARGET_CUDA_WARPGROUPTILES_H

#include "KernelWriter.h"

namespace mlir::ppc::cuda {

constexpr int64_t kWarpgroup = 128;
constexpr int64_t kStep = 16; // of the dimension that an instruction of a product sums over

/// Rows of bf16 in shared memory, `dim` a multiple of 64: pieces of 64 columns one after the other, each with rows of
/// 128 bytes whose 16-byte pieces are swizzled. `address` is an i32, a multiple of 1,024.
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
  /// Barriers are i32 addresses of eight bytes; `parity` is that of the phase whose end is waited for.
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
  /// The same number (i32), which compilers do not know: loops up to it stay loops.
  Value unknown(Value number);
  /// The number of the warpgroup, known to be the same for its threads.
  Value number(Value thread);

  // ---- Products, under way until waitFor ----
  /// Of 64 rows of `left` from `row` (a multiple of 64) on: left right', with columns of the result for rows of
  /// `right`.
  Registers multiplyRows(SwizzledTile left, Value row, SwizzledTile right);
  /// The same with fragments of `left`, four registers for 16 columns.
  Registers multiplyRows(ArrayRef<Registers> left, SwizzledTile right);
  /// sums + left right; fragments of `left` are for 16 rows of `right` each.
  Registers addColumns(ArrayRef<Registers> left, SwizzledTile right, ValueRange sums);
  /// Waits until at most `pending` products are under way; the results of the others.
  Registers waitFor(unsigned pending, ValueRange results);
  /// The descriptor of a tile from an address in it on. `leading`: bytes to the next 64 columns, for products over
  /// rows; `flags`: bits of the architecture.
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
