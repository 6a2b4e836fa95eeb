// Sharding rules of ops that combine along dimensions.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

ShardingRule ReduceOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(tensorType(getX()).getRank()), kept;
  for (auto [i, name] : llvm::enumerate(names))
    if (!llvm::is_contained(getDims(), int64_t(i)))
      kept.push_back(name);
  ShardingRuleBuilder builder(*this);
  builder.operand(0, names).result(0, kept).keepsZeroPadding(0);
  if (getCombiner() == Combiner::Sum)
    return builder.linear(Linearity::Joint, {0}).build();
  for (int64_t dim : getDims()) // zeros in the padding would take part in the maximum
    builder.replicate(names[dim]);
  return builder.build();
}

ShardingRule LogSumExpOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(tensorType(getX()).getRank());
  return ShardingRuleBuilder(*this)
      .operand(0, names)
      .result(0, ArrayRef(names).drop_back())
      .combine(names.back(), Combiner::LogSumExp)
      .build();
}

bool LogSumExpOp::setFactorBlock(unsigned factor, Attribute block) {
  if (getShardingRule().operands[0].back().front() != factor)
    return false;
  setClassesAttr(cast<BlockAttr>(block));
  return true;
}

// Rows are independent; the last dimension cannot be sharded.
static ShardingRuleBuilder rowRule(Operation *op, bool keepsZero) {
  int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  return ShardingRuleBuilder(op).pointwise().replicate(dimensionNames(rank).back()).keepsZeroPadding(0, keepsZero);
}

ShardingRule SoftmaxOp::getShardingRule() { return rowRule(*this, false).build(); }
ShardingRule SoftmaxBackwardOp::getShardingRule() { return rowRule(*this, true).linear(Linearity::Each, {1}).build(); }

// The operands `vectors`, counting the result after them, have the last dimension only; the others are shaped like x.
static ShardingRuleBuilder normRule(Operation *op, RankedTensorType x, ArrayRef<unsigned> vectors) {
  SmallVector<StringRef> names = dimensionNames(x.getRank());
  ShardingRuleBuilder builder(op);
  auto namesOf = [&](unsigned number) {
    return llvm::is_contained(vectors, number) ? ArrayRef<StringRef>(names).take_back() : ArrayRef<StringRef>(names);
  };
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    builder.operand(i, namesOf(i));
  return builder.result(0, namesOf(op->getNumOperands())).replicate(names.back());
}

ShardingRule RmsNormOp::getShardingRule() { return normRule(*this, getType(), {1}).keepsZeroPadding(0).build(); }
ShardingRule RmsNormInputGradientOp::getShardingRule() {
  return normRule(*this, getType(), {1}).linear(Linearity::Each, {2}).keepsZeroPadding(0).build();
}
ShardingRule RmsNormWeightGradientOp::getShardingRule() {
  return normRule(*this, tensorType(getX()), {2}).linear(Linearity::Each, {1}).keepsZeroPadding(0).build();
}

// The bias fills the padding.
ShardingRule LayerNormOp::getShardingRule() { return normRule(*this, getType(), {1, 2}).build(); }
ShardingRule LayerNormInputGradientOp::getShardingRule() {
  return normRule(*this, getType(), {1}).linear(Linearity::Each, {2}).keepsZeroPadding(0).build();
}
ShardingRule LayerNormWeightGradientOp::getShardingRule() {
  return normRule(*this, tensorType(getX()), {2}).linear(Linearity::Each, {1}).keepsZeroPadding(0).build();
}
