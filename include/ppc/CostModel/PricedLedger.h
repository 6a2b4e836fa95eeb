// The rows that the price of a compiled program is computed of (Ledger.h, docs/Ledger.md).
#ifndef PPC_COSTMODEL_PRICEDLEDGER_H
#define PPC_COSTMODEL_PRICEDLEDGER_H

#include "ppc/CostModel/Ledger.h"
#include "ppc/CostModel/StepCost.h"

namespace mlir::ppc {

/// Of a step that StepEstimator priced for a stack with `arena`: transfers of each layer as often as it runs, what it
/// computes and what it computes again; messages; the update. Settled.
Ledger priceLedger(const PricingContext &context, const StepDetail &detail);

/// The same from the sizes. Errors as StepEstimator::estimate.
llvm::Expected<Ledger> priceLedger(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                   const ParallelLayout &layout, const Stack &stack);

/// Elements of the residual stream that a compiled program sends from stage to stage, per rank.
int64_t compiledMessage(const PricingContext &context);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_PRICEDLEDGER_H
