// The result of a search with everything that reports show: the time of each plan by activity, the parts of its steps.
// All outputs of ppc-plan (tables, JSON, pages, traces) are written from this one structure.
#ifndef PPC_REPORTING_PLANREPORT_H
#define PPC_REPORTING_PLANREPORT_H

#include "ppc/CostModel/PredictionInterval.h"
#include "ppc/Planning/FineTuning.h"
#include "ppc/Planning/PlanSearch.h"
#include "ppc/Planning/ProgramRefusals.h"
#include "ppc/Target/TargetCapabilities.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <array>

namespace mlir::ppc {

/// Activity of a device of the busiest pipeline stage during a step; the times of all kinds add up to the step.
enum class TimeKind {
  Matmul,
  Attention,
  Memory,             // compute in forward and backward, by the resource that bounds it
  Recompute,          // recomputation in backward
  Waiting,            // for the host to issue kernels, for offloaded activations; compute time that transfers take
  LayerCommunication, // exposed collectives inside layers
  StateExchange,      // exposed all-gathers and reductions of ZeRO-3, which overlap with layers
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
  int64_t busiest = 0; // pipeline rank that `time` belongs to
  TimeBreakdown time;
  PredictionInterval interval; // interval of the step time
};

/// One part of a step of fine-tuning with other models or generation in it, of the best plan.
struct TuningPhase {
  std::string name; // "policy: training", "reference: forward", "policy: generation"
  Seconds time;
  Bytes memory;            // memory of a device while the phase runs, with all that stays from the other phases
  std::string note;        // assumptions of the phase, one sentence
  bool isReplayed = false; // event by event; else by closed formulas
};

struct PlanReport {
  ModelShape model;
  TrainingJob job;
  Cluster cluster;
  Stack stack;
  bool assumesStack = false;                  // no option names the software that runs the plans
  const TargetCapabilities *target = nullptr; // whose programs ppc-compile would make of the plans
  Bytes memoryLimit;                          // per device; of several groups of devices: of the one with least
  std::vector<Bytes> groupLimits;             // memory limit per group
  std::vector<ReportedPlan> plans;            // best first
  PlanSearchResult search;                    // its plans are those above
  FineTuning tuning;
  ProgramRefusals refusals;        // for a model in MLIR
  double trained = 0;              // elements that change
  std::vector<TuningPhase> phases; // empty: the step is the training alone
};

/// Adds the facts of fine-tuning to the best plan: trained elements, and phases in which other models or generation
/// take part in a step. `model`: without the changes of applyTuning. Errors: generation does not fit at all.
llvm::Error addPhases(const FineTuning &tuning, const ModelShape &model, PlanReport &report);
/// Prints the phases of tuning below the table of plans; nothing if every weight is trained on next tokens.
void printTuning(const PlanReport &report, llvm::raw_ostream &out);

/// Estimates the plans of `search` again with their details, and replays the alternatives if the plans were replayed.
/// `target`: the target whose programs ppc-compile would make of the plans. Errors: as StepEstimator::estimate.
llvm::Expected<PlanReport> makeReport(const PlanRequest &request, PlanSearchResult search,
                                      const TargetCapabilities &target);

/// The step as it is known best: replayed, where it was.
Seconds bestTime(const Plan &plan);
/// Where nine of ten such steps lie when they are measured: "20.1 to 25.3 s".
std::string rangeText(const PredictionInterval &interval, Seconds step);
/// Note on the interval of each plan: how it came about, or that no step near it was ever measured.
std::string intervalNote(const PlanReport &report);

/// One more layout for the same job. Errors: as StepEstimator::estimate.
llvm::Expected<ReportedPlan> reportPlan(const PlanReport &report, const ParallelLayout &layout,
                                        StepEstimator &estimator);

/// One op of the busiest stage over a whole step.
struct OpShare {
  llvm::StringRef layer, name; // "layer", "qkv projection"
  OpClass kind = OpClass::Gemm;
  int64_t count = 0;         // layers of this kind on the stage x micro-batches
  Seconds forward, backward; // time of one micro-batch and layer; backward with the weight gradient
  Seconds total;             // time in the step, without recomputation
  double computeShare = 0;   // share of the peak, in forward
  double bandwidthShare = 0; // share of the memory's datasheet bandwidth, in forward; links: none
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

/// Text of a difference: "+1.2 ms", "-40 us"; empty if it is only rounding of a step.
std::string differenceText(Seconds difference, Seconds step);

/// "32 x H100"; of several groups "group 0: 16 x A100, group 1: 16 x H100".
std::string deviceKinds(const Cluster &cluster);
/// Returns the device that a pipeline stage runs on.
const Device &stageDevice(const PlanReport &report, const ParallelLayout &layout, int64_t stage);

/// Definitions of MFU and HFU and of the peak they refer to, one sentence each.
std::string utilizationText(const PlanReport &report, const ParallelLayout &layout);
/// "A100-PCIe-80GB, L4": devices on which no predicted step was ever compared with a measured one; empty: all were.
std::string unmeasuredDevices(const Cluster &cluster);
/// Returns a sentence on a stack that describes programs which are not implemented yet on such devices; else an empty
/// string.
std::string stackCaveat(const Stack &stack, const Cluster &cluster);
/// Returns why `ppc-compile` cannot run a plan today; empty: it can. Only for stacks of PPC's own programs.
std::string notCompiled(const PlanReport &report, const ParallelLayout &layout);
/// Returns which software is assumed if no option names it, and the option that does; else an empty string.
std::string assumptionText(const PlanReport &report);
/// Returns the program that runs a plan, as a part of a sentence: "ppc-compile runs it", "--emit megatron writes it for
/// megatron-core", or why no program runs it.
std::string runnerText(const PlanReport &report, const ParallelLayout &layout);
/// The programs that run the plans of a report, by the plans' numbers: "1, 2: ppc-compile runs it; 3: nothing here runs
/// it (...)".
std::string runnersText(const PlanReport &report);
/// Returns whether the report's stack is PPC's own programs.
bool isOwnStack(const Stack &stack);

/// Prints the plans' table, why the first beats the second, costs of other decisions, statistics of the search.
void printPlans(const PlanReport &report, llvm::raw_ostream &out);
void printFrontier(const PlanReport &report, llvm::raw_ostream &out);
/// Prints the explanation of `name`: "time", "memory", "ops", "timeline", "search"; a key of the layout; "stage:N"; an
/// op. Error: an unknown name, with the known ones.
llvm::Error printExplanation(const PlanReport &report, llvm::StringRef name, llvm::raw_ostream &out);
/// Why a decision is none in the best plan ("there is one pipeline stage and nothing to schedule"); empty: it is one.
std::string nothingToDecide(const PlanReport &report, PlanKey key);
/// Reason why the best plan's value of a key has no effect: that, or "activations stay on the device: ..."; empty: it
/// has one.
std::string whyIdle(const PlanReport &report, PlanKey key);
/// Prints a sentence that names the limit, and possible requests, one line each.
void printInfeasibility(const Infeasibility &infeasibility, llvm::raw_ostream &out);

/// Everything, for programs (docs/guide/Plan.md lists the keys).
llvm::json::Value toJson(const PlanReport &report);
llvm::json::Value toJson(const ParallelLayout &layout);

/// One HTML file that needs nothing else: plans, why, timeline, memory per stage, frontier, ops, search.
void writePage(const PlanReport &report, llvm::raw_ostream &out);

/// Writes the step of the best plan, replayed, as Chrome trace events (ui.perfetto.dev, chrome://tracing): per pipeline
/// rank a track for each stream, op by op if that is not too much to view, arrows along sends, and the bytes in memory.
/// Errors: no plan; as replayStep.
llvm::Error writeTrace(const PlanReport &report, llvm::raw_ostream &out);

} // namespace mlir::ppc

#endif // PPC_REPORTING_PLANREPORT_H
