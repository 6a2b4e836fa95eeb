// Everything that a search found, for programs.
#include "ppc/Reporting/PlanReport.h"

#include "ppc/Reporting/MemoryParts.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;
namespace json = llvm::json;

json::Value mlir::ppc::toJson(const ParallelLayout &layout) {
  json::Object object;
  for (int i = 0; i < planKeyCount; ++i) {
    PlanKey key = PlanKey(i);
    int64_t value = planValue(layout, key);
    std::string text = planValueText(key, value);
    int64_t number = 0;
    if (text == "on" || text == "off")
      object[toString(key)] = text == "on";
    else if (!llvm::StringRef(text).getAsInteger(10, number))
      object[toString(key)] = number;
    else
      object[toString(key)] = text;
  }
  object["fused_norm"] = layout.fusedNorm;
  if (!layout.stageLayers.empty())
    object["stage_layers"] = json::Array(llvm::ArrayRef<int64_t>(layout.stageLayers));
  if (!layout.stageRecomputedLayers.empty())
    object["stage_recomputed_layers"] = json::Array(llvm::ArrayRef<int64_t>(layout.stageRecomputedLayers));
  if (!layout.stageGroups.empty())
    object["stage_groups"] = json::Array(llvm::ArrayRef<int64_t>(layout.stageGroups));
  return object;
}

static json::Object memoryJson(const MemoryBreakdown &memory) {
  json::Object object;
  for (const MemoryPart &part : memoryParts)
    object[part.name] = (memory.*part.bytes).value;
  object["total"] = memory.total().value;
  return object;
}

/// `step`: its replay, which sees waits that the formulas do not; none: it was not replayed.
static json::Object costJson(const StepCost &cost, const std::optional<SimulatedStep> &step) {
  return json::Object{{"step_time_s", (step ? step->stepTime : cost.stepTime).value},
                      {"clock", step ? "replayed" : "formulas"},
                      {"formulas_step_time_s", cost.stepTime.value},
                      {"mfu", cost.mfu},
                      {"hfu", cost.hfu},
                      {"tokens_per_s_per_device", cost.tokensPerSecondPerDevice},
                      {"peak_memory_bytes", cost.peakMemory.value},
                      {"worst_stage", cost.worstStage},
                      {"fits", cost.fits},
                      {"bubble", cost.bubble},
                      {"pipeline_s", cost.pipeline.value},
                      {"exposed_communication_s", cost.exposedCommunication.value},
                      {"exposed_gradients_s", cost.exposedGradients.value},
                      {"optimizer_s", cost.optimizer.value},
                      {"model_flops", cost.modelFlops},
                      {"hardware_flops", cost.hardwareFlops}};
}

static json::Object intervalJson(const PredictionInterval &interval, Seconds step) {
  return json::Object{{"low_s", interval.low * step.value},
                      {"high_s", interval.high * step.value},
                      {"measured_near", interval.isNear()},
                      {"nearest", interval.nearest},
                      {"distance", interval.distance}};
}

static json::Value planJson(const PlanReport &report, const Plan &plan) {
  json::Object object = costJson(plan.cost, plan.simulated);
  object["interval_90"] =
      intervalJson(predictionInterval(featuresOf(report.model, report.job, report.cluster, plan.layout, report.stack)),
                   bestTime(plan));
  object["layout"] = toJson(plan.layout);
  object["summary"] = toString(plan.layout);
  if (plan.simulated)
    object["simulated"] = json::Object{{"step_time_s", plan.simulated->stepTime.value}};
  return object;
}

/// Results of a replay: per pipeline rank the busy seconds of each stream, and the part of them without concurrent
/// compute.
static json::Value simulatedJson(const SimulatedStep &step) {
  json::Array devices;
  for (const SimulatedDevice &device : step.devices) {
    json::Object busy, exposed;
    for (int i = 0; i < simulatedStreamCount; ++i) {
      busy[toString(SimulatedStream(i))] = device.busy[i].value;
      if (i)
        exposed[toString(SimulatedStream(i))] = device.exposed[i].value;
    }
    devices.push_back(json::Object{{"busy_s", std::move(busy)},
                                   {"exposed_s", std::move(exposed)},
                                   {"idle_s", device.idle.value},
                                   {"peak_memory_bytes", device.peak.value},
                                   {"peak_memory_at_s", device.peakTime.value}});
  }
  return json::Object{{"step_time_s", step.stepTime.value},
                      {"tasks", step.tasks},
                      {"extrapolated", step.extrapolated},
                      {"devices", std::move(devices)}};
}

static json::Value reportedJson(const PlanReport &report, const ReportedPlan &plan, const Plan &searched) {
  json::Object object = costJson(plan.cost, searched.simulated);
  if (searched.simulated)
    object["simulated"] = simulatedJson(*searched.simulated);
  object["interval_90"] = intervalJson(plan.interval, bestTime(searched));
  object["measured_devices"] = unmeasuredDevices(report.cluster).empty();
  object["run_by"] = runnerText(report, plan.layout);
  if (isOwnStack(report.stack)) {
    std::string part = notCompiled(report, plan.layout);
    object["compiled"] = part.empty();
    if (!part.empty())
      object["not_compiled"] = part;
  }
  object["layout"] = toJson(plan.layout);
  object["summary"] = toString(plan.layout);
  json::Object time;
  for (int kind = 0; kind < timeKindCount; ++kind)
    time[toString(static_cast<TimeKind>(kind))] = plan.time.parts[kind].value;
  object["busiest_stage"] = plan.busiest;
  object["time_s"] = std::move(time);
  json::Array stages;
  for (const StageCost &stage : plan.cost.stages)
    stages.push_back(json::Object{{"forward_s", stage.forward.value},
                                  {"backward_s", stage.backward.value},
                                  {"weight_gradient_s", stage.weightGradient.value},
                                  {"communication_s", stage.communication.value},
                                  {"gradient_reduction_s", stage.gradientReduction.value},
                                  {"exposed_reduction_s", stage.exposedReduction.value},
                                  {"parameter_gather_s", stage.parameterGather.value},
                                  {"optimizer_s", stage.optimizer.value},
                                  {"memory_bytes", memoryJson(stage.memory)}});
  object["stages"] = std::move(stages);
  json::Array ops;
  for (const OpShare &share : opShares(report, plan))
    ops.push_back(json::Object{{"layer", share.layer},
                               {"op", share.name},
                               {"class", toString(share.kind)},
                               {"times", share.count},
                               {"forward_s", share.forward.value},
                               {"backward_s", share.backward.value},
                               {"step_s", share.total.value},
                               {"share_of_peak", share.computeShare},
                               {"share_of_bandwidth", share.bandwidthShare},
                               {"bound", share.bound},
                               {"kept_bytes", share.saved.value}});
  object["ops"] = std::move(ops);
  return object;
}

static json::Value infeasibilityJson(const PlanReport &report, const Infeasibility &infeasibility) {
  static constexpr llvm::StringLiteral limits[] = {"memory", "shape", "capability"};
  json::Object object{{"limit", limits[int(infeasibility.limit)]}, {"reason", infeasibility.reason}};
  if (infeasibility.closest) {
    object["closest"] = planJson(report, *infeasibility.closest);
    object["stage"] = infeasibility.stage;
    object["needed_bytes"] = infeasibility.needed.value;
    object["available_bytes"] = infeasibility.available.value;
  }
  json::Array relaxations;
  for (const PlanRelaxation &relaxation : infeasibility.relaxations)
    relaxations.push_back(json::Object{{"key", toString(relaxation.key)},
                                       {"from", relaxation.from},
                                       {"to", relaxation.to},
                                       {"plan", planJson(report, relaxation.plan)}});
  object["relaxations"] = std::move(relaxations);
  return object;
}

json::Value mlir::ppc::toJson(const PlanReport &report) {
  const PlanSearchResult &search = report.search;
  json::Array plans, frontier, alternatives, table, notes;
  for (size_t i = 0; i < report.plans.size(); ++i)
    plans.push_back(reportedJson(report, report.plans[i], report.search.plans[i]));
  for (const Plan &plan : search.frontier)
    frontier.push_back(planJson(report, plan));
  for (const PlanAlternative &alternative : search.alternatives) {
    json::Object object{
        {"key", toString(alternative.key)}, {"chosen", alternative.chosen}, {"other", alternative.other}};
    if (alternative.plan)
      object["plan"] = planJson(report, *alternative.plan),
      object["change"] = alternativeCost(report, *alternative.plan);
    if (!alternative.reason.empty())
      object["reason"] = alternative.reason;
    alternatives.push_back(std::move(object));
  }
  for (const SearchCount &count : search.table)
    table.push_back(json::Object{{"name", count.name}, {"count", count.count}});
  for (const std::string &note : search.notes)
    notes.push_back(note);
  const Device &device = report.cluster.device();
  json::Object result{
      {"model", json::Object{{"name", report.model.name},
                             {"layers", report.model.layers},
                             {"hidden", report.model.hidden},
                             {"parameters", countParameters(report.model).total}}},
      {"job", json::Object{{"sequence_tokens", report.job.sequence}, {"global_batch", report.job.globalBatch}}},
      {"cluster", json::Object{{"name", report.cluster.name},
                               {"devices", report.cluster.deviceCount()},
                               {"device", device.name},
                               {"memory_bytes", device.memory.value},
                               {"memory_limit_bytes", report.memoryLimit.value}}},
      {"stack", report.stack.name},
      {"stack_assumed", report.assumesStack},
      {"stack_caveat", stackCaveat(report.stack, report.cluster)},
      {"software", assumptionText(report)},
      {"run_by", report.plans.empty() ? std::string() : runnersText(report)},
      {"clock", llvm::any_of(search.plans, [](const Plan &plan) { return plan.simulated.has_value(); }) ? "replayed"
                                                                                                        : "formulas"},
      {"utilization", utilizationText(report, report.plans.empty() ? ParallelLayout() : report.plans[0].layout)},
      {"plans", std::move(plans)},
      {"frontier", std::move(frontier)},
      {"alternatives", std::move(alternatives)},
      {"search", std::move(table)},
      {"lower_bound_s", search.lowerBound.value},
      {"relaxed_bound_s", search.relaxedBound.value},
      {"gap", search.gap},
      {"ties", int64_t(search.ties)},
      {"simplest", int64_t(search.simplest)},
      {"notes", std::move(notes)}};
  if (report.tuning.isAny()) {
    json::Array phases;
    for (const TuningPhase &phase : report.phases)
      phases.push_back(json::Object{{"phase", phase.name},
                                    {"time_s", phase.time.value},
                                    {"clock", phase.isReplayed ? "replayed" : "formulas"},
                                    {"memory_bytes", phase.memory.value},
                                    {"note", phase.note}});
    result["fine_tuning"] = json::Object{
        {"what", tuningText(report.tuning)}, {"trained_parameters", report.trained}, {"phases", std::move(phases)}};
  }
  if (report.cluster.groups.size() > 1) {
    json::Array groups;
    for (size_t i = 0; i < report.cluster.groups.size(); ++i) {
      const DeviceGroup &group = report.cluster.groups[i];
      groups.push_back(json::Object{{"devices", group.count},
                                    {"device", group.device.name},
                                    {"memory_bytes", group.device.memory.value},
                                    {"memory_limit_bytes", report.groupLimits[i].value}});
    }
    result.getObject("cluster")->insert({"groups", std::move(groups)});
  }
  if (search.infeasibility)
    result["infeasible"] = infeasibilityJson(report, *search.infeasibility);
  return result;
}
