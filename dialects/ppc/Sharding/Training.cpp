// Sharding rules of the optimizer.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

ShardingRule AdamwOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(tensorType(getParameter()).getRank());
  ShardingRuleBuilder builder(*this);
  for (unsigned i = 0; i < 4; ++i)
    builder.operand(i, names);
  for (unsigned i = 0; i < 3; ++i)
    builder.result(i, names).keepsZeroPadding(i);
  return builder.build();
}

ShardingRule SquaredNormOp::getShardingRule() {
  return ShardingRuleBuilder(*this)
      .operand(0, dimensionNames(tensorType(getX()).getRank()))
      .keepsZeroPadding(0)
      .build();
}

ShardingRule ClipScaleOp::getShardingRule() { return ShardingRuleBuilder(*this).build(); }
