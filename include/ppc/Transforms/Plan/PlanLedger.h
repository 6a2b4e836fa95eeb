// What the planner's price of a module's plan is computed of.
#ifndef PPC_TRANSFORMS_PLAN_PLANLEDGER_H
#define PPC_TRANSFORMS_PLAN_PLANLEDGER_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/CostModel/Ledger.h"
#include "llvm/Support/Error.h"

namespace mlir::ppc {

/// The ledger of the module's `ppc.plan` on that cluster (as ppc-price-plan takes it), before its backward is built.
/// Errors: the plan or the model is none that the planner prices.
llvm::Expected<Ledger> planLedger(ModuleOp module, StringRef cluster);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PLAN_PLANLEDGER_H
