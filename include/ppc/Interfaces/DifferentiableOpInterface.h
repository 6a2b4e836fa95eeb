// The generated interface; its meaning is described in DifferentiableOpInterface.td.
#ifndef PPC_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
#define PPC_INTERFACES_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "ppc/Interfaces/DifferentiableOpInterface.h.inc"

#endif // PPC_INTERFACES_DIFFERENTIABLEOPINTERFACE_H
