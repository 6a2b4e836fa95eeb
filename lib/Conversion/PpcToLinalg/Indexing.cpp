// Ops that address by index or position.
#include "LoopNest.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

namespace mlir::ppc {
namespace {

/// The row of a table block that an id addresses, and whether the block has it. A row outside becomes 0, safe to read.
struct Row {
  Value valid, index;
};
Row rowOf(ScalarBuilder &b, Value id, Value start, int64_t rows) {
  Value row = b.subIndex(b.toIndex(id), start);
  // Unsigned: a negative row is a very large one.
  Value valid = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, b.index(rows));
  return {valid, b.select(valid, row, b.index(0))};
}

SmallVector<Value> embedding(EmbeddingOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getY());
  int64_t rank = type.getRank(), rows = tensorType(op.getTable()).getDimSize(0);
  Value start = op.getRows() ? blockStart(b, op, op.getRows()->getAxes(), rows) : b.index(0);
  Access ids{op.getIds(), firstLoops(b, rank, rank - 1)};
  return {mapLoops(b, type, ids, [&](ScalarBuilder &s, ValueRange v) -> Value {
    Row row = rowOf(s, v[0], start, rows);
    Value element = tensor::ExtractOp::create(s, op.getTable(), ValueRange{row.index, s.loopIndex(rank - 1)});
    return s.select(row.valid, element, s.number(element.getType(), 0));
  })};
}

/// The tensor to which the single user of `product` adds it, where that is known before: then the gradient can be added
/// there right away.
Value accumulatorOf(Value product) {
  auto add = product.hasOneUse() ? dyn_cast<AddOp>(*product.getUsers().begin()) : AddOp();
  Value other = !add ? Value() : add.getA() == product ? add.getB() : add.getA();
  return other && isa<BlockArgument>(other) ? other : Value();
}

/// Rows collide, so this is a loop over positions that adds one row of dy each, on a tensor that the loop carries.
LogicalResult embeddingBackward(EmbeddingBackwardOp op, PatternRewriter &rewriter) {
  ScalarBuilder b(op.getLoc(), rewriter);
  auto type = tensorType(op.getDtable());
  int64_t rows = type.getDimSize(0), width = type.getDimSize(1), rank = tensorType(op.getIds()).getRank();
  Value start = op.getRows() ? blockStart(b, op, op.getRows()->getAxes(), rows) : b.index(0);
  Value accumulator = accumulatorOf(op.getDtable());
  Value zero = b.index(0), one = b.index(1);
  Value initial = accumulator ? accumulator : filledTensor(b, type, 0);
  SmallVector<Value> upper;
  for (int64_t size : tensorType(op.getIds()).getShape())
    upper.push_back(b.index(size));
  auto positions = scf::buildLoopNest(
      b, b.getLoc(), SmallVector<Value>(rank, zero), upper, SmallVector<Value>(rank, one), initial,
      [&](OpBuilder &nested, Location loc, ValueRange position, ValueRange tables) -> scf::ValueVector {
        ScalarBuilder s(loc, nested);
        Row row = rowOf(s, tensor::ExtractOp::create(s, op.getIds(), position), start, rows);
        auto columns = scf::ForOp::create(
            s, zero, s.index(width), one, tables, [&](OpBuilder &inner, Location, Value column, ValueRange carried) {
              ScalarBuilder e(loc, inner);
              SmallVector<Value> from(position), to{row.index, column};
              from.push_back(column);
              Value gradient = tensor::ExtractOp::create(e, op.getDy(), from);
              gradient = e.select(row.valid, gradient, e.number(gradient.getType(), 0));
              Value sum = e.add(tensor::ExtractOp::create(e, carried[0], to), gradient);
              scf::YieldOp::create(e, ValueRange(tensor::InsertOp::create(e, sum, carried[0], to)));
            });
        return {columns.getResult(0)};
      });
  if (accumulator) { // the sum itself is dead from here on
    Value sum = (*op.getDtable().getUsers().begin())->getResult(0), table = positions.results[0];
    // The loop updates the accumulator, so where the sum was to be written there it is already. Bufferization cannot see
    // this through the loop, and would refuse.
    for (Operation *user : sum.getUsers())
      if (auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(user); write && write.getDest() == accumulator)
        rewriter.replaceAllUsesWith(write.getResult(), table);
    rewriter.replaceAllUsesWith(sum, table);
  }
  rewriter.replaceOp(op, positions.results);
  return success();
}

struct EmbeddingBackwardPattern : OpRewritePattern<EmbeddingBackwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(EmbeddingBackwardOp op, PatternRewriter &rewriter) const override {
    return embeddingBackward(op, rewriter);
  }
};

/// With p in {0, 1} the half of the head dimension and i the pair: y[p, i] = x[p, i] cos + x[1 - p, i] sin * (p ? 1 : -1).
/// Sine and cosine are tables, computed here in f64.
SmallVector<Value> rotary(RotaryOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank(), length = type.getDimSize(1), half = type.getShape().back() / 2;
  Type element = type.getElementType();
  const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
  auto rounded = [&](double value) {
    llvm::APFloat number(value);
    bool inexact;
    number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
    return number;
  };
  SmallVector<llvm::APFloat> cosines, sines;
  for (int64_t position = 0; position < length; ++position)
    for (double frequency : op.getFrequencies()) {
      double angle = (op.getInverse() ? -1.0 : 1.0) * double(position) * frequency;
      cosines.push_back(rounded(std::cos(angle)));
      sines.push_back(rounded(std::sin(angle)));
    }
  auto tableType = RankedTensorType::get({length, half}, element);
  Value cosine = arith::ConstantOp::create(b, tableType, DenseElementsAttr::get(tableType, cosines));
  Value sine = arith::ConstantOp::create(b, tableType, DenseElementsAttr::get(tableType, sines));
  auto signType = RankedTensorType::get({2}, element);
  Value sign = arith::ConstantOp::create(b, signType, DenseElementsAttr::get(signType, {rounded(-1), rounded(1)}));

  // Loops: the dimensions of x but the last, then p, then i.
  int64_t loops = rank + 1, p = rank - 1, i = rank;
  SmallVector<AffineExpr> same, other;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    same.push_back(b.getAffineDimExpr(dim));
  other = same;
  same.push_back(b.getAffineDimExpr(p) * half + b.getAffineDimExpr(i));
  other.push_back((b.getAffineConstantExpr(1) - b.getAffineDimExpr(p)) * half + b.getAffineDimExpr(i));
  AffineMap table = someLoops(b, loops, {1, i});
  Access out{emptyTensor(b, type), AffineMap::get(loops, 0, same, b.getContext())};
  return loopNest(b,
                  {{op.getX(), out.map}, {op.getX(), AffineMap::get(loops, 0, other, b.getContext())}, {cosine, table},
                   {sine, table}, {sign, someLoops(b, loops, {p})}},
                  out, {}, [](ScalarBuilder &s, ValueRange v) {
                    return SmallVector<Value>{s.add(s.mul(v[0], v[2]), s.mul(s.mul(v[1], v[3]), v[4]))};
                  });
}

} // namespace

void populateIndexing(RewritePatternSet &patterns) {
  addPattern<EmbeddingOp>(patterns, embedding);
  patterns.add<EmbeddingBackwardPattern>(patterns.getContext());
  addPattern<RotaryOp>(patterns, rotary);
}

} // namespace mlir::ppc
