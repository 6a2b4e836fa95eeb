// The generated definitions of our op interfaces.
#include "ppc/Interfaces/CostOpInterface.h"
#include "ppc/Interfaces/DifferentiableOpInterface.h"
#include "ppc/Interfaces/ReferenceOpInterface.h"
#include "ppc/Interfaces/ShardingRuleOpInterface.h"
#include "ppc/Interfaces/StrategyOpInterface.h"

#include "ppc/Interfaces/CostOpInterface.cpp.inc"
#include "ppc/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "ppc/Interfaces/ReferenceOpInterface.cpp.inc"
#include "ppc/Interfaces/ShardingRuleOpInterface.cpp.inc"
#include "ppc/Interfaces/StrategyOpInterface.cpp.inc"
