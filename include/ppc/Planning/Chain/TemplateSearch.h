// The layout of every op of a model that takes the least time per micro-batch within the memory: exact dynamic
// programming over each template's ops and over the chain of templates. Method, exactness and complexity:
// docs/internals/Search.md.
#ifndef PPC_PLANNING_CHAIN_TEMPLATESEARCH_H
#define PPC_PLANNING_CHAIN_TEMPLATESEARCH_H

#include "ppc/Planning/Chain/TemplateNetwork.h"

#include <optional>

namespace mlir::ppc {

struct TemplateSearchResult {
  Seconds time; // time of one micro-batch through the chain, forwards and backwards, with a micro-batch's share of the
                // step's end
  Bytes memory; // memory of the rank with most: parameters with their state, saved values
  /// No layouts within the memory take less. Equal to `time` when memory does not bind.
  Seconds lowerBound;
  std::vector<std::vector<TemplateChoice>> choices; // per template, those that occur in the plan
  struct Layer {
    int index = 0;  // index of the template
    int choice = 0; // among the template's choices
  };
  std::vector<Layer> layers; // in the order of the chain, segments spelled out
  double pricePerByte = 0;   // cost of memory at which the plan was made
  int64_t entries = 0;       // table entries filled
  int solves = 0;            // number of memory costs tried
};

/// Reason for the sharding of an op.
struct OpExplanation {
  int templateIndex = 0, op = 0;
  OpStrategy chosen;
  OpSeconds kernels; // times of the chosen strategy
  struct RunnerUp {
    OpStrategy strategy;
    double slower = 0;         // seconds per micro-batch of the whole chain, with everything else chosen anew
    double moreKernelTime = 0; // the part of it that kernels of the op's layers take; the rest moves data
    double moreMemory = 0;     // bytes
  };
  std::optional<RunnerUp> runnerUp; // none: no other strategy is possible
};

class TemplateSearch {
public:
  /// Both arguments must outlive this; the chain must verify. Estimates every template once.
  TemplateSearch(const TemplatePricing &pricing, const TemplateChain &chain);
  ~TemplateSearch();

  /// `memoryLimit` 0: none. Errors: no strategy is allowed for some op (named); the least memory that any layouts need,
  /// when that is over the limit; tables too large.
  llvm::Expected<TemplateSearchResult> run(Bytes memoryLimit = Bytes(0));

  /// Returns, for each op of each template, the best plan in which no layer of that template shards the op as the first
  /// choice of `result` does, at the same cost of memory. In the order of templates and ops.
  llvm::Expected<std::vector<OpExplanation>> explain(const TemplateSearchResult &result);

  const TemplateNetwork &network(int templateIndex) const { return *networks[templateIndex]; }
  TemplateNetwork &network(int templateIndex) { return *networks[templateIndex]; }

private:
  struct Chained;
  llvm::Expected<Chained> solveChain(double price, int forbiddenTemplate = -1, int forbiddenVariable = -1,
                                     int forbiddenValue = -1);
  void mix(const Chained &over, Chained &best, double limit);
  const TemplatePricing &pricing;
  const TemplateChain &chain;
  ReshardTimes times;
  std::vector<std::unique_ptr<TemplateNetwork>> networks;
  std::map<int, NetworkSolution> solved; // per template, at `solvedPrice`
  double solvedPrice = -1, finalPrice = 0;
};

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_TEMPLATESEARCH_H
