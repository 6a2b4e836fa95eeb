// The rows that the price of a compiled program is computed of (Ledger.h, docs/internals/Ledger.md).
#ifndef PPC_COSTMODEL_PRICEDLEDGER_H
#define PPC_COSTMODEL_PRICEDLEDGER_H

#include "ppc/CostModel/Ledger.h"
#include "ppc/CostModel/StepCost.h"

namespace mlir::ppc {

/// A product as often as a rank of a device of the pipeline axis does it in a step. The seconds of products are those
/// of these rows (productTime), and the FLOPs of a ledger are theirs added up.
struct ProductRow {
  int64_t device = 0;
  LedgerPhase phase = LedgerPhase::Forward;
  bool attention = false;
  LayerProduct product;
  int64_t times = 0; // that its calls are done
};
std::vector<ProductRow> priceProducts(const PricingContext &context, const StepDetail &detail);

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
