// Collectives exist after partitioning only; they have no rule.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

static ShardingRule partitioned() { return ShardingRule::none("it is part of a partitioned program"); }

ShardingRule AllReduceOp::getShardingRule() { return partitioned(); }
ShardingRule AllGatherOp::getShardingRule() { return partitioned(); }
ShardingRule ReduceScatterOp::getShardingRule() { return partitioned(); }
ShardingRule AllToAllOp::getShardingRule() { return partitioned(); }
ShardingRule LocalSliceOp::getShardingRule() { return partitioned(); }
