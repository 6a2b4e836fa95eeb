// Op-level sharding search: finds the layout of a training job for any model that is a chain of templates, transformers
// or not: data-parallel ranks, the axes that shard ops, pipeline stages, micro-batches, schedule, state and
// recomputation outside, the sharding of every op by TemplateSearch inside. Steps are estimated from the same parts as
// those of transformers laid out by degrees (StepParts.h).
//
// The space. Every factorization of the devices into dp x axes x pp, with one axis or two in both orders; micro-batches
// that divide a data-parallel rank's batch; schedules with one chunk per device and the interleaved ones; stages
// partitioned evenly by time; ZeRO 0, 1 and 3 over the data-parallel ranks (2 if it is pinned); recompute none, or full
// for all layers but the first and the last (selective if it is pinned). Shardings of ops are the fastest within the
// memory by the sum of kernels and transfers, then estimated with overlap.
#ifndef PPC_PLANNING_CHAIN_CHAINSEARCH_H
#define PPC_PLANNING_CHAIN_CHAINSEARCH_H

#include "ppc/Planning/Chain/TemplateProgram.h"
#include "ppc/Planning/Chain/TemplateSearch.h"
#include "ppc/Planning/PlanSearch.h"
#include "ppc/Planning/ProgramRefusals.h"

namespace mlir::ppc {

struct ChainModel {
  std::string name;
  TemplateChain chain; // chain for the full batch
  /// The dimensions of inputs along which samples are counted.
  struct BatchDimension {
    int templateIndex = 0, value = 0, dim = 0;
  };
  std::vector<BatchDimension> batchDimensions;
  int64_t batch = 1;        // samples per step; 1 if nothing is counted
  ProgramRefusals refusals; // as far as who made the model asked for them

  /// Template of every layer, segments spelled out.
  std::vector<int> layers() const;
};

/// Given shardings of ops; plain data of the section `ops:` of plan files (ChainPlanFile.h).
struct OpCuts {
  std::vector<LayoutAxis> axes;
  /// Per layer of the chain a strategy for every op of its template; empty: not given, for a layer or an op. If nothing
  /// is sharded, a partial sum may pass through.
  std::vector<std::vector<OpStrategy>> layers;
  bool empty() const { return axes.empty(); }
};

struct ChainRequest {
  const ChainModel &model;
  const Cluster &cluster;
  const Stack &stack;
  ParallelLayout base = {}; // precision and attention kernel
  PlanConstraints constraints = {};
  OpCuts cuts = {};       // kept
  Bytes memoryLimit = {}; // per device; 0: planMemoryLimit
  int64_t topK = 5;
  /// As PlanRequest's; layouts of ops are the fastest either way.
  double timeTolerance = 0;
  int mostAxes = 2;
  /// Values gathered for forward may be gathered again for backward; programs that PPC partitions keep them.
  bool regather = false;
  /// Restricts the search to layouts that programs of this target run: allowed shardings of ops (`runs`), even
  /// shardings of inputs' rows. Null: everything.
  const TargetCapabilities *target = nullptr;
  /// Names the part of a layout that cannot be run; empty: it can.
  std::function<std::string(const ParallelLayout &)> refuse = {};
  /// Restrict shardings of ops (a menu to compare with); empty: everything.
  std::function<bool(const OpTemplate &, const TemplateOp &, const OpStrategy &)> allowStrategy = {};
  std::function<bool(const OpTemplate &, const TemplateValue &, const Layout &)> allowLayout = {};
  int64_t maxSearches =
      300; // maximum number of searches over templates; then the best result so far is returned, with its bound
};

struct ChainPlan {
  ParallelLayout layout; // tp: the product of the axes; stageLayers: without the first and the last layer of the chain
  std::vector<LayoutAxis> axes;               // axes that shard ops; outermost first
  StepCost cost;                              // tokensPerSecondPerDevice: samples
  std::shared_ptr<const TemplateChain> chain; // chain for one micro-batch of a data-parallel rank
  TemplateSearchResult shardings;
  /// Per template and choice of `shardings`.
  std::vector<std::vector<TemplateProgram>> programs;
  /// Strategies of every layer.
  OpCuts cuts() const;
};

struct ChainSearchResult {
  std::vector<ChainPlan> plans; // best first, as PlanSearchResult's; empty: see `reason`
  std::vector<std::string> notes;
  Seconds lowerBound; // no layout of the space takes less: its kernels alone
  std::vector<SearchCount> table;
  std::string reason; // why there is no plan
};

/// Errors: a request that is wrong in itself.
llvm::Expected<ChainSearchResult> searchChainPlan(const ChainRequest &request);

/// Describes the part of a layout with op-level sharding that programs of the target cannot run; empty: none.
std::string lackedAroundOps(const TargetCapabilities &target, const ParallelLayout &layout);
/// Checks the layout and the shardings of the plan's ops.
std::string lackedBy(const TargetCapabilities &target, const ChainModel &model, const ChainPlan &plan);
/// Describes the first op whose sharding programs of the target cannot run; empty: they run all.
std::string lackedBy(const TargetCapabilities &target, const ChainModel &model, const OpCuts &cuts);

/// For `allowLayout`: compiled programs shard the rows of inputs evenly (ppc-propagate-shardings).
std::function<bool(const OpTemplate &, const TemplateValue &, const Layout &)>
cutsRowsEvenly(std::vector<LayoutAxis> axes);

/// `tp0 4 x tp1 2`; empty for one axis.
std::string axesText(llvm::ArrayRef<LayoutAxis> axes);
/// Axes of these sizes, called `tp`, or `tp0`, `tp1`, ...
std::vector<LayoutAxis> tensorAxes(llvm::ArrayRef<int64_t> sizes);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_CHAINSEARCH_H
