// The parts of a rank's memory by name, in the order that reports use.
#ifndef PPC_REPORTING_MEMORYPARTS_H
#define PPC_REPORTING_MEMORYPARTS_H

#include "ppc/CostModel/StepCost.h"

namespace mlir::ppc {

struct MemoryPart {
  llvm::StringLiteral name;
  Bytes MemoryBreakdown::*bytes;
};
inline constexpr MemoryPart memoryParts[] = {
    {"parameters", &MemoryBreakdown::parameters}, {"gradients", &MemoryBreakdown::gradients},
    {"optimizer", &MemoryBreakdown::optimizer},   {"activations", &MemoryBreakdown::activations},
    {"workspace", &MemoryBreakdown::workspace},   {"communication", &MemoryBreakdown::communication},
    {"allocator", &MemoryBreakdown::allocator},   {"framework", &MemoryBreakdown::framework}};

} // namespace mlir::ppc

#endif // PPC_REPORTING_MEMORYPARTS_H
