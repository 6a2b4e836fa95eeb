// One model, one grid, one size of micro-batch: searches the layouts of the ops once, and prices steps around them.
#ifndef PPC_LIB_PLANNING_CHAIN_CHAINPRICER_H
#define PPC_LIB_PLANNING_CHAIN_CHAINPRICER_H

#include "ppc/CostModel/StepParts.h"
#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

class ChainPricer {
public:
  /// `layout`: dp, micro-batch and what decides programs; `axes`: their product is its tp.
  /// `budget`: of the searches; null: without bound.
  ChainPricer(const ChainRequest &request, const ParallelLayout &layout, std::vector<LayoutAxis> axes,
              SolveBudget *budget = nullptr);

  /// Seconds per step that no layout of the ops on these axes goes below, on `pp` stages: each op's fastest kernels.
  double bound(int64_t pp) const;
  /// The layouts that are fastest within `memory` per rank and stage (0: any), priced with the layout's schedule, state
  /// and recomputation. Errors: nothing is allowed or fits; a schedule that cannot be made.
  llvm::Expected<ChainPlan> plan(const ParallelLayout &layout, Bytes memory);

private:
  TemplatePricing pricingOf(const ParallelLayout &layout) const;
  llvm::Expected<ChainPlan> price(const ParallelLayout &layout, TemplateSearch &search, TemplateSearchResult shardings);

  const ChainRequest &request;
  SolveBudget *budget;
  std::vector<LayoutAxis> axes;
  TrainingJob job;
  std::shared_ptr<TemplateChain> chain;              // of one micro-batch of a data-parallel rank
  std::vector<int> layers;                           // template of each
  std::vector<const std::vector<OpStrategy> *> cuts; // per template; null: open
  PipelineTimer timer;
  PipelineTime time;
  double flops = 0; // of forward, of one micro-batch, on all ranks of the axes
  struct Search {
    TemplatePricing pricing;
    TemplateSearch search;
    Search(TemplatePricing from, const TemplateChain &chain, SolveBudget *budget)
        : pricing(std::move(from)), search(pricing, chain, budget) {}
  };
  std::map<std::pair<double, int64_t>, std::unique_ptr<Search>> searches; // by bytes of state, micro-batches in flight
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_CHAIN_CHAINPRICER_H
