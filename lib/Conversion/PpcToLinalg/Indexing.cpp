// Ops that address by index or position.
#include "LoopNest.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <map>

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
        Value id = tensor::ExtractOp::create(s, op.getIds(), position);
        Row row = rowOf(s, id, start, rows);
        if (std::optional<uint64_t> skipped = op.getPaddingIndex())
          row.valid = arith::AndIOp::create(
              s, row.valid,
              arith::CmpIOp::create(s, arith::CmpIPredicate::ne, s.toIndex(id), s.index(int64_t(*skipped))));
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
    // The loop updates the accumulator, so where the sum was to be written there it is already. Bufferization cannot
    // see this through the loop, and would refuse.
    for (Operation *user : sum.getUsers())
      if (auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(user);
          write && write.getDest() == accumulator)
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

/// Cosines and sines of the angles of positions, [position, pair], which most of the ops of a program share.
class RotaryAngles {
public:
  struct Table {
    std::vector<double> cosines, sines;
  };
  const Table &of(RotaryOp op, int64_t positions) {
    auto [at, isNew] = tables.try_emplace({op.getFrequenciesAttr().getAsOpaquePointer(), op.getStart(), positions});
    Table &table = at->second;
    if (isNew)
      for (int64_t position = 0; position < positions; ++position)
        for (double frequency : op.getFrequencies()) {
          double angle = double(int64_t(op.getStart()) + position) * frequency;
          table.cosines.push_back(std::cos(angle));
          table.sines.push_back(std::sin(angle));
        }
    return table;
  }

private:
  std::map<std::tuple<const void *, uint64_t, int64_t>, Table> tables;
};

/// y[j] = x[j] cosine[j] + x[partner[j]] sine[j] for each element j of a row: the tables hold signs, and 1 and 0 where
/// an element stays. Computed here in f64. Where positions are cut, the constants are of all blocks, with zeros in the
/// padding, and each rank takes its rows.
struct RotaryTables {
  Value cosine, sine; // [position, element], the elements in the shape `row`
  SmallVector<int64_t> partner;
};
RotaryTables rotaryTables(RotaryOp op, RotaryAngles &angles, ScalarBuilder &b, ArrayRef<int64_t> row) {
  auto type = tensorType(op.getX());
  std::optional<BlockAttr> block = op.getPositions();
  int64_t local = type.getDimSize(1), width = type.getShape().back(), extent = block ? block->getExtent() : local;
  int64_t length = block ? local * groupSize(op, block->getAxes(), extent, local) : local;
  Value start = block ? blockStart(b, op, block->getAxes(), local) : Value();
  Type element = sumType(type.getElementType());
  auto constant = [&](ArrayRef<double> values) -> Value {
    SmallVector<int64_t> shape{length};
    llvm::append_range(shape, row);
    auto tableType = RankedTensorType::get(shape, element);
    auto table = element.isF64()
                     ? DenseElementsAttr::get(tableType, values)
                     : DenseElementsAttr::get(tableType, ArrayRef(std::vector<float>(values.begin(), values.end())));
    Value all = arith::ConstantOp::create(b, tableType, table);
    if (!block)
      return all;
    shape.front() = local;
    return mapLoops(b, RankedTensorType::get(shape, element), {}, [&](ScalarBuilder &s, ValueRange) -> Value {
      SmallVector<Value> at{s.addIndex(start, s.loopIndex(0))};
      for (size_t i = 1; i < shape.size(); ++i)
        at.push_back(s.loopIndex(i));
      return tensor::ExtractOp::create(s, all, at);
    });
  };
  std::vector<double> cosines(length * width, 0), sines(length * width, 0);
  std::fill(cosines.begin(), cosines.begin() + extent * width, 1);
  RotaryTables tables;
  tables.partner = llvm::to_vector(llvm::seq<int64_t>(0, width));
  const RotaryAngles::Table &table = angles.of(op, extent);
  int64_t pairs = int64_t(op.getFrequencies().size());
  for (int64_t i = 0; i < pairs; ++i) {
    auto [first, second] = op.pair(i);
    std::swap(tables.partner[first], tables.partner[second]);
    for (int64_t position = 0; position < extent; ++position) {
      double cosine = table.cosines[position * pairs + i], sine = table.sines[position * pairs + i];
      cosines[position * width + first] = cosines[position * width + second] = cosine;
      sines[position * width + first] = op.getInverse() ? sine : -sine;
      sines[position * width + second] = op.getInverse() ? -sine : sine;
    }
  }
  tables.cosine = constant(cosines);
  tables.sine = constant(sines);
  return tables;
}

SmallVector<Value> rotary(RotaryOp op, RotaryAngles &angles, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank(), half = op.getFrequencies().size(), width = type.getShape().back();
  auto rotate = [](ScalarBuilder &s, Value x, Value partner, Value cosine, Value sine) {
    return s.add(s.mul(x, cosine), s.mul(partner, sine));
  };
  if (width != 2 * half) { // partners by a table
    RotaryTables tables = rotaryTables(op, angles, b, {width});
    auto partnerType = RankedTensorType::get({width}, b.getI64Type());
    Value partner =
        arith::ConstantOp::create(b, partnerType, DenseElementsAttr::get(partnerType, ArrayRef(tables.partner)));
    AffineMap table = someLoops(b, rank, {1, rank - 1});
    return {mapLoops(b, type,
                     {{op.getX(), allLoops(b, rank)},
                      {tables.cosine, table},
                      {tables.sine, table},
                      {partner, someLoops(b, rank, {rank - 1})}},
                     [&](ScalarBuilder &s, ValueRange v) {
                       SmallVector<Value> index;
                       for (int64_t dim = 0; dim + 1 < rank; ++dim)
                         index.push_back(s.loopIndex(dim));
                       index.push_back(s.toIndex(v[3]));
                       Value other = tensor::ExtractOp::create(s, op.getX(), index);
                       return rotate(s, v[0], convertFloat(s, other, v[0].getType()), v[1], v[2]);
                     })};
  }
  // Loops: the dimensions of x but the last, then p in {0, 1}, which of a pair, then i, the pair.
  int64_t loops = rank + 1;
  bool interleaved = op.getInterleaved();
  RotaryTables tables =
      rotaryTables(op, angles, b, interleaved ? ArrayRef<int64_t>{half, 2} : ArrayRef<int64_t>{2, half});
  AffineMap table = interleaved ? someLoops(b, loops, {1, rank, rank - 1}) : someLoops(b, loops, {1, rank - 1, rank});
  AffineExpr p = b.getAffineDimExpr(rank - 1), i = b.getAffineDimExpr(rank);
  auto element = [&](AffineExpr which) {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim = 0; dim + 1 < rank; ++dim)
      exprs.push_back(b.getAffineDimExpr(dim));
    exprs.push_back(interleaved ? i * 2 + which : which * half + i);
    return AffineMap::get(loops, 0, exprs, b.getContext());
  };
  Access out{emptyTensor(b, type), element(p)};
  return loopNest(
      b,
      {{op.getX(), element(p)},
       {op.getX(), element(b.getAffineConstantExpr(1) - p)},
       {tables.cosine, table},
       {tables.sine, table}},
      out, {}, [&](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{rotate(s, v[0], v[1], v[2], v[3])}; });
}

struct RotaryPattern : OpRewritePattern<RotaryOp> {
  explicit RotaryPattern(MLIRContext *context)
      : OpRewritePattern<RotaryOp>(context), angles(std::make_unique<RotaryAngles>()) {}

  LogicalResult matchAndRewrite(RotaryOp op, PatternRewriter &rewriter) const override {
    ScalarBuilder builder(op.getLoc(), rewriter);
    rewriter.replaceOp(op, rotary(op, *angles, builder));
    return success();
  }
  std::unique_ptr<RotaryAngles> angles; // of one module, which one thread converts
};

} // namespace

void populateIndexing(RewritePatternSet &patterns) {
  addPattern<EmbeddingOp>(patterns, embedding);
  patterns.add<EmbeddingBackwardPattern>(patterns.getContext());
  patterns.add<RotaryPattern>(patterns.getContext());
}

} // namespace mlir::ppc
