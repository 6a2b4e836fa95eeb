// The result of a search with everything that reports show of it: where each plan's time goes, what its steps are made
// of. All outputs of ppc-plan (tables, JSON, pages, traces) are written from this one structure.
#ifndef PPC_REPORTING_PLANREPORT_H
#define PPC_REPORTING_PLANREPORT_H

#include "ppc/CostModel/PredictionInterval.h"
#include "ppc/Planning/FineTuning.h"
#include "ppc/Planning/PlanSearch.h"
#include "ppc/Planning/ProgramRefusals.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <array>

namespace mlir::ppc {

/// What a device of the busiest pipeline stage does during a step; the kinds add up to the step.
enum class TimeKind {
  Matmul,
  Attention,
  Memory,             // compute in forward and backward, by what bounds it
  Recompute,          // compute done again in backward
  Waiting,            // for the host to issue kernels, for offloaded activations; what messages take from compute
  LayerCommunication, // exposed collectives inside layers
  StateExchange,      // exposed gathers and reductions of ZeRO-3 beside layers
  Bubble,             // waiting for other stages
  GradientReduction,  // exposed, after the last backward
  Optimizer,
  ParameterGather, // exposed, of ZeRO-1 and 2
};
constexpr int timeKindCount = 11;
/// "matmul", "attention", "memory-bound", "recomputation", "launches and copies", "layer communication", "state
/// exchange", "bubble", "gradient reduction", "optimizer", "parameter gather".
llvm::StringRef toString(TimeKind kind);

struct TimeBreakdown {
  std::array<Seconds, timeKindCount> parts;
  Seconds total() const;
  Seconds &operator[](TimeKind kind) { return parts[static_cast<int>(kind)]; }
  Seconds operator[](TimeKind kind) const { return parts[static_cast<int>(kind)]; }
};

struct ReportedPlan {
  ParallelLayout layout;
  StepCost cost;
  StepDetail detail;
  int64_t busiest = 0; // pipeline device that `time` is of
  TimeBreakdown time;
  PredictionInterval interval; // of the step
};

/// One part of a step of fine-tuning with other models or generation in it, of the best plan.
struct TuningPhase {
  std::string name; // "policy: training", "reference: forward", "policy: generation"
  Seconds time;
  Bytes memory;            // of a device while it runs, with all that stays from the other phases
  std::string note;        // what it assumes, one sentence
  bool isReplayed = false; // event by event; else by closed formulas
};

struct PlanReport {
  ModelShape model;
  TrainingJob job;
  Cluster cluster;
  Stack stack;
  bool assumesStack = false;                  // nobody said whose software runs the plans
  const TargetCapabilities *target = nullptr; // whose programs ppc-compile would make of the plans
  Bytes memoryLimit;                          // per device; of several groups of devices: of the one with least
  std::vector<Bytes> groupLimits;             // the same per group
  std::vector<ReportedPlan> plans;            // best first
  PlanSearchResult search;                    // its plans are those above
  FineTuning tuning;
  ProgramRefusals refusals;        // of a model in MLIR
  double trained = 0;              // elements that change
  std::vector<TuningPhase> phases; // empty: the step is the training alone
};

/// Fills in what fine-tuning adds to the best plan: elements that change, and phases where other models or generation
/// take part in a step. `model`: as it is, without what applyTuning changed. Errors: generation does not fit at all.
llvm::Error addPhases(const FineTuning &tuning, const ModelShape &model, PlanReport &report);
/// Below the plans' table; nothing where every weight is trained on next tokens.
void printTuning(const PlanReport &report, llvm::raw_ostream &out);

/// Prices the plans of `search` again with their details, and replays the alternatives if the plans were. `target`:
/// whose programs ppc-compile would make of the plans. Errors: as StepEstimator::estimate.
llvm::Expected<PlanReport> makeReport(const PlanRequest &request, PlanSearchResult search,
                                      const TargetCapabilities &target);

/// The step as it is known best: replayed, where it was.
Seconds bestTime(const Plan &plan);
/// Where nine of ten such steps lie when they are measured: "20.1 to 25.3 s".
std::string rangeText(const PredictionInterval &interval, Seconds step);
/// The same of each plan: how the interval came about; that nothing near was ever measured, where so.
std::string intervalNote(const PlanReport &report);

/// One more layout for the same job. Errors: as StepEstimator::estimate.
llvm::Expected<ReportedPlan> reportPlan(const PlanReport &report, const ParallelLayout &layout,
                                        StepEstimator &estimator);

/// One op of the busiest stage over a whole step.
struct OpShare {
  llvm::StringRef layer, name; // "layer", "qkv projection"
  OpClass kind = OpClass::Gemm;
  int64_t count = 0;         // layers of this kind on the stage x micro-batches
  Seconds forward, backward; // of one micro-batch and layer; backward with the weight gradient
  Seconds total;             // of the step, without recomputation
  double computeShare = 0;   // of the peak, in forward
  double bandwidthShare = 0; // of the memory's datasheet bandwidth, in forward; links: none
  llvm::StringRef bound;     // "compute", "memory", "link", "launch"
  Bytes saved;
};
/// Longest first.
std::vector<OpShare> opShares(const PlanReport &report, const ReportedPlan &plan);

/// The timeline of a plan's pipeline alone. Errors: as simulateSchedule.
llvm::Expected<ScheduleTimeline> stepTimeline(const ReportedPlan &plan);

/// A plan's step event by event. Its events refer to the plan's detail. Errors: as simulateStep.
llvm::Expected<SimulatedStep> replayStep(const PlanReport &report, const ReportedPlan &plan,
                                         const StepSimulationOptions &options);

/// How much longer a step of `other` takes than one of the best plan, as a share of it: by their replays where both
/// have one.
double alternativeCost(const PlanReport &report, const Plan &other);

/// "+1.2 ms", "-40 us"; empty for what is only rounding beside a step.
std::string differenceText(Seconds difference, Seconds step);

/// "32 x H100"; of several groups "group 0: 16 x A100, group 1: 16 x H100".
std::string deviceKinds(const Cluster &cluster);
/// The device that a stage of the pipeline lies on.
const Device &stageDevice(const PlanReport &report, const ParallelLayout &layout, int64_t stage);

/// What MFU and HFU count and of which peak, one sentence each.
std::string utilizationText(const PlanReport &report, const ParallelLayout &layout);
/// "A100-PCIe-80GB, L4": devices on which no predicted step was ever compared with a measured one; empty: all were.
std::string unmeasuredDevices(const Cluster &cluster);
/// Of a stack that describes programs which are not built yet on such devices, a sentence that says so; else empty.
std::string stackCaveat(const Stack &stack, const Cluster &cluster);
/// What keeps `ppc-compile` from running a plan as it is today; empty: nothing. Only stacks of PPC's own programs.
std::string notCompiled(const PlanReport &report, const ParallelLayout &layout);
/// Whose software the plans are for where nobody said it, and how to say it; else empty.
std::string assumptionText(const PlanReport &report);
/// The program that runs a plan, as a part of a sentence: "ppc-compile runs it", "--emit megatron writes it for
/// megatron-core", or what keeps all from it.
std::string runnerText(const PlanReport &report, const ParallelLayout &layout);
/// The programs that run the plans of a report, by the plans' numbers: "1, 2: ppc-compile runs it; 3: nothing here runs
/// it (...)".
std::string runnersText(const PlanReport &report);
/// Whether the report's stack is that of PPC's own programs.
bool isOwnStack(const Stack &stack);

/// The plans' table, why the first beats the second, what other decisions would cost, how the search went.
void printPlans(const PlanReport &report, llvm::raw_ostream &out);
void printFrontier(const PlanReport &report, llvm::raw_ostream &out);
/// What `name` is about: "time", "memory", "ops", "timeline", "search"; a key of the layout; "stage:N"; an op. Error:
/// none of these, with what is possible.
llvm::Error printExplanation(const PlanReport &report, llvm::StringRef name, llvm::raw_ostream &out);
/// Why a decision is none in the best plan ("there is one pipeline stage and nothing to schedule"); empty: it is one.
std::string nothingToDecide(const PlanReport &report, PlanKey key);
/// Why what the best plan says of a key does nothing in it: that, or "activations stay on the device: ..."; empty: it
/// does something.
std::string whyIdle(const PlanReport &report, PlanKey key);
/// One sentence that names the limit, and what would be possible, one line each.
void printInfeasibility(const Infeasibility &infeasibility, llvm::raw_ostream &out);

/// Everything, for programs (docs/guide/Plan.md lists the keys).
llvm::json::Value toJson(const PlanReport &report);
llvm::json::Value toJson(const ParallelLayout &layout);

/// One HTML file that needs nothing else: plans, why, timeline, memory per stage, frontier, ops, search.
void writePage(const PlanReport &report, llvm::raw_ostream &out);

/// The best plan's step, replayed, as Chrome trace events (ui.perfetto.dev, chrome://tracing): per device of the
/// pipeline a track for each stream, op by op where that is not too much to view, arrows along messages, and the bytes
/// that it holds. Errors: no plan; as replayStep.
llvm::Error writeTrace(const PlanReport &report, llvm::raw_ostream &out);

} // namespace mlir::ppc

#endif // PPC_REPORTING_PLANREPORT_H
