// The price of plans that cut every op by itself.
#ifndef PPC_LIB_TRANSFORMS_PLAN_OPSPRICE_H
#define PPC_LIB_TRANSFORMS_PLAN_OPSPRICE_H

#include "ppc/Analysis/ProgramChain.h"

namespace mlir::ppc {

/// Whether some op says itself how it is cut.
bool cutsOps(ModuleOp module);

struct OpsPrice {
  int64_t batch; // samples per step
  Cluster machine;
  ChainPlan plan;
};

/// Of a module whose `ppc.target`, `ppc.plan` and `ppc.factors` say how, before its backward is built: as the search
/// prices it, with nothing left to choose. `cluster`: as of planMachine. Errors: the program is no chain of layers, its
/// ops cannot be cut so, it recomputes other layers than the search can; what planMachine says.
llvm::Expected<OpsPrice> priceOps(ModuleOp module, StringRef cluster);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_PLAN_OPSPRICE_H
