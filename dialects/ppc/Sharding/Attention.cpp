// Sharding rules of attention: batch, kv heads and groups may be cut; queries and keys are one piece (ring and all-to-all
// forms are strategies of their own).
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

static const SmallVector<StringRef> kQuery = {"b", "s", "k", "g", "d"}, kKey = {"b", "t", "k", "d"},
                                    kRow = {"b", "s", "k", "g"};

ShardingRule AttentionOp::getShardingRule() {
  return ShardingRuleBuilder(*this)
      .operand(0, kQuery)
      .operand(1, kKey)
      .operand(2, kKey)
      .result(0, kQuery)
      .result(1, kRow)
      .replicate("s")
      .replicate("t")
      .replicate("d")
      .build(); // a padded group sees the real values of its kv head: its output is not zero
}

ShardingRule AttentionBackwardOp::getShardingRule() {
  return ShardingRuleBuilder(*this)
      .operand(0, kQuery)
      .operand(1, kKey)
      .operand(2, kKey)
      .operand(3, kQuery)
      .operand(4, kRow)
      .operand(5, kQuery)
      .result(0, kQuery)
      .result(1, kKey)
      .result(2, kKey)
      .replicate("s")
      .replicate("t")
      .replicate("d")
      .keepsZeroPadding(0)
      .keepsZeroPadding(1)
      .keepsZeroPadding(2)
      .build();
}
