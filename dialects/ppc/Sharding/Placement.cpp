// Sharding rules around micro-batches and resharding.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

ShardingRule AccumulateOp::getShardingRule() {
  return ShardingRule::none("its region is propagated through, op by op");
}
ShardingRule YieldOp::getShardingRule() { return ShardingRule::none("the results of accumulate take its shardings"); }
ShardingRule ReshardOp::getShardingRule() { return ShardingRule::none("it moves between the two shardings it names"); }

ShardingRule MaskPaddingOp::getShardingRule() {
  int64_t rank = getType().getRank();
  return ShardingRuleBuilder(*this)
      .pointwise()
      .replicate(dimensionNames(rank)[getDim()])
      .linear(Linearity::Joint, {0})
      .keepsZeroPadding(0)
      .build();
}
