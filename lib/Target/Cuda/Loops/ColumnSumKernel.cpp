// Sums over rows: a block has 32 neighbouring columns; each of its warps adds up rows of its own, coalesced, and their
// sums are combined in shared memory in order.
#include "lib/Target/Cuda/Writer/KernelWriter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "ppc/Transforms/Fusion/RowRegion.h"

namespace mlir::ppc::cuda {

constexpr int64_t kMostWarps = 16, kFewestRows = 32, kRowsAtOnce = 16;

bool isColumnSum(linalg::GenericOp generic) {
  SmallVector<unsigned> rows, columns;
  generic.getReductionDims(rows);
  generic.getParallelDims(columns);
  if (rows.empty() || columns.empty() || rows.back() > columns.front() || !combinationOf(generic))
    return false;
  int64_t summed = 1;
  for (unsigned dim : rows)
    summed *= generic.getStaticLoopRanges()[dim];
  auto movesAlong = [&](OpOperand &operand) {
    auto pattern = patternOf(generic, operand);
    return pattern && pattern->steps[columns.back()] == 1;
  };
  return summed >= kFewestRows && generic.hasPureBufferSemantics() &&
         llvm::any_of(generic->getOpOperands(), movesAlong);
}

namespace {

class ColumnWriter {
public:
  ColumnWriter(KernelWriter &w, linalg::GenericOp generic)
      : w(w), b(w.b), generic(generic), combination(*combinationOf(generic)), sizes(generic.getStaticLoopRanges()) {
    generic.getReductionDims(rowDims);
    generic.getParallelDims(columnDims);
    rows = sizesOf(rowDims);
    columns = sizesOf(columnDims);
    rowCount = ShapedType::getNumElements(rows);
    columnCount = ShapedType::getNumElements(columns);
    warps = std::min(kMostWarps, rowCount / 2);
  }

  void run() {
    w.kernel.threads = warps * kWarp;
    w.kernel.blocks = llvm::divideCeil(columnCount, kWarp);
    Value lane = arith::AndIOp::create(b, w.thread(), w.i32(kWarp - 1));
    Value warp = arith::ShRUIOp::create(b, w.thread(), w.i32(5));
    Value column =
        arith::AddIOp::create(b, arith::MulIOp::create(b, w.asIndex(w.block()), w.index(kWarp)), w.asIndex(lane));
    bool isWhole = columnCount % kWarp == 0;
    Value inside = isWhole
                       ? Value()
                       : arith::CmpIOp::create(b, arith::CmpIPredicate::ult, column, w.index(columnCount)).getResult();
    // Threads beside the last column sum that one too, and do not write.
    if (!isWhole)
      column = arith::MinUIOp::create(b, column, w.index(columnCount - 1));
    setDims(columnDims, w.delinearize(column, columns));
    Value partial = sumOfWarp(w.asIndex(warp));
    Value base = w.sharedArray(warps * kWarp);
    auto at = [&](Value number) { return w.sharedPlace(base, number); };
    LLVM::StoreOp::create(b, partial, at(w.thread()));
    NVVM::Barrier0Op::create(b);
    enter(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warp, w.i32(0)));
    if (inside)
      enter(inside);
    Value total = LLVM::LoadOp::create(b, b.getF32Type(), at(lane));
    for (int64_t other = 1; other < warps; ++other) {
      Value place = arith::AddIOp::create(b, lane, w.i32(other * kWarp));
      total = combine(total, LLVM::LoadOp::create(b, b.getF32Type(), at(place)));
    }
    OpOperand &output = *generic.getDpsInitsMutable().begin();
    SmallVector<Value> place = w.place(generic, output, dims);
    w.store(combine(w.load(output.get(), place), total), output.get(), place);
  }

private:
  SmallVector<int64_t> sizesOf(ArrayRef<unsigned> of) {
    return llvm::map_to_vector(of, [&](unsigned dim) { return sizes[dim]; });
  }

  void setDims(ArrayRef<unsigned> of, ArrayRef<Value> values) {
    dims.resize(sizes.size(), w.index(0));
    for (auto [dim, value] : llvm::zip(of, values))
      dims[dim] = value;
  }

  void enter(Value condition) {
    auto guard = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(guard.thenBlock());
  }

  Value combine(Value y, Value x) {
    w.map.map(generic.getBody()->getArguments().back(), y);
    w.map.map(combination.x, x);
    return b.clone(*combination.op, w.map)->getResult(0);
  }

  /// Rows warp, warp + warps, ... of this thread's column, in this order, of which several are asked for at a time.
  Value sumOfWarp(Value warp) {
    Value start = arith::ConstantOp::create(b, b.getF32FloatAttr(combination.neutral()));
    int64_t whole = rowCount - rowCount % (warps * kRowsAtOnce);
    if (whole)
      start = sumOfRows(warp, whole, kRowsAtOnce, start);
    if (whole == rowCount)
      return start;
    return sumOfRows(arith::AddIOp::create(b, warp, w.index(whole)), rowCount, 1, start);
  }

  /// The same from row `first` to `end`, `count` rows a turn.
  Value sumOfRows(Value first, int64_t end, int64_t count, Value start) {
    auto loop = scf::ForOp::create(b, first, w.index(end), w.index(warps * count), ValueRange(start));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<SmallVector<Value>> inputs;
    for (int64_t i = 0; i < count; ++i) {
      setRow(arith::AddIOp::create(b, loop.getInductionVar(), w.index(i * warps)));
      inputs.push_back(loadRow());
    }
    Value sum = loop.getRegionIterArgs().front();
    Block &body = *generic.getBody();
    for (auto [i, values] : llvm::enumerate(inputs)) {
      setRow(arith::AddIOp::create(b, loop.getInductionVar(), w.index(int64_t(i) * warps)));
      for (auto [argument, value] : llvm::zip(body.getArguments(), values))
        if (value)
          w.map.map(argument, value);
      for (Operation &inner : body.without_terminator())
        if (&inner != combination.op)
          w.cloneOp(inner, dims);
      sum = combine(sum, w.map.lookup(combination.x));
    }
    scf::YieldOp::create(b, sum);
    return loop.getResult(0);
  }

  void setRow(Value row) { setDims(rowDims, w.delinearize(row, rows)); }

  /// Of each input that is used; null of the others.
  SmallVector<Value> loadRow() {
    SmallVector<Value> values;
    for (OpOperand *input : generic.getDpsInputOperands()) {
      bool isUsed = !generic.getBody()->getArgument(input->getOperandNumber()).use_empty();
      bool isMemory = isa<MemRefType>(input->get().getType());
      values.push_back(!isUsed    ? Value()
                       : isMemory ? w.load(input->get(), w.place(generic, *input, dims))
                                  : w.map.lookup(input->get()));
    }
    return values;
  }

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
  linalg::GenericOp generic;
  Combination combination;
  SmallVector<int64_t> sizes, rows, columns;
  SmallVector<unsigned> rowDims, columnDims;
  int64_t rowCount, columnCount, warps;
  SmallVector<Value> dims;
};

} // namespace

void writeColumnSum(KernelWriter &w, linalg::GenericOp generic) { ColumnWriter(w, generic).run(); }

} // namespace mlir::ppc::cuda
