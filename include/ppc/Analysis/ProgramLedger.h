// Ledger of a partitioned program, from a walk over its actions, routines and ops (ppc/CostModel/Ledger.h).
#ifndef PPC_ANALYSIS_PROGRAMLEDGER_H
#define PPC_ANALYSIS_PROGRAMLEDGER_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/CostModel/Ledger.h"

namespace mlir::ppc {

/// Reads the `ppcrt.program` of a module as the partition phase leaves it: its step, the functions that its routines
/// name, its buffers. Uses no plan, no sharding rule and no cost model. Settled. Fails, with an error on the op, if
/// there is no program, an action that programs of the CPU backend do not have, or a collective over an axis that the
/// mesh lacks.
FailureOr<Ledger> programLedger(ModuleOp module);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_PROGRAMLEDGER_H
