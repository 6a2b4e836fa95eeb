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


/// The op that makes `value` when it is an all_reduce by sum that nobody else reads.
AllReduceOp privateSum(Value value) {
  auto reduce = value.getDefiningOp<AllReduceOp>();
  return reduce && reduce.getCombiner() == Combiner::Sum && value.hasOneUse() ? reduce : nullptr;
}

bool sameGroup(AllReduceOp a, AllReduceOp b) {
  return a.getAxes() == b.getAxes() && a.getStagesAttr() == b.getStagesAttr() && a->getBlock() == b->getBlock();
}

void copyAttributes(Operation *from, Operation *to) { to->setDiscardableAttrs(from->getDiscardableAttrDictionary()); }

/// sum(all_reduce(a), all_reduce(b), c) -> sum(all_reduce(sum(a, b)), c)
struct MergeReducesOfSum : OpRewritePattern<SumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SumOp op, PatternRewriter &rewriter) const override {
    SmallVector<AllReduceOp> group;
    for (Value input : op.getInputs())
      if (AllReduceOp reduce = privateSum(input);
          reduce && reduce->getBlock() == op->getBlock() && (group.empty() || sameGroup(group.front(), reduce)))
        group.push_back(reduce);
    if (group.size() < 2)
      return rewriter.notifyMatchFailure(op, "fewer than two reductions over one group");
    SmallVector<Value> parts = llvm::map_to_vector(group, [](AllReduceOp reduce) -> Value { return reduce.getX(); });
    SmallVector<Value> rest;
    for (Value input : op.getInputs())
      if (!llvm::is_contained(group, input.getDefiningOp<AllReduceOp>()))
        rest.push_back(input);
    auto partial = SumOp::create(rewriter, op.getLoc(), op.getType(), parts);
    auto reduced = AllReduceOp::create(rewriter, op.getLoc(), op.getType(), partial, group.front().getAxesAttr(),
                                       group.front().getCombinerAttr(), group.front().getStagesAttr());
    copyAttributes(op, partial);
    copyAttributes(group.front(), reduced);
    rest.insert(rest.begin(), reduced);
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(rest); });
    return success();
  }
};

/// op(all_reduce(a), all_reduce(b)) -> all_reduce(op(a, b)) for add and sub
template <typename Op>
struct MergeReducesOfBinary : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    AllReduceOp a = privateSum(op.getA()), b = privateSum(op.getB());
    if (!a || !b || !sameGroup(a, b) || a->getBlock() != op->getBlock())
      return rewriter.notifyMatchFailure(op, "operands are not reduced alike");
    auto partial = Op::create(rewriter, op.getLoc(), op.getType(), a.getX(), b.getX());
    auto reduced = AllReduceOp::create(rewriter, op.getLoc(), op.getType(), partial, a.getAxesAttr(), a.getCombinerAttr(),
                                       a.getStagesAttr());
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
      return rewriter.notifyMatchFailure(op, "operand is not reduced alike");
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
        reduce && reduce->hasOneUse() && reduce.getAxes() == op.getAxes() && reduce.getCombiner() != Combiner::LogSumExp &&
        !reduce.getStages() && reduce->getBlock() == op->getBlock()) {
      auto scatter = ReduceScatterOp::create(rewriter, op.getLoc(), op.getType(), reduce.getX(), op.getDimAttr(), op.getAxesAttr(),
                                             reduce.getCombinerAttr());
      copyAttributes(reduce, scatter);
      rewriter.replaceOp(op, scatter);
      return success();
    }
    auto gather = op.getX().getDefiningOp<AllGatherOp>();
    if (gather && gather.getAxes() == op.getAxes() && gather.getDim() == op.getDim() && gather.getX().getType() == op.getType() &&
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
    if (!slice || slice.getAxes() != op.getAxes() || slice.getDim() != op.getDim() || slice.getX().getType() != op.getType())
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
    patterns.add<MergeReducesOfSum, MergeReducesOfBinary<AddOp>, MergeReducesOfBinary<SubOp>, MergeNestedReduces, SimplifySlice,
                 SimplifyGather>(&getContext());
    GreedyRewriteConfig config;
    config.enableConstantCSE(false); // constants keep the stage that they are in
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
  }
};

} // namespace
} // namespace mlir::ppc
