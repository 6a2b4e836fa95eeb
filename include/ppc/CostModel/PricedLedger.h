// Ledger entries from which the cost of a compiled program is computed (Ledger.h, docs/internals/Ledger.md).
#ifndef PPC_COSTMODEL_PRICEDLEDGER_H
#define PPC_COSTMODEL_PRICEDLEDGER_H

#include "ppc/CostModel/Ledger.h"
#include "ppc/CostModel/StepCost.h"

namespace mlir::ppc {

/// A matmul with the number of times that a rank of a pipeline stage runs it in a step. Seconds of matmuls come from
/// these rows (productTime), and FLOPs of a ledger are their sum.
struct ProductRow {
  int64_t device = 0;
  LedgerPhase phase = LedgerPhase::Forward;
  bool attention = false;
  LayerProduct product;
  int64_t times = 0; // that its calls are done
};
std::vector<ProductRow> priceProducts(const PricingContext &context, const StepDetail &detail);

/// Returns the ledger of a step that StepEstimator evaluated for a stack with `arena`: collectives of each layer as
/// often as it runs, its compute and recomputation; sends; the update. Settled.
Ledger priceLedger(const PricingContext &context, const StepDetail &detail);

/// Overload for sizes. Errors as StepEstimator::estimate.
llvm::Expected<Ledger> priceLedger(const ModelShape &model, const TrainingJob &job, const Cluster &cluster,
                                   const ParallelLayout &layout, const Stack &stack);

/// Elements of the residual stream that a compiled program sends from stage to stage, per rank.
int64_t compiledMessage(const PricingContext &context);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_PRICEDLEDGER_H
