// The rows of a partitioned program: what a walk over its actions, routines and ops finds (ppc/CostModel/Ledger.h).
#ifndef PPC_ANALYSIS_PROGRAMLEDGER_H
#define PPC_ANALYSIS_PROGRAMLEDGER_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/CostModel/Ledger.h"

namespace mlir::ppc {

/// Reads the `ppcrt.program` of a module as the partition phase leaves it: its step, the functions that its routines
/// name, its buffers. Uses no plan, no sharding rule and no price. Settled. Fails, with an error on the op, where there
/// is no program, an action that no program for hosts has, or a collective over an axis that the grid lacks.
FailureOr<Ledger> programLedger(ModuleOp module);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_PROGRAMLEDGER_H
