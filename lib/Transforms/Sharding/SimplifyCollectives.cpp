// ppc-simplify-collectives: fewer and smaller messages, by algebra. A collective with other uses is never duplicated.
#include "ppc/Transforms/Sharding/Passes.h"

#include "dialects/ppc/Ppc.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SIMPLIFYCOLLECTIVESPASS
#include "ppc/Transforms/Sharding/Passes.h.inc"

namespace {

/// The op that makes `value` when it is a reduction by sum that nobody else reads.
template <typename Reduce> Reduce privateSum(Value value) {
  auto reduce = value.getDefiningOp<Reduce>();
  return reduce && reduce.getCombiner() == Combiner::Sum && value.hasOneUse() ? reduce : nullptr;
}

/// What the slices of a sequence reduce is there one after the other, and each reduces its own.
bool sameSlice(Operation *a, Operation *b) { return a->getAttr(attr::slice) == b->getAttr(attr::slice); }

bool sameGroup(AllReduceOp a, AllReduceOp b) {
  return sameSlice(a, b) && a.getAxes() == b.getAxes() && a.getStagesAttr() == b.getStagesAttr() &&
         a->getBlock() == b->getBlock();
}

/// The pipeline stage of what `value` sums over the micro-batches; null when it is something else.
Attribute accumulatingStage(Value value) {
  auto accumulate = value.getDefiningOp<AccumulateOp>();
  if (!accumulate)
    return {};
  Operation *yield = accumulate.getBody().front().getTerminator();
  Operation *op = yield->getOperand(cast<OpResult>(value).getResultNumber()).getDefiningOp();
  return op ? op->getAttr(attr::stage) : Attribute();
}

/// Blocks of one dimension, of values of one stage: others meet on their way between the stages, as blocks.
bool sameGroup(ReduceScatterOp a, ReduceScatterOp b) {
  return sameSlice(a, b) && a.getAxes() == b.getAxes() && a.getDim() == b.getDim() &&
         a.getX().getType() == b.getX().getType() && a->getBlock() == b->getBlock() &&
         accumulatingStage(a.getX()) == accumulatingStage(b.getX());
}

void copyAttributes(Operation *from, Operation *to) { to->setDiscardableAttrs(from->getDiscardableAttrDictionary()); }

AllReduceOp reduceAs(PatternRewriter &rewriter, AllReduceOp like, Value x) {
  return AllReduceOp::create(rewriter, like.getLoc(), x.getType(), x, like.getAxesAttr(), like.getCombinerAttr(),
                             like.getStagesAttr());
}
ReduceScatterOp reduceAs(PatternRewriter &rewriter, ReduceScatterOp like, Value x) {
  return ReduceScatterOp::create(rewriter, like.getLoc(), like.getType(), x, like.getDimAttr(), like.getAxesAttr(),
                                 like.getCombinerAttr());
}

/// sum(reduce(a), reduce(b), c) -> sum(reduce(sum(a, b)), c), for all_reduce and reduce_scatter
template <typename Reduce> struct MergeReducesOfSum : OpRewritePattern<SumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SumOp op, PatternRewriter &rewriter) const override {
    SmallVector<Reduce> group;
    for (Value input : op.getInputs())
      if (Reduce reduce = privateSum<Reduce>(input);
          reduce && reduce->getBlock() == op->getBlock() && (group.empty() || sameGroup(group.front(), reduce)))
        group.push_back(reduce);
    if (group.size() < 2)
      return rewriter.notifyMatchFailure(op, "fewer than two reductions over one group");
    SmallVector<Value> parts = llvm::map_to_vector(group, [](Reduce reduce) -> Value { return reduce.getX(); });
    SmallVector<Value> rest;
    for (Value input : op.getInputs())
      if (!llvm::is_contained(group, input.getDefiningOp<Reduce>()))
        rest.push_back(input);
    auto partial = SumOp::create(rewriter, op.getLoc(), parts.front().getType(), parts);
    auto reduced = reduceAs(rewriter, group.front(), partial);
    copyAttributes(op, partial);
    copyAttributes(group.front(), reduced);
    rest.insert(rest.begin(), reduced);
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(rest); });
    return success();
  }
};

/// op(reduce(a), reduce(b)) -> reduce(op(a, b)) for add and sub, all_reduce and reduce_scatter
template <typename Op, typename Reduce> struct MergeReducesOfBinary : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Reduce a = privateSum<Reduce>(op.getA()), b = privateSum<Reduce>(op.getB());
    if (!a || !b || !sameGroup(a, b) || a->getBlock() != op->getBlock())
      return rewriter.notifyMatchFailure(op, "operands are not reduced in the same way");
    auto partial = Op::create(rewriter, op.getLoc(), a.getX().getType(), a.getX(), b.getX());
    auto reduced = reduceAs(rewriter, a, partial);
    copyAttributes(op, partial);
    copyAttributes(a, reduced);
    rewriter.replaceOp(op, reduced);
    return success();
  }
};

/// all_reduce over [a] of all_reduce over [b] -> all_reduce over [b, a]
struct MergeNestedReduces : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<AllReduceOp>();
    if (!inner || !inner->hasOneUse() || inner.getCombiner() != op.getCombiner() || inner.getStages() || op.getStages())
      return rewriter.notifyMatchFailure(op, "operand is not reduced in the same way");
    SmallVector<Attribute> axes(inner.getAxes().begin(), inner.getAxes().end());
    for (Attribute axis : op.getAxes()) {
      if (llvm::is_contained(axes, axis)) // the second one multiplies
        return rewriter.notifyMatchFailure(op, "axes overlap");
      axes.push_back(axis);
    }
    rewriter.modifyOpInPlace(op, [&] {
      op.getXMutable().assign(inner.getX());
      op.setAxesAttr(rewriter.getArrayAttr(axes));
    });
    return success();
  }
};

/// local_slice of all_reduce -> reduce_scatter; local_slice of all_gather -> nothing, where blocks are even
struct SimplifySlice : OpRewritePattern<LocalSliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LocalSliceOp op, PatternRewriter &rewriter) const override {
    if (auto reduce = op.getX().getDefiningOp<AllReduceOp>();
        reduce && reduce->hasOneUse() && reduce.getAxes() == op.getAxes() &&
        reduce.getCombiner() != Combiner::LogSumExp && !reduce.getStages() && reduce->getBlock() == op->getBlock()) {
      auto scatter = ReduceScatterOp::create(rewriter, op.getLoc(), op.getType(), reduce.getX(), op.getDimAttr(),
                                             op.getAxesAttr(), reduce.getCombinerAttr());
      copyAttributes(reduce, scatter);
      rewriter.replaceOp(op, scatter);
      return success();
    }
    auto gather = op.getX().getDefiningOp<AllGatherOp>();
    if (gather && gather.getAxes() == op.getAxes() && gather.getDim() == op.getDim() &&
        gather.getX().getType() == op.getType() &&
        gather.getType().getDimSize(op.getDim()) % op.getType().getDimSize(op.getDim()) == 0) {
      rewriter.replaceOp(op, gather.getX());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "operand is neither reduced nor gathered over these axes");
  }
};

/// all_gather of local_slice -> nothing
struct SimplifyGather : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AllGatherOp op, PatternRewriter &rewriter) const override {
    auto slice = op.getX().getDefiningOp<LocalSliceOp>();
    if (!slice || slice.getAxes() != op.getAxes() || slice.getDim() != op.getDim() ||
        slice.getX().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "operand is not sliced over these axes");
    rewriter.replaceOp(op, slice.getX());
    return success();
  }
};

struct SimplifyCollectivesPass : impl::SimplifyCollectivesPassBase<SimplifyCollectivesPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeReducesOfSum<AllReduceOp>, MergeReducesOfBinary<AddOp, AllReduceOp>,
                 MergeReducesOfBinary<SubOp, AllReduceOp>, MergeReducesOfSum<ReduceScatterOp>,
                 MergeReducesOfBinary<AddOp, ReduceScatterOp>, MergeReducesOfBinary<SubOp, ReduceScatterOp>,
                 MergeNestedReduces, SimplifySlice, SimplifyGather>(&getContext());
    GreedyRewriteConfig config;
    config.enableConstantCSE(false); // constants keep the stage that they are in
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
  }
};

} // namespace
} // namespace mlir::ppc
