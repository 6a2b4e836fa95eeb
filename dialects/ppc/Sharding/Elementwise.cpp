// Sharding rules of elementwise ops: every dimension is a loop of its own.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

// f(0, ...) = 0, linear in all operands together.
static ShardingRule linearRule(Operation *op) {
  SmallVector<unsigned> all = llvm::to_vector(llvm::seq<unsigned>(op->getNumOperands()));
  return ShardingRuleBuilder(op).pointwise().linear(Linearity::Joint, all).keepsZeroPadding(0).build();
}
static ShardingRule pointwiseRule(Operation *op, bool keepsZero) {
  return ShardingRuleBuilder(op).pointwise().keepsZeroPadding(0, keepsZero).build();
}

ShardingRule AddOp::getShardingRule() { return linearRule(*this); }
ShardingRule SubOp::getShardingRule() { return linearRule(*this); }
ShardingRule NegOp::getShardingRule() { return linearRule(*this); }
ShardingRule ScaleOp::getShardingRule() { return linearRule(*this); }
ShardingRule SumOp::getShardingRule() { return linearRule(*this); }

ShardingRule MulOp::getShardingRule() {
  return ShardingRuleBuilder(*this).pointwise().linear(Linearity::Each, {0, 1}).keepsZeroPadding(0).build();
}
ShardingRule SiluBackwardOp::getShardingRule() {
  return ShardingRuleBuilder(*this).pointwise().linear(Linearity::Each, {1}).keepsZeroPadding(0).build();
}
ShardingRule GeluBackwardOp::getShardingRule() {
  return ShardingRuleBuilder(*this).pointwise().linear(Linearity::Each, {1}).keepsZeroPadding(0).build();
}
// Rounding a partial sum is not rounding the sum, so nothing partial passes; widening changes no number.
ShardingRule ConvertOp::getShardingRule() { return widens() ? linearRule(*this) : pointwiseRule(*this, true); }

ShardingRule DivOp::getShardingRule() { // no zero padding: 0 / 0
  return ShardingRuleBuilder(*this).pointwise().linear(Linearity::Each, {0}).build();
}
ShardingRule ExpOp::getShardingRule() { return pointwiseRule(*this, false); }
ShardingRule LogOp::getShardingRule() { return pointwiseRule(*this, false); }
ShardingRule SqrtOp::getShardingRule() { return pointwiseRule(*this, true); }
ShardingRule RsqrtOp::getShardingRule() { return pointwiseRule(*this, false); }
ShardingRule SigmoidOp::getShardingRule() { return pointwiseRule(*this, false); }
ShardingRule GeluOp::getShardingRule() { return pointwiseRule(*this, true); }
ShardingRule SiluOp::getShardingRule() { return pointwiseRule(*this, true); }

ShardingRule ConstantOp::getShardingRule() {
  if (!isa<SplatElementsAttr>(getValue()))
    return ShardingRule::none("the elements of a constant differ");
  return pointwiseRule(*this, false);
}
