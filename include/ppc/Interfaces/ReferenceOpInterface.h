// The generated interface; its meaning is described in ReferenceOpInterface.td.
#ifndef PPC_INTERFACES_REFERENCEOPINTERFACE_H
#define PPC_INTERFACES_REFERENCEOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"
#include "ppc/Interfaces/ReferenceTensor.h"

#include "ppc/Interfaces/ReferenceOpInterface.h.inc"

#endif // PPC_INTERFACES_REFERENCEOPINTERFACE_H
