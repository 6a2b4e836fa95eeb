// Sharding rules of routing. Batches and hidden may be sharded, and experts: each device then sends out, or sums,
// the tokens of its own. Tokens that have slots of their own may be sharded, together with the slots; otherwise the
// tokens of a batch fill slots from one queue and stay together.
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

static const SmallVector<StringRef> kTokens = {"b", "s", "h"}, kChoices = {"b", "s", "k"};

/// The loops of slots, where `tokens` is [batch, token, hidden].
static SmallVector<StringRef> slotLoops(Value slots, Value tokens) {
  bool ownSlots = tensorType(slots).getDimSize(2) == tensorType(tokens).getDimSize(1);
  return {"b", "e", ownSlots ? "s" : "c", "h"};
}

static ShardingRule routingRule(ShardingRuleBuilder builder, ArrayRef<StringRef> slots, ArrayRef<unsigned> linear) {
  if (slots[2] == "c")
    builder.replicate("s").replicate("k").replicate("c");
  else
    builder.replicate("k");
  return builder.positional("e").linear(Linearity::Each, linear).keepsZeroPadding(0).build();
}

ShardingRule DispatchOp::getShardingRule() {
  ShardingRuleBuilder builder(*this);
  SmallVector<StringRef> slots = slotLoops(getSlots(), getX());
  builder.operand(0, kTokens).operand(1, kChoices);
  if (!getWeights())
    return routingRule(builder.result(0, slots), slots, {0});
  return routingRule(builder.operand(2, kChoices).result(0, slots), slots, {0, 2});
}

ShardingRule CombineOp::getShardingRule() {
  ShardingRuleBuilder builder(*this);
  SmallVector<StringRef> slots = slotLoops(getSlots(), getY());
  builder.operand(0, slots).operand(1, kChoices);
  if (!getWeights())
    return routingRule(builder.result(0, kTokens), slots, {0});
  return routingRule(builder.operand(2, kChoices).result(0, kTokens), slots, {0, 2});
}

ShardingRule RoutingWeightsGradientOp::getShardingRule() {
  ShardingRuleBuilder builder(*this);
  SmallVector<StringRef> slots = slotLoops(getSlots(), getX());
  return routingRule(builder.operand(0, slots).operand(1, kChoices).operand(2, kTokens).result(0, kChoices), slots,
                     {0, 2});
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
