// Estimator for one model, one mesh and one micro-batch size: searches the shardings of the ops once, and estimates
// steps around them.
#ifndef PPC_LIB_PLANNING_CHAIN_CHAINPRICER_H
#define PPC_LIB_PLANNING_CHAIN_CHAINPRICER_H

#include "ppc/CostModel/StepParts.h"
#include "ppc/Planning/Chain/ChainSearch.h"

namespace mlir::ppc {

class ChainPricer {
public:
  /// `layout`: dp, micro-batch and decisions of programs; `axes`: its tp is the number of their ranks.
  ChainPricer(const ChainRequest &request, const ParallelLayout &layout, std::vector<LayoutAxis> axes);

  /// Seconds per step that no layout of the ops on these axes goes below, on `pp` stages: each op's fastest kernels.
  double bound(int64_t pp) const;
  /// Returns the fastest layout within `memory` per rank and stage (0: any), estimated with the layout's schedule,
  /// state and recomputation. Errors: nothing is allowed or fits; a schedule that cannot be made.
  llvm::Expected<ChainPlan> plan(const ParallelLayout &layout, Bytes memory);

private:
  TemplatePricing pricingOf(const ParallelLayout &layout) const;
  llvm::Expected<ChainPlan> price(const ParallelLayout &layout, TemplateSearch &search, TemplateSearchResult shardings);

  const ChainRequest &request;
  std::vector<LayoutAxis> axes;
  TrainingJob job;
  std::shared_ptr<TemplateChain> chain;              // chain for one micro-batch of a data-parallel rank
  std::vector<int> layers;                           // template of each
  std::vector<const std::vector<OpStrategy> *> cuts; // per template; null: open
  PipelineTimer timer;
  PipelineTime time;
  double flops = 0; // FLOPs of forward, for one micro-batch, on all ranks of the axes
  struct Search {
    TemplatePricing pricing;
    TemplateSearch search;
    Search(TemplatePricing from, const TemplateChain &chain) : pricing(std::move(from)), search(pricing, chain) {}
  };
  std::map<std::pair<double, int64_t>, std::unique_ptr<Search>> searches; // by bytes of state, micro-batches in flight
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_CHAIN_CHAINPRICER_H
