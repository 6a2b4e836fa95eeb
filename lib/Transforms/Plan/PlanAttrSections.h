// Plans as attributes and as the sections of their files.
#ifndef PPC_LIB_TRANSFORMS_PLAN_PLANATTRSECTIONS_H
#define PPC_LIB_TRANSFORMS_PLAN_PLANATTRSECTIONS_H

#include "dialects/ppc/Ppc.h"
#include "ppc/Planning/Files/PlanSections.h"

namespace mlir::ppc {

/// Null, with an error, for what the attribute's verifier refuses.
PlanAttr planAttr(const PlanSections &plan, function_ref<InFlightDiagnostic()> emitError, MLIRContext *context);
PlanSections planSections(PlanAttr plan);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_PLAN_PLANATTRSECTIONS_H
