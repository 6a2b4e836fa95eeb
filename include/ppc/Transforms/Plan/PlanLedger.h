// Resource accounting of the planner for a module's plan.
#ifndef PPC_TRANSFORMS_PLAN_PLANLEDGER_H
#define PPC_TRANSFORMS_PLAN_PLANLEDGER_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/CostModel/Ledger.h"
#include "llvm/Support/Error.h"

namespace mlir::ppc {

/// The per-rank accounting of the module's `ppc.plan` on that cluster (specified as for ppc-price-plan), before its
/// backward is built. Errors: the cost model does not cover the plan or the model.
llvm::Expected<Ledger> planLedger(ModuleOp module, StringRef cluster);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PLAN_PLANLEDGER_H
