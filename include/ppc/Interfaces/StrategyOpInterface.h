// The generated interface; its meaning is described in StrategyOpInterface.td.
#ifndef PPC_INTERFACES_STRATEGYOPINTERFACE_H
#define PPC_INTERFACES_STRATEGYOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include <optional>

#include "ppc/Interfaces/StrategyOpInterface.h.inc"

#endif // PPC_INTERFACES_STRATEGYOPINTERFACE_H
