// Sharding rules of routing. Batches and hidden may be cut, and experts: each device then sends out, or adds up, the
// tokens of its own. Tokens of a batch wait in one queue for slots and stay together.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

ShardingRule TopKOp::getShardingRule() {
  SmallVector<StringRef> row = dimensionNames(tensorType(getScores()).getRank()), chosen(row);
  row.back() = "e";
  chosen.back() = "k";
  ShardingRuleBuilder builder(*this);
  builder.operand(0, row);
  if (getBias())
    builder.operand(1, {"e"});
  return builder.result(0, chosen).result(1, chosen).replicate("e").replicate("k").keepsZeroPadding(0).build();
}

ShardingRule TopKBackwardOp::getShardingRule() {
  SmallVector<StringRef> row = dimensionNames(getType().getRank()), chosen(row);
  row.back() = "e";
  chosen.back() = "k";
  return ShardingRuleBuilder(*this)
      .operand(0, chosen)
      .operand(1, chosen)
      .result(0, row)
      .replicate("e")
      .linear(Linearity::Each, {1})
      .keepsZeroPadding(0)
      .build();
}

static const SmallVector<StringRef> kTokens = {"b", "s", "h"}, kChoices = {"b", "s", "k"},
                                    kSlots = {"b", "e", "c", "h"};

static ShardingRule routingRule(ShardingRuleBuilder builder, ArrayRef<unsigned> linear) {
  return builder.replicate("s")
      .replicate("k")
      .replicate("c")
      .linear(Linearity::Each, linear)
      .keepsZeroPadding(0)
      .build();
}

ShardingRule DispatchOp::getShardingRule() {
  ShardingRuleBuilder builder(*this);
  builder.operand(0, kTokens).operand(1, kChoices);
  if (!getWeights())
    return routingRule(builder.result(0, kSlots), {0});
  return routingRule(builder.operand(2, kChoices).result(0, kSlots), {0, 2});
}

ShardingRule CombineOp::getShardingRule() {
  ShardingRuleBuilder builder(*this);
  builder.operand(0, kSlots).operand(1, kChoices);
  if (!getWeights())
    return routingRule(builder.result(0, kTokens), {0});
  return routingRule(builder.operand(2, kChoices).result(0, kTokens), {0, 2});
}

ShardingRule RoutingWeightsGradientOp::getShardingRule() {
  ShardingRuleBuilder builder(*this);
  return routingRule(builder.operand(0, kSlots).operand(1, kChoices).operand(2, kTokens).result(0, kChoices), {0, 2});
}

template <typename OpTy> static bool takeExperts(OpTy op, unsigned factor, Attribute block) {
  if (op.getShardingRule().findFactor("e") != factor)
    return false;
  op.setExpertsAttr(cast<BlockAttr>(block));
  return true;
}

bool DispatchOp::setFactorBlock(unsigned factor, Attribute block) { return takeExperts(*this, factor, block); }
bool CombineOp::setFactorBlock(unsigned factor, Attribute block) { return takeExperts(*this, factor, block); }
bool RoutingWeightsGradientOp::setFactorBlock(unsigned factor, Attribute block) {
  return takeExperts(*this, factor, block);
}
