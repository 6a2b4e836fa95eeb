// The generated interface; its meaning is described in ShardingRuleOpInterface.td.
#ifndef PPC_INTERFACES_SHARDINGRULEOPINTERFACE_H
#define PPC_INTERFACES_SHARDINGRULEOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "ppc/Sharding/ShardingRule.h"

#include "ppc/Interfaces/ShardingRuleOpInterface.h.inc"

#endif // PPC_INTERFACES_SHARDINGRULEOPINTERFACE_H
