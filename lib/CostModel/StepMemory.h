// Bytes of one rank of the pipeline axis, from what its chunks hold and how much the schedule keeps at its worst moment.
#ifndef PPC_LIB_COSTMODEL_STEPMEMORY_H
#define PPC_LIB_COSTMODEL_STEPMEMORY_H

#include "ppc/CostModel/StageCost.h"
#include "ppc/CostModel/StepCost.h"

namespace mlir::ppc {

MemoryBreakdown deviceMemory(const PricingContext &context, const ModelCosts &costs, const PipelineProgram &program, int64_t device);

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_STEPMEMORY_H
