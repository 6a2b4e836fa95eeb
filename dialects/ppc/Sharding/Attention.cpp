// Sharding rules of attention: batch, kv heads and groups may be sharded, and queries if the strategy gathers keys
// and values, or exchanges sequence sharding for head sharding; keys are not sharded (a ring is a strategy of its own).
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

static const SmallVector<StringRef> kQuery = {"b", "s", "k", "g", "d"}, kKey = {"b", "t", "k", "d"},
                                    kValue = {"b", "t", "k", "v"}, kOut = {"b", "s", "k", "g", "v"},
                                    kRow = {"b", "s", "k", "g"}, kHead = {"k", "g"};

/// The keys that a query sees, and their slopes, depend on its position; without both it sees them all alike.
template <typename OpTy> static ShardingRuleBuilder wholeSequences(ShardingRuleBuilder builder, OpTy op) {
  if (op.getStrategy().value_or(AttentionStrategy::Whole) == AttentionStrategy::Whole)
    builder.replicate("s");
  if (op.getCausal() || op.getSlopes())
    builder.positional("s");
  return builder.replicate("t").replicate("d").replicate("v");
}

/// Queries for kv heads, or for query heads of each group.
template <typename OpTy> static std::optional<std::pair<unsigned, unsigned>> exchangeOf(OpTy op) {
  AttentionStrategy strategy = op.getStrategy().value_or(AttentionStrategy::Whole);
  if (strategy != AttentionStrategy::KvHeads && strategy != AttentionStrategy::HeadGroup)
    return std::nullopt;
  TensorFactors query = op.getShardingRule().operands[0];
  return std::pair(query[1].front(), query[strategy == AttentionStrategy::KvHeads ? 2 : 3].front());
}

/// Takes note of a block of the queries.
template <typename OpTy> static bool setQueries(OpTy op, unsigned factor, Attribute block) {
  if (op.getShardingRule().operands[0][1].front() != factor)
    return false;
  op.removeStrategyAttr(); // chosen
  op.setQueriesAttr(cast<BlockAttr>(block));
  return true;
}

ShardingRule AttentionOp::getShardingRule() {
  ShardingRuleBuilder builder(*this);
  builder.operand(0, kQuery).operand(1, kKey).operand(2, kValue);
  if (getSlopes())
    builder.operand(3, kHead);
  // A padded group sees the real values of its kv head: its output is not zero.
  return wholeSequences(builder.result(0, kOut).result(1, kRow), *this).build();
}

std::optional<std::pair<unsigned, unsigned>> AttentionOp::getExchange() { return exchangeOf(*this); }
std::optional<std::pair<unsigned, unsigned>> AttentionBackwardOp::getExchange() { return exchangeOf(*this); }

bool AttentionOp::setFactorBlock(unsigned factor, Attribute block) { return setQueries(*this, factor, block); }

ShardingRule AttentionBackwardOp::getShardingRule() {
  ShardingRuleBuilder builder(*this);
  builder.operand(0, kQuery).operand(1, kKey).operand(2, kValue).operand(3, kOut).operand(4, kRow).operand(5, kOut);
  if (getSlopes())
    builder.operand(6, kHead);
  return wholeSequences(builder.result(0, kQuery).result(1, kKey).result(2, kValue), *this)
      .linear(Linearity::Each, {5})
      .keepsZeroPadding(0)
      .keepsZeroPadding(1)
      .keepsZeroPadding(2)
      .build();
}

bool AttentionBackwardOp::setFactorBlock(unsigned factor, Attribute block) { return setQueries(*this, factor, block); }
