// Brings collectives into the forms that the runtime has (blocks along a leading dimension, sum and max): the rest is
// rearranging elements and arithmetic.
#include "LoopNest.h"

namespace mlir::ppc {
namespace {

/// M + ln(sum e^(x - M)) with M the maximum over ranks.
LogicalResult combineLogSumExp(AllReduceOp op, PatternRewriter &rewriter) {
  if (op.getCombiner() != Combiner::LogSumExp)
    return rewriter.notifyMatchFailure(op, "the runtime has this combiner");
  ScalarBuilder b(op.getLoc(), rewriter);
  auto type = tensorType(op.getX());
  AffineMap all = allLoops(b, type.getRank());
  Value maximum = AllReduceOp::create(b, type, op.getX(), op.getAxesAttr(),
                                      CombinerAttr::get(b.getContext(), Combiner::Max), op.getStagesAttr());
  Value power = mapLoops(b, type, {{op.getX(), all}, {maximum, all}},
                         [](ScalarBuilder &s, ValueRange v) { return s.exp(s.sub(v[0], v[1])); });
  Value sum = AllReduceOp::create(b, type, power, op.getAxesAttr(), CombinerAttr::get(b.getContext(), Combiner::Sum),
                                  op.getStagesAttr());
  rewriter.replaceOp(op, mapLoops(b, type, {{maximum, all}, {sum, all}},
                                  [](ScalarBuilder &s, ValueRange v) { return s.add(v[0], s.log(v[1])); }));
  return success();
}

/// `x` with a leading dimension of size 1, and without it.
Value addUnit(ScalarBuilder &b, Value x) {
  auto type = tensorType(x);
  SmallVector<int64_t> shape{1};
  llvm::append_range(shape, type.getShape());
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    groups.push_back(dim == 0 ? ReassociationIndices{0, 1} : ReassociationIndices{dim + 1});
  return tensor::ExpandShapeOp::create(b, withShape(type, shape), x, groups);
}
Value dropUnit(ScalarBuilder &b, Value x) {
  auto type = tensorType(x);
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    groups.push_back(dim == 1 ? ReassociationIndices{0, 1} : ReassociationIndices{dim});
  return tensor::CollapseShapeOp::create(b, withShape(type, type.getShape().drop_front()), x, groups);
}

/// `x` as `parts` blocks of `block` elements of dimension `dim` along a new leading dimension; elements past the end
/// are 0.
Value split(ScalarBuilder &b, Value x, int64_t dim, int64_t parts, int64_t block) {
  auto type = tensorType(x);
  int64_t rank = type.getRank(), extent = type.getDimSize(dim);
  SmallVector<int64_t> shape{parts};
  llvm::append_range(shape, type.getShape());
  shape[dim + 1] = block;
  auto result = withShape(type, shape);
  if (extent == parts * block) {
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < rank; ++i)
      exprs.push_back(b.getAffineDimExpr(i + 1));
    exprs[dim] = b.getAffineDimExpr(0) * block + exprs[dim];
    return mapLoops(b, result, Access{x, AffineMap::get(rank + 1, 0, exprs, b.getContext())},
                    [](ScalarBuilder &, ValueRange v) { return v[0]; });
  }
  return mapLoops(b, result, {}, [&](ScalarBuilder &s, ValueRange) -> Value {
    SmallVector<Value> position;
    for (int64_t i = 0; i < rank; ++i)
      position.push_back(s.loopIndex(i + 1));
    Value index = s.addIndex(arith::MulIOp::create(s, s.loopIndex(0), s.index(block)), position[dim]);
    Value valid = s.less(index, s.index(extent));
    position[dim] = s.select(valid, index, s.index(0));
    Value element = tensor::ExtractOp::create(s, x, position);
    Value zero = arith::ConstantOp::create(s, cast<TypedAttr>(s.getZeroAttr(element.getType())));
    return s.select(valid, element, zero);
  });
}

/// The inverse of split(): `blocks` have a leading dimension that moves before dimension `dim` of the result; padding
/// is dropped.
Value join(ScalarBuilder &b, Value blocks, int64_t dim, RankedTensorType result) {
  auto type = tensorType(blocks);
  int64_t rank = result.getRank(), block = type.getDimSize(dim + 1);
  if (result.getDimSize(dim) == type.getDimSize(0) * block) {
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < rank; ++i)
      exprs.push_back(b.getAffineDimExpr(i + 1));
    exprs[dim] = b.getAffineDimExpr(0) * block + exprs[dim];
    Access out{emptyTensor(b, result), AffineMap::get(rank + 1, 0, exprs, b.getContext())};
    return loopNest(b, Access{blocks, allLoops(b, rank + 1)}, out, {},
                    [](ScalarBuilder &, ValueRange v) { return SmallVector<Value>{v[0]}; })[0];
  }
  return mapLoops(b, result, {}, [&](ScalarBuilder &s, ValueRange) -> Value {
    Value size = s.index(block), index = s.loopIndex(dim);
    SmallVector<Value> position{arith::DivUIOp::create(s, index, size)};
    for (int64_t i = 0; i < rank; ++i)
      position.push_back(i == dim ? Value(arith::RemUIOp::create(s, index, size)) : s.loopIndex(i));
    return tensor::ExtractOp::create(s, blocks, position);
  });
}

/// True if the runtime supports it directly: the blocks are the leading dimension, none is padded.
bool isDirect(int64_t dim, int64_t whole, int64_t block, int64_t ranks) { return dim == 0 && whole == block * ranks; }

/// True if only dimensions of size 1 precede `dim` and no block is padded: without them it is the leading one.
bool leadsBehindUnits(RankedTensorType whole, int64_t dim, int64_t block, int64_t ranks) {
  return dim > 0 && whole.getDimSize(dim) == block * ranks &&
         llvm::all_of(whole.getShape().take_front(dim), [](int64_t extent) { return extent == 1; });
}

/// `type` without its first `dim` dimensions, which have size 1, and the groups of dimensions that lead there.
RankedTensorType withoutUnits(RankedTensorType type, int64_t dim) {
  return withShape(type, type.getShape().drop_front(dim));
}
SmallVector<ReassociationIndices> unitGroups(int64_t rank, int64_t dim) {
  SmallVector<ReassociationIndices> groups{llvm::to_vector<2>(llvm::seq<int64_t>(0, dim + 1))};
  for (int64_t i = dim + 1; i < rank; ++i)
    groups.push_back({i});
  return groups;
}

LogicalResult gather(AllGatherOp op, PatternRewriter &rewriter) {
  auto in = tensorType(op.getX()), out = tensorType(op.getY());
  int64_t dim = op.getDim(), block = in.getDimSize(dim),
          ranks = groupSize(op, op.getAxes(), out.getDimSize(dim), block);
  if (isDirect(dim, out.getDimSize(dim), block, ranks))
    return rewriter.notifyMatchFailure(op, "the runtime has this form");
  ScalarBuilder b(op.getLoc(), rewriter);
  if (leadsBehindUnits(out, dim, block, ranks)) {
    SmallVector<ReassociationIndices> groups = unitGroups(in.getRank(), dim);
    Value flat = tensor::CollapseShapeOp::create(b, withoutUnits(in, dim), op.getX(), groups);
    Value whole = AllGatherOp::create(b, withoutUnits(out, dim), flat, b.getI64IntegerAttr(0), op.getAxesAttr());
    rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, out, whole, groups);
    return success();
  }
  SmallVector<int64_t> shape{ranks};
  llvm::append_range(shape, in.getShape());
  Value blocks =
      AllGatherOp::create(b, withShape(in, shape), addUnit(b, op.getX()), b.getI64IntegerAttr(0), op.getAxesAttr());
  rewriter.replaceOp(op, join(b, blocks, dim, out));
  return success();
}

LogicalResult scatter(ReduceScatterOp op, PatternRewriter &rewriter) {
  auto in = tensorType(op.getX()), out = tensorType(op.getY());
  int64_t dim = op.getDim(), block = out.getDimSize(dim),
          ranks = groupSize(op, op.getAxes(), in.getDimSize(dim), block);
  if (isDirect(dim, in.getDimSize(dim), block, ranks))
    return rewriter.notifyMatchFailure(op, "the runtime has this form");
  ScalarBuilder b(op.getLoc(), rewriter);
  if (leadsBehindUnits(in, dim, block, ranks)) {
    SmallVector<ReassociationIndices> groups = unitGroups(in.getRank(), dim);
    Value flat = tensor::CollapseShapeOp::create(b, withoutUnits(in, dim), op.getX(), groups);
    Value mine = ReduceScatterOp::create(b, withoutUnits(out, dim), flat, b.getI64IntegerAttr(0), op.getAxesAttr(),
                                         op.getCombinerAttr());
    rewriter.replaceOpWithNewOp<tensor::ExpandShapeOp>(op, out, mine, groups);
    return success();
  }
  SmallVector<int64_t> shape{1};
  llvm::append_range(shape, out.getShape());
  Value mine = ReduceScatterOp::create(b, withShape(out, shape), split(b, op.getX(), dim, ranks, block),
                                       b.getI64IntegerAttr(0), op.getAxesAttr(), op.getCombinerAttr());
  rewriter.replaceOp(op, dropUnit(b, mine));
  return success();
}

SmallVector<Value> localSlice(LocalSliceOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getY());
  int64_t dim = op.getDim(), extent = tensorType(op.getX()).getDimSize(dim);
  Value start = blockStart(b, op, op.getAxes(), type.getDimSize(dim));
  return {mapLoops(b, type, {}, [&](ScalarBuilder &s, ValueRange) -> Value {
    SmallVector<Value> position;
    for (int64_t i = 0; i < type.getRank(); ++i)
      position.push_back(s.loopIndex(i));
    Value index = s.addIndex(start, position[dim]), valid = s.less(index, s.index(extent));
    position[dim] = s.select(valid, index, s.index(0));
    Value element = tensor::ExtractOp::create(s, op.getX(), position);
    Value zero = arith::ConstantOp::create(s, cast<TypedAttr>(s.getZeroAttr(element.getType())));
    return s.select(valid, element, zero);
  })};
}

/// The runtime supports an exchange that splits and concatenates dimension 0 of blocks; anything else becomes one.
LogicalResult exchange(AllToAllOp op, PatternRewriter &rewriter) {
  auto in = tensorType(op.getX()), out = tensorType(op.getY());
  int64_t cut = op.getSplitDim(), joined = op.getConcatDim(), ranks = in.getDimSize(cut) / out.getDimSize(cut);
  // [ranks, 1, ...] to [1, ranks, ...], split 0 concat 1, moves whole blocks: the runtime's form.
  if (cut == 0 && joined == 1 && in.getDimSize(0) == ranks && in.getDimSize(1) == 1)
    return rewriter.notifyMatchFailure(op, "the runtime has this form");
  ScalarBuilder b(op.getLoc(), rewriter);
  Value blocks = split(b, op.getX(), cut, ranks, out.getDimSize(cut)); // [ranks, ...]
  auto type = tensorType(blocks);
  SmallVector<int64_t> before{ranks, 1}, after{1, ranks};
  llvm::append_range(before, type.getShape().drop_front());
  llvm::append_range(after, type.getShape().drop_front());
  SmallVector<ReassociationIndices> front{{0, 1}};
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    front.push_back({dim + 1});
  blocks = tensor::ExpandShapeOp::create(b, withShape(type, before), blocks, front);
  blocks = AllToAllOp::create(b, withShape(type, after), blocks, b.getI64IntegerAttr(0), b.getI64IntegerAttr(1),
                              op.getAxesAttr());
  blocks = tensor::CollapseShapeOp::create(b, type, blocks, front);
  rewriter.replaceOp(op, join(b, blocks, joined, out));
  return success();
}

template <typename OpTy, LogicalResult (*rewrite)(OpTy, PatternRewriter &)>
struct RewriteFunction : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override { return rewrite(op, rewriter); }
};

} // namespace

void populateCollective(RewritePatternSet &patterns) {
  patterns.add<RewriteFunction<AllReduceOp, combineLogSumExp>, RewriteFunction<AllGatherOp, gather>,
               RewriteFunction<ReduceScatterOp, scatter>, RewriteFunction<AllToAllOp, exchange>>(patterns.getContext());
  addPattern<LocalSliceOp>(patterns, localSlice);
}

} // namespace mlir::ppc
