// Reductions of rows: norms, softmax, losses. The threads of a row take its elements in turns, coalesced and in
// accesses of up to 16 bytes; their partial results are combined by shuffles, and by shared memory where a row has a
// whole block. The tree is fixed: the same bits from run to run.
#include "lib/Target/Cuda/Writer/KernelWriter.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "ppc/Transforms/Fusion/RowRegion.h"

namespace mlir::ppc::cuda {
namespace {

constexpr int64_t kWarpsOfBlock = 8;
/// From this length on a row has a block.
constexpr int64_t kLongRow = 2048;

class RowWriter {
public:
  RowWriter(KernelWriter &w, linalg::GenericOp generic)
      : w(w), b(w.b), generic(generic), combination(*combinationOf(generic)), sizes(generic.getStaticLoopRanges()) {
    SmallVector<unsigned> dims;
    generic.getReductionDims(dims);
    row = dims.front();
    width = vectorWidth(generic, row);
  }

  void run() {
    SmallVector<int64_t> rowSizes;
    SmallVector<unsigned> parallel;
    generic.getParallelDims(parallel);
    for (unsigned dim : parallel)
      rowSizes.push_back(sizes[dim]);
    int64_t rows = ShapedType::getNumElements(rowSizes);
    bool isLong = sizes[row] >= kLongRow;
    int64_t warps = isLong ? 1 : std::min(rows, kWarpsOfBlock / 2); // rows of a block
    w.kernel.threads = isLong ? kWarpsOfBlock * kWarp : warps * kWarp;
    w.kernel.blocks = isLong ? rows : llvm::divideCeil(rows, warps);

    Value thread = w.thread(), lane = arith::AndIOp::create(b, thread, w.i32(kWarp - 1));
    Value number = w.asIndex(w.block());
    if (!isLong) {
      Value warp = w.asIndex(arith::ShRUIOp::create(b, thread, w.i32(5)));
      number = arith::AddIOp::create(b, arith::MulIOp::create(b, number, w.index(warps)), warp);
      if (rows % warps) // a whole warp or nothing of it
        enter(arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, w.index(rows)));
    }
    SmallVector<Value> dims(sizes.size(), w.index(0));
    for (auto [dim, value] : llvm::zip(parallel, w.delinearize(number, rowSizes)))
      dims[dim] = value;
    Value partial = ofThread(dims, w.asIndex(isLong ? thread : lane), isLong ? w.kernel.threads : kWarp);
    Value total = isLong ? ofBlock(ofWarp(partial), thread, lane) : ofWarp(partial);
    enter(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, isLong ? thread : lane, w.i32(0)));
    OpOperand &output = *generic.getDpsInitsMutable().begin();
    SmallVector<Value> place = w.place(generic, output, dims);
    w.store(combine(w.load(output.get(), place), total), output.get(), place);
  }

private:
  void enter(Value condition) {
    auto guard = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(guard.thenBlock());
  }

  Value combine(Value y, Value x) {
    w.map.map(generic.getBody()->getArguments().back(), y);
    w.map.map(combination.x, x);
    return b.clone(*combination.op, w.map)->getResult(0);
  }

  /// The elements first, first + threads, ... of the row, in groups of `width`.
  Value ofThread(SmallVector<Value> dims, Value first, int64_t threads) {
    Value start = arith::ConstantOp::create(b, b.getF32FloatAttr(combination.neutral()));
    auto loop = scf::ForOp::create(b, first, w.index(sizes[row] / width), w.index(threads), ValueRange(start));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value group = arith::MulIOp::create(b, loop.getInductionVar(), w.index(width));
    dims[row] = group;
    SmallVector<Value> loaded;
    SmallVector<bool> moves;
    for (OpOperand *input : generic.getDpsInputOperands()) {
      bool isMemory = isa<MemRefType>(input->get().getType());
      moves.push_back(isMemory && patternOf(generic, *input)->steps[row] != 0);
      loaded.push_back(isMemory ? w.load(input->get(), w.place(generic, *input, dims), moves.back() ? width : 1)
                                : w.map.lookup(input->get()));
    }
    Value sum = loop.getRegionIterArgs().front();
    Block &body = *generic.getBody();
    for (int64_t i = 0; i < width; ++i) {
      dims[row] = arith::AddIOp::create(b, group, w.index(i));
      for (auto [input, value, vector] : llvm::zip(generic.getDpsInputOperands(), loaded, moves)) {
        Value one = vector && width > 1 ? LLVM::ExtractElementOp::create(b, value, w.i32(i)).getResult() : value;
        w.map.map(body.getArgument(input->getOperandNumber()), one);
      }
      for (Operation &inner : body.without_terminator())
        if (&inner != combination.op)
          w.cloneOp(inner, dims);
      sum = combine(sum, w.map.lookup(combination.x));
    }
    scf::YieldOp::create(b, sum);
    return loop.getResult(0);
  }

  Value ofWarp(Value value) {
    for (int64_t by = kWarp / 2; by; by /= 2) {
      Value other = NVVM::ShflOp::create(b, b.getF32Type(), w.i32(-1), value, w.i32(by), w.i32(kWarp - 1),
                                         NVVM::ShflKind::bfly, UnitAttr());
      value = combine(value, other);
    }
    return value;
  }

  /// Of all warps of the block, in thread 0.
  Value ofBlock(Value value, Value thread, Value lane) {
    Value base = w.sharedArray(kWarpsOfBlock);
    auto at = [&](Value number) { return w.sharedPlace(base, number); };
    {
      OpBuilder::InsertionGuard guard(b);
      enter(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, w.i32(0)));
      LLVM::StoreOp::create(b, value, at(arith::ShRUIOp::create(b, thread, w.i32(5))));
    }
    NVVM::Barrier0Op::create(b);
    Value total = LLVM::LoadOp::create(b, b.getF32Type(), at(w.i32(0)));
    for (int64_t warp = 1; warp < kWarpsOfBlock; ++warp)
      total = combine(total, LLVM::LoadOp::create(b, b.getF32Type(), at(w.i32(warp))));
    return total;
  }

  KernelWriter &w;
  ImplicitLocOpBuilder &b;
  linalg::GenericOp generic;
  Combination combination;
  SmallVector<int64_t> sizes;
  unsigned row;
  int64_t width;
};

} // namespace

bool isRowReduction(linalg::GenericOp generic) {
  SmallVector<unsigned> dims;
  generic.getReductionDims(dims);
  if (dims.size() != 1 || !combinationOf(generic) || generic.getStaticLoopRanges()[dims.front()] < kWarp)
    return false;
  bool contiguous = false;
  for (OpOperand *input : generic.getDpsInputOperands()) {
    auto pattern = patternOf(generic, *input);
    if (!pattern)
      return false;
    contiguous |= pattern->steps[dims.front()] == 1;
  }
  return contiguous;
}

void writeRowReduction(KernelWriter &w, linalg::GenericOp generic) { RowWriter(w, generic).run(); }

} // namespace mlir::ppc::cuda
