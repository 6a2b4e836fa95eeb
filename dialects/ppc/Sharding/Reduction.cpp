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

// Rows are independent; along the last dimension the op is one piece.
static ShardingRule rowRule(Operation *op, bool keepsZero) {
  int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  return ShardingRuleBuilder(op).pointwise().replicate(dimensionNames(rank).back()).keepsZeroPadding(0, keepsZero).build();
}

ShardingRule SoftmaxOp::getShardingRule() { return rowRule(*this, false); }
ShardingRule SoftmaxBackwardOp::getShardingRule() { return rowRule(*this, true); }

ShardingRule RmsNormOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(getType().getRank());
  return ShardingRuleBuilder(*this)
      .operand(0, names)
      .operand(1, {names.back()})
      .result(0, names)
      .replicate(names.back())
      .keepsZeroPadding(0)
      .build();
}

ShardingRule RmsNormInputGradientOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(getType().getRank());
  return ShardingRuleBuilder(*this)
      .operand(0, names)
      .operand(1, {names.back()})
      .operand(2, names)
      .result(0, names)
      .replicate(names.back())
      .linear(Linearity::Each, {2})
      .keepsZeroPadding(0)
      .build();
}

ShardingRule RmsNormWeightGradientOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(tensorType(getX()).getRank());
  return ShardingRuleBuilder(*this)
      .operand(0, names)
      .operand(1, names)
      .result(0, {names.back()})
      .replicate(names.back())
      .linear(Linearity::Each, {1})
      .keepsZeroPadding(0)
      .build();
}
