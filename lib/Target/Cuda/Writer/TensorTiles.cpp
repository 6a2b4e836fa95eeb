#include "TensorTiles.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::ppc::cuda {

constexpr int64_t kChunk = 16; // bytes that one copy moves
constexpr int64_t kChunkElements = 8;

TensorTiles::TensorTiles(KernelWriter &w) : w(w), b(w.b) {
  thread = w.thread();
  lane = i32And(thread, kWarp - 1);
  warp = i32Shift(thread, 5);
}

Value TensorTiles::declareShared(int64_t bytes) {
  assert(bytes <= kStaticSharedBytes);
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), uint64_t(bytes));
  std::string name = w.kernel.name + "_tiles";
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(w.kernels.getBody());
    LLVM::GlobalOp::create(b, type, /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
                           /*alignment=*/kChunk, kSharedSpace);
  }
  return LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace), name);
}

Value TensorTiles::dynamicShared(int64_t bytes) {
  w.kernel.sharedBytes = bytes;
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), 0); // its size is the launch's
  std::string name = w.kernel.name + "_tiles";
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(w.kernels.getBody());
    LLVM::GlobalOp::create(b, type, /*isConstant=*/false, LLVM::Linkage::External, name, Attribute(),
                           /*alignment=*/kChunk, kSharedSpace);
  }
  return LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace), name);
}

Value TensorTiles::at(Value shared, Value bytes) {
  return LLVM::GEPOp::create(b, shared.getType(), b.getI8Type(), shared, ValueRange(bytes));
}

void TensorTiles::copyRows(Tile tile, Value memref, Value first, std::optional<int64_t> limit,
                           function_ref<SmallVector<Value>(Value row)> indices) {
  int64_t chunksOfRow = tile.dim / kChunkElements, chunks = tile.rows * chunksOfRow;
  // Where threads are whole rows, a thread has the same place of each of its rows: addresses differ by constants.
  bool isEven = w.kernel.threads % chunksOfRow == 0;
  Value ownRow = arith::DivUIOp::create(b, thread, w.i32(chunksOfRow));
  Value ownChunk = arith::RemUIOp::create(b, thread, w.i32(chunksOfRow));
  for (int64_t done = 0; done < chunks; done += w.kernel.threads) {
    OpBuilder::InsertionGuard guard(b);
    Value number = i32Add(thread, w.i32(done));
    if (done + w.kernel.threads > chunks) {
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, w.i32(chunks));
      b.setInsertionPointToStart(scf::IfOp::create(b, inside, /*withElseRegion=*/false).thenBlock());
    }
    Value row = ownRow, chunk = ownChunk;
    int64_t later = isEven ? done / chunksOfRow : 0;
    if (!isEven) {
      row = arith::DivUIOp::create(b, number, w.i32(chunksOfRow));
      chunk = arith::RemUIOp::create(b, number, w.i32(chunksOfRow));
    }
    Value to = at(tile.base, i32Add(i32Mul(row, tile.rowBytes()), i32Mul(chunk, kChunk)));
    to = at(to, later * tile.rowBytes());
    Value source = arith::AddIOp::create(b, arith::AddIOp::create(b, first, w.asIndex(row)), w.index(later));
    if (limit) { // of 32 bits: fewer registers
      Value narrow = i32Add(i32Add(arith::IndexCastOp::create(b, b.getI32Type(), first), row), w.i32(later));
      source = w.asIndex(arith::MinSIOp::create(b, narrow, w.i32(*limit - 1)));
    }
    SmallVector<Value> place = indices(source);
    place.push_back(arith::MulIOp::create(b, w.asIndex(chunk), w.index(kChunkElements)));
    NVVM::CpAsyncOp::create(b, to, w.address(memref, place), kChunk, NVVM::LoadCacheModifierKind::CG, Value());
  }
}

void TensorTiles::endGroup() { NVVM::CpAsyncCommitGroupOp::create(b); }
void TensorTiles::waitForGroups(unsigned pending) { NVVM::CpAsyncWaitGroupOp::create(b, pending); }
void TensorTiles::barrier() { NVVM::Barrier0Op::create(b); }

TensorTiles::Registers TensorTiles::matrices(Value address, uint32_t count, bool transposed) {
  Type word = b.getI32Type();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, word));
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value loaded =
      NVVM::LdMatrixOp::create(b, type, address, count, transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row, shape,
                               NVVM::LdStMatrixEltType::B16);
  Registers words;
  for (uint32_t i = 0; i < count; ++i)
    words.push_back(LLVM::ExtractValueOp::create(b, loaded, int64_t(i)));
  return words;
}

TensorTiles::Registers TensorTiles::left(Tile tile, Value row, int64_t k) {
  // Lanes 0 to 7 name the rows of the first matrix, and so on: upper left, lower left, upper right, lower right.
  Value own = i32Add(row, i32And(lane, 15));
  Value bytes = i32Add(i32Mul(own, tile.rowBytes()), i32Mul(i32Shift(lane, 4), kChunk));
  return matrices(at(tile.base, i32Add(bytes, w.i32(2 * k * kChunk))), 4, false);
}

TensorTiles::Registers TensorTiles::left(Value memref, ArrayRef<Value> upper, ArrayRef<Value> lower, int64_t k) {
  Registers words;
  for (int64_t half : {0, 1})
    for (ArrayRef<Value> row : {upper, lower}) {
      SmallVector<Value> place(row);
      Value column = i32Add(i32Mul(i32And(lane, 3), 2), w.i32(16 * k + 8 * half));
      place.push_back(w.asIndex(column));
      words.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), w.load(memref, place, 2)));
    }
  return words;
}

TensorTiles::Registers TensorTiles::rightOfRows(Tile tile, int64_t n, int64_t k) {
  bool both = 16 * (k + 2) <= tile.dim;
  Value chunk = i32And(i32Shift(lane, 3), both ? 3 : 1);
  Value bytes = i32Add(i32Mul(i32And(lane, 7), tile.rowBytes()), i32Mul(chunk, kChunk));
  return matrices(at(tile.base, i32Add(bytes, w.i32(8 * n * tile.rowBytes() + 2 * k * kChunk))), both ? 4 : 2, false);
}

TensorTiles::Registers TensorTiles::rightOfRowPairs(Tile tile, int64_t n, int64_t k) {
  // Lanes 0 to 15 name the first eight rows, for the first and the second half of the elements; the others the next
  // rows.
  Value row = i32Add(i32Mul(i32Shift(lane, 4), 8), i32And(lane, 7));
  Value bytes = i32Add(i32Mul(row, tile.rowBytes()), i32Mul(i32And(i32Shift(lane, 3), 1), kChunk));
  return matrices(at(tile.base, i32Add(bytes, w.i32(8 * n * tile.rowBytes() + 2 * k * kChunk))), 4, false);
}

TensorTiles::Registers TensorTiles::rightOfColumns(Tile tile, int64_t k, int64_t n) {
  Value bytes = i32Add(i32Mul(i32And(lane, 15), tile.rowBytes()), i32Mul(i32Shift(lane, 4), kChunk));
  return matrices(at(tile.base, i32Add(bytes, w.i32(16 * k * tile.rowBytes() + n * kChunk))), 4, true);
}

TensorTiles::Registers TensorTiles::leftOfColumns(Tile tile, int64_t k, int64_t column) {
  // The same matrices as `left`, each turned: lanes 8 to 15 name the rows of the columns beside the first ones.
  Value row = i32Add(i32Mul(i32Shift(lane, 4), 8), i32And(lane, 7));
  Value bytes = i32Add(i32Mul(row, tile.rowBytes()), i32Mul(i32And(i32Shift(lane, 3), 1), kChunk));
  return matrices(at(tile.base, i32Add(bytes, w.i32(16 * k * tile.rowBytes() + 2 * column))), 4, true);
}

TensorTiles::Registers TensorTiles::leftOfSums(ArrayRef<Registers> sums, int64_t k) {
  const Registers &one = sums[2 * k], &other = sums[2 * k + 1];
  return {pair(one[0], one[1]), pair(one[2], one[3]), pair(other[0], other[1]), pair(other[2], other[3])};
}

TensorTiles::Registers TensorTiles::multiply(ValueRange a, Value b0, Value b1, ValueRange c) {
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  std::array<NVVM::MMATypes, 2> types{NVVM::MMATypes::bf16, NVVM::MMATypes::bf16};
  std::array<NVVM::MMALayout, 2> layouts{NVVM::MMALayout::row, NVVM::MMALayout::col};
  Value sum =
      NVVM::MmaOp::create(b, type, a, {b0, b1}, c, {16, 8, 16}, std::nullopt, std::nullopt, types, layouts).getRes();
  Registers result;
  for (int64_t i = 0; i < 4; ++i)
    result.push_back(LLVM::ExtractValueOp::create(b, sum, i));
  return result;
}

Value TensorTiles::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, x, y, z); }

Value TensorTiles::exp2(Value x) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), x)
      .getResult(0);
}

Value TensorTiles::shuffle(Value value, int64_t by) {
  return NVVM::ShflOp::create(b, b.getF32Type(), w.i32(-1), value, w.i32(by), w.i32(kWarp - 1), NVVM::ShflKind::bfly,
                              UnitAttr());
}
Value TensorTiles::sumOfRow(Value value) {
  value = add(value, shuffle(value, 1));
  return add(value, shuffle(value, 2));
}
Value TensorTiles::maximumOfRow(Value value) {
  value = max(value, shuffle(value, 1));
  return max(value, shuffle(value, 2));
}

Value TensorTiles::bf16Pair(Value x, Value y) {
  Value both = LLVM::UndefOp::create(b, VectorType::get({2}, b.getF32Type()));
  both = LLVM::InsertElementOp::create(b, both, x, w.i32(0));
  both = LLVM::InsertElementOp::create(b, both, y, w.i32(1));
  return arith::TruncFOp::create(b, VectorType::get({2}, b.getBF16Type()), both);
}
Value TensorTiles::pair(Value x, Value y) { return LLVM::BitcastOp::create(b, b.getI32Type(), bf16Pair(x, y)); }

} // namespace mlir::ppc::cuda
