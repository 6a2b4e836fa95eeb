// Finds the layout of a training job on a cluster with the minimum time per step within the memory, among all layouts
// of the space below; exact, by best-first branch and bound, with every cost from StepEstimator (docs/guide/Plan.md).
//
// The space. Every factorization of the devices into dp x tp x pp x cp (tp up to the heads, also if it divides
// nothing); for experts every ep x etp over the ranks of a stage; micro-batch sizes that divide a data-parallel rank's
// batch; every schedule, with every number of chunks per device, up to 12 (128 over a pipeline) unless pinned, that
// changes the size of the largest chunk; stages partitioned evenly by time and, if memory binds, with layers moved from
// the devices that are short of it (StageFit.h); sequence parallelism on and off; ring, Ulysses and all-gather
// attention; ZeRO 0 to 3 with shard groups of the whole data group, of one innermost unit, and of the levels between;
// recompute none, selective, and full for as few layers on each device as fit; offload of optimizer or activations.
// Precision and attention kernel are the request's unless the constraints leave them open.
//
// On heterogeneous clusters: that space on each group of devices alone, and pipelines with stages on several groups
// (docs/guide/Plan.md).
#ifndef PPC_PLANNING_PLANSEARCH_H
#define PPC_PLANNING_PLANSEARCH_H

#include "ppc/CostModel/StepCost.h"
#include "ppc/Planning/PlanConstraints.h"
#include "ppc/Simulation/StepSimulation.h"

#include <functional>
#include <optional>
#include <vector>

namespace mlir::ppc {

/// How far a search is.
struct SearchProgress {
  llvm::StringRef stage;      // "bounds", "plans", "alternatives", "frontier"
  int64_t done = 0, left = 0; // grids of this stage
  Seconds best;               // shortest step found so far, in all stages; never grows. 0: none
  int64_t allDone = 0;        // grids of all stages; never shrinks
};

struct PlanRequest {
  const ModelShape &model;
  TrainingJob job;
  const Cluster &cluster;
  const Stack &stack;
  /// Values that are neither searched nor pinned: precision, attention kernel, fused norm.
  ParallelLayout base = {};
  PlanConstraints constraints = {};
  /// Per device; 0: planMemoryLimit.
  Bytes memoryLimit = {};
  int64_t topK = 5;         // plans to list
  bool frontier = false;    // also the time/memory front
  bool alternatives = true; // also the best plan with another value of each decision
  /// Counts of devices that divide badly may make slower steps than fewer devices do: also tries rounder ones, unless
  /// pinned.
  bool fewerDevices = false;
  /// Replay the best plans event by event, and rank them by that: the same ones however many are listed, and with them
  /// the best with another value of each decision, which may be faster when they are replayed.
  bool simulate = false;
  /// The plan that takes least memory among those up to this share slower than the fastest comes first
  /// (`indistinctTimes`); 0: the fastest does. Not on clusters of several groups of devices.
  double timeTolerance = 0;
  /// Names the part of a layout that cannot be run (by ppc-compile today); empty: it can. Must be pure and thread-safe.
  std::function<std::string(const ParallelLayout &)> refuse = {};
  unsigned threads = 0;       // 0: one per core. The result is the same for any number
  int64_t maxEvaluations = 0; // stop after that many; 0: search to the end. The gap bounds the loss
  /// Called from the thread that searches, some hundred times a second at most.
  std::function<void(const SearchProgress &)> progress = {};
};

/// Predicted step times that differ by less than this share are not a reason to choose one plan over another: steps of
/// one machine are predicted within some 5 % of the measured time, the difference of two similar plans hardly better
/// than this.
constexpr double indistinctTimes = 0.01;

/// The frontier ends at this multiple of the fastest step: beyond it exhaustive searches gain little.
constexpr double frontierSpan = 2;
/// Its points lie a 32nd of the memory apart, in spaces of more grids than this an 8th.
constexpr size_t manyGrids = 100000;

/// Device memory minus a reserve for memory that the cost model does not cover: the stack's `memory_margin`, at least
/// 256 MiB, at most a GiB for each percent.
Bytes planMemoryLimit(const Cluster &cluster, const Stack &stack);

/// Memory limit of the devices of pipeline stage `stage`: the request's limit or planMemoryLimit; on clusters of
/// several groups the lesser of both, by the stage's group.
Bytes stageMemoryLimit(const PlanRequest &request, const ParallelLayout &layout, size_t stage);
/// Whether it does, and its offloaded state fits into its host.
bool fitsStage(const PlanRequest &request, const ParallelLayout &layout, size_t stage, const MemoryBreakdown &memory);

struct Plan {
  ParallelLayout layout; // stageLayers filled when pp x vp > 1
  StepCost cost;
  std::optional<SimulatedStep> simulated = std::nullopt; // replayed step of plans that were replayed; without events
};

/// "Why this and not that": the best plan that has another value of one key.
struct PlanAlternative {
  PlanKey key;
  std::string chosen, other; // values of the key
  std::optional<Plan> plan;  // none: no other value is possible
  std::string reason;        // then why: "no other value fits in memory", "pinned", ...
};

/// One row of the search's table: how many candidates a rule or bound took out.
struct SearchCount {
  std::string name; // "enumerated", "pruned: compute at best rate", "refused: memory", "layouts estimated", ...
  int64_t count = 0;
};

/// One constraint given up, or more devices, and the best plan then.
struct PlanRelaxation {
  PlanKey key;
  std::string from, to; // "8" and "16"; when only giving up all constraints helps: "all constraints" and "none"
  Plan plan;
};

/// Why nothing is possible.
struct Infeasibility {
  enum class Limit {
    Memory,     // every layout that divides needs more than the limit
    Shape,      // no layout divides: heads, layers, batch, experts, devices
    Capability, // only layouts that `refuse` names
  } limit = Limit::Shape;
  std::string reason; // one sentence with figures
  // Memory: the layout that needs least, the memory of its largest stage, and the largest part of that.
  std::optional<Plan> closest;
  int64_t stage = 0;
  Bytes needed, available;
  std::vector<PlanRelaxation> relaxations; // nearest feasible plans, fastest first
};

struct PlanSearchResult {
  /// Best first (by replayed times if asked for), topK at most; empty: see infeasibility. With a tolerance the first
  /// has the least memory within it, and a note tells if it is not the fastest.
  std::vector<Plan> plans;
  std::vector<Plan> frontier; // fastest first, each with less memory than the one before
  /// `ties`: number of first plans whose replayed times are indistinguishable (indistinctShare). `simplest`: which of
  /// them, from 0, has the fewest kinds of parallelism and of saving memory, the lowest degrees, the least memory.
  size_t ties = 0, simplest = 0;
  std::vector<PlanAlternative> alternatives; // in the order of PlanKey; only keys that the model and layout know
  std::vector<SearchCount> table;
  /// By the closed formulas no layout of the space takes less (certified; the best layout's time when the search ran to
  /// the end).
  Seconds lowerBound;
  double gap = 0; // the least such time that was found / lowerBound - 1
  /// Simplest lower bound on all layouts: perfect pipelines, no exposed communication between ranks except that of
  /// layers.
  Seconds relaxedBound;
  std::vector<std::string> notes; // "uses 120 of 128 devices: ..."
  std::optional<Infeasibility> infeasibility;
};

/// Errors: a request that is wrong in itself (a model, job or pin that cannot be, by key). Infeasible requests are a
/// result.
llvm::Expected<PlanSearchResult> searchPlan(const PlanRequest &request);

/// Why `least` is chosen though the step of `fastest` is predicted to take less time.
std::string tradeText(const StepCost &least, const Plan &fastest, double tolerance);

/// Estimates one layout as it is; its stages' layers are filled in. Errors: as StepEstimator::estimate.
llvm::Expected<Plan> pricePlan(const PlanRequest &request, const ParallelLayout &layout);

} // namespace mlir::ppc

#endif // PPC_PLANNING_PLANSEARCH_H
