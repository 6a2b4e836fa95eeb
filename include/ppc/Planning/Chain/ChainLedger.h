// Ledger entries from which the cost of a program with op-level sharding is computed (ppc/CostModel/Ledger.h,
// docs/internals/Ledger.md).
#ifndef PPC_PLANNING_CHAIN_CHAINLEDGER_H
#define PPC_PLANNING_CHAIN_CHAINLEDGER_H

#include "ppc/CostModel/Ledger.h"
#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

/// Returns the ledger of a plan that was estimated with ChainRequest::compiled, for a step of `batch` samples:
/// collectives, matmuls and saved bytes of its layers, sends, the update. Settled. Errors: virtual stages, which
/// programs with op-level sharding do not have.
llvm::Expected<Ledger> chainLedger(const ChainPlan &plan, int64_t batch);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_CHAINLEDGER_H
