// The generated interface; its meaning is described in CostOpInterface.td.
#ifndef PPC_INTERFACES_COSTOPINTERFACE_H
#define PPC_INTERFACES_COSTOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "ppc/Interfaces/OpCost.h"

#include "ppc/Interfaces/CostOpInterface.h.inc"

#endif // PPC_INTERFACES_COSTOPINTERFACE_H
