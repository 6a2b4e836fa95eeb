// Products of small matrices by tensor cores: rows in shared memory, fragments in the registers of a warp
// (mma.sync.m16n8k16 of bf16 with sums in f32; PTX ISA, "Matrix Fragments for mma.m16n8k16"). Lane l has of A the rows
// l / 4 and l / 4 + 8, of B the column l / 4, of C both rows and the columns 2 (l % 4) and the one after it.
#ifndef PPC_LIB_TARGET_CUDA_TENSORTILES_H
#define PPC_LIB_TARGET_CUDA_TENSORTILES_H

#include "KernelWriter.h"

namespace mlir::ppc::cuda {

/// Shared memory that a block has without asking for more.
constexpr int64_t kStaticSharedBytes = 48 << 10;

/// Rows of bf16 in shared memory, `dim` a multiple of 16. 16 bytes between rows put eight of them into different banks.
struct Tile {
  Value base;
  int64_t rows, dim;

  int64_t rowBytes() const { return 2 * dim + 16; }
  int64_t bytes() const { return rows * rowBytes(); }
};

/// Arithmetic on places of rows, of type index.
struct TileIndices {
  explicit TileIndices(KernelWriter &w) : w(w), b(w.b) {}

  Value plus(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value minus(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value times(Value x, int64_t y) { return arith::MulIOp::create(b, x, w.index(y)); }
  Value least(Value x, Value y) { return arith::MinSIOp::create(b, x, y); }
  Value most(Value x, Value y) { return arith::MaxSIOp::create(b, x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) { return arith::CmpIOp::create(b, predicate, x, y); }
  /// `x` may be null: what has no condition yet.
  Value both(Value x, Value y) { return x ? arith::AndIOp::create(b, x, y).getResult() : y; }

  /// Columns of a fragment that count, by what their number is beyond a first one; null: no limit.
  struct Columns {
    Value from, to;
  };
  void limitTo(Columns &columns, Value to) { columns.to = columns.to ? least(columns.to, to) : to; }
  /// Whether column `number` does; null: any.
  Value counts(const Columns &columns, int64_t number) {
    Value result;
    // Of 32 bits: an instruction with the number in it.
    auto narrow = [&](Value x) { return arith::IndexCastOp::create(b, b.getI32Type(), x).getResult(); };
    if (columns.to)
      result = compare(arith::CmpIPredicate::sgt, narrow(columns.to), w.i32(number));
    if (columns.from)
      result = both(result, compare(arith::CmpIPredicate::sle, narrow(columns.from), w.i32(number)));
    return result;
  }

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
};

class TensorTiles {
public:
  /// `w.kernel.threads` and `blocks` are set.
  explicit TensorTiles(KernelWriter &w);

  using Registers = SmallVector<Value>;

  // ---- Shared memory ----
  /// Declares the kernel's shared memory, of at most kStaticSharedBytes, and returns where it begins.
  Value declareShared(int64_t bytes);
  /// The same of any size, as dynamic shared memory.
  Value dynamicShared(int64_t bytes);
  Value at(Value shared, Value bytes);
  Value at(Value shared, int64_t bytes) { return at(shared, w.i32(bytes)); }
  /// Begins copies of rows `first`, first + 1, ... of `memref`, by all threads of the block. A row past `limit` is the
  /// last one again; no limit: there is none. `indices` are those of a row but the last one.
  void copyRows(Tile tile, Value memref, Value first, std::optional<int64_t> limit,
                function_ref<SmallVector<Value>(Value row)> indices);
  /// Ends a group of copies; waits until at most `pending` groups are under way.
  void endGroup();
  void waitForGroups(unsigned pending);
  void barrier();

  // ---- Fragments ----
  /// A: 16 rows from `row` (an i32) on, columns 16 k to 16 k + 15.
  Registers left(Tile tile, Value row, int64_t k);
  /// The same from memory, where two rows (their indices but the last one) are this lane's.
  Registers left(Value memref, ArrayRef<Value> upper, ArrayRef<Value> lower, int64_t k);
  /// B of two steps k and k + 1 (of one, if `dim` ends there): column n is row 8 n + n' of the tile, its elements are
  /// the row's. Two registers each.
  Registers rightOfRows(Tile tile, int64_t n, int64_t k);
  /// B of columns 8 n to 8 n + 15, two registers each: column n is row n of the tile, of whose elements it has 16 k to
  /// 16 k + 15.
  Registers rightOfRowPairs(Tile tile, int64_t n, int64_t k);
  /// B of columns 8 n to 8 n + 15, two registers each: its rows are rows 16 k to 16 k + 15 of the tile.
  Registers rightOfColumns(Tile tile, int64_t k, int64_t n);
  /// A of a tile that holds it transposed: 16 columns from `column` on are its rows, rows 16 k to 16 k + 15 its
  /// columns.
  Registers leftOfColumns(Tile tile, int64_t k, int64_t column);
  /// A of the columns 16 k to 16 k + 15 of what products gave, rounded: `sums[n]` has columns 8 n to 8 n + 7.
  Registers leftOfSums(ArrayRef<Registers> sums, int64_t k);
  /// c + a b.
  Registers multiply(ValueRange a, Value b0, Value b1, ValueRange c);
  Registers zeros(int64_t count = 4) { return Registers(count, number(0)); }

  // ---- Numbers ----
  Value number(float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z);
  Value max(Value x, Value y) { return arith::MaxNumFOp::create(b, x, y); }
  /// 2^x in the precision of the machine's instruction (2 ulp); subnormal results are 0.
  Value exp2(Value x);
  /// Of the four lanes that have one row.
  Value sumOfRow(Value value);
  Value maximumOfRow(Value value);
  /// Two numbers, rounded, as they lie in memory.
  Value pair(Value x, Value y);
  Value bf16Pair(Value x, Value y);

  Value lane, warp; // of i32

private:
  Value shuffle(Value value, int64_t by);
  Registers matrices(Value address, uint32_t count, bool transposed);
  Value i32Add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value i32Mul(Value x, int64_t y) { return arith::MulIOp::create(b, x, w.i32(y)); }
  Value i32And(Value x, int64_t y) { return arith::AndIOp::create(b, x, w.i32(y)); }
  Value i32Shift(Value x, int64_t y) { return arith::ShRUIOp::create(b, x, w.i32(y)); }

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
  Value thread;
};

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_TENSORTILES_H
