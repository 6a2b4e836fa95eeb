// The rows that the price of a program whose ops are cut by themselves is computed of (ppc/CostModel/Ledger.h,
// docs/internals/Ledger.md).
#ifndef PPC_PLANNING_CHAIN_CHAINLEDGER_H
#define PPC_PLANNING_CHAIN_CHAINLEDGER_H

#include "ppc/CostModel/Ledger.h"
#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

/// Of a plan that was priced with ChainRequest::compiled, of a step of `batch` samples: transfers, products and kept
/// bytes of its layers, messages, the update. Settled. Errors: virtual stages, which programs cut op by op do not have.
llvm::Expected<Ledger> chainLedger(const ChainPlan &plan, int64_t batch);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_CHAINLEDGER_H
