// One part of the best plan in full: time, memory, ops, timeline, search; a decision, a stage, an op.
#include "ppc/Reporting/PlanReport.h"

#include "ppc/Reporting/MemoryParts.h"
#include "ppc/Reporting/TextTable.h"
#include "ppc/Scheduling/ScheduleDrawing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace mlir::ppc;

/// Layers of a virtual stage that can be recomputed.
static int64_t recomputableOf(const PlanReport &report, const ReportedPlan &plan, int64_t stage) {
  return listChunks(layersPerChunk(report.model, plan.detail.costs.chunks))[stage].recomputable(report.model);
}

/// Those that are.
static int64_t recomputedOf(const PlanReport &report, const ReportedPlan &plan, int64_t stage) {
  return plan.layout.recomputedOf(stage, recomputableOf(report, plan, stage));
}

static void printMemory(const PlanReport &report, llvm::raw_ostream &out) {
  const ReportedPlan &plan = report.plans[0];
  out << "peak memory of a rank of each stage; ";
  for (size_t i = 0; i < report.groupLimits.size(); ++i) {
    const Device &device = report.cluster.groups[i].device;
    out << (i ? ", " : "") << toString(report.groupLimits[i]) << " of " << toString(device.memory);
    if (report.groupLimits.size() > 1)
      out << " on " << device.name;
  }
  out << " may be used\n";
  llvm::ArrayRef<int64_t> groups = plan.layout.stageGroups;
  bool byStage = !plan.layout.stageRecomputedLayers.empty();
  std::vector<std::string> header{"stage"};
  if (!groups.empty())
    header.push_back("device");
  if (byStage)
    header.push_back("recomputed");
  for (const MemoryPart &part : memoryParts)
    header.push_back(part.name.str());
  header.insert(header.end(), {"total", "of the limit"});
  TextTable table(std::move(header));
  for (size_t i = 0; i < plan.cost.stages.size(); ++i) {
    const MemoryBreakdown &memory = plan.cost.stages[i].memory;
    std::vector<std::string> cells{std::to_string(i)};
    if (!groups.empty())
      cells.push_back(stageDevice(report, plan.layout, int64_t(i)).name);
    if (byStage) {
      int64_t recomputed = 0, all = 0;
      for (const PipelineChunk &place : plan.detail.chunks[i]) {
        recomputed += recomputedOf(report, plan, place.stage);
        all += recomputableOf(report, plan, place.stage);
      }
      cells.push_back(std::to_string(recomputed) + " of " + std::to_string(all));
    }
    for (const MemoryPart &part : memoryParts)
      cells.push_back(toString(memory.*part.bytes));
    cells.push_back(toString(memory.total()));
    cells.push_back(percentText(memory.total() / report.groupLimits[groups.empty() ? 0 : groups[i]]));
    table.row(std::move(cells));
  }
  table.print(out, "  ");
}

static void printTime(const PlanReport &report, llvm::raw_ostream &out) {
  const ReportedPlan &plan = report.plans[0];
  out << "time of the step on stage " << plan.busiest << ", the busiest\n";
  TextTable table({"kind", "time", "share"});
  for (int kind = 0; kind < timeKindCount; ++kind)
    if (plan.time.parts[kind].value != 0)
      table.row({toString(static_cast<TimeKind>(kind)).str(), toString(plan.time.parts[kind]),
                 percentText(plan.time.parts[kind] / plan.cost.stepTime)});
  table.row(
      {report.search.plans[0].simulated ? "step by formulas" : "step", toString(plan.cost.stepTime), percentText(1)});
  table.print(out, "  ");
  out << "of what the devices could do, " << percentText(plan.cost.mfu) << " goes into the model (MFU) and "
      << percentText(plan.cost.hfu) << " into matmuls, recomputed ones too (HFU)\n"
      << utilizationText(report, plan.layout) << '\n';
  out << "per stage and micro-batch\n";
  TextTable stages({"stage", "forward", "backward", "weight gradient", "exposed comm.", "gradient reduction",
                    "of it exposed", "optimizer", "parameter gather"});
  for (size_t i = 0; i < plan.cost.stages.size(); ++i) {
    const StageCost &stage = plan.cost.stages[i];
    stages.row({std::to_string(i), toString(stage.forward), toString(stage.backward), toString(stage.weightGradient),
                toString(stage.communication), toString(stage.gradientReduction), toString(stage.exposedReduction),
                toString(stage.optimizer), toString(stage.parameterGather)});
  }
  stages.print(out, "  ");
}

static void printOps(const PlanReport &report, llvm::raw_ostream &out) {
  const ReportedPlan &plan = report.plans[0];
  out << "ops of stage " << plan.busiest << ", longest first; shares of peak and bandwidth are of forward\n";
  TextTable table({"layer", "op", "class", "times", "forward", "backward", "of the step", "of peak", "of bandwidth",
                   "bound by", "kept"});
  for (const OpShare &share : opShares(report, plan)) {
    bool link = share.kind == OpClass::Communication;
    table.row({share.layer.str(), share.name.str(), toString(share.kind).str(), std::to_string(share.count),
               toString(share.forward), toString(share.backward), percentText(share.total / plan.cost.stepTime),
               share.computeShare > 0 ? percentText(share.computeShare) : "",
               link ? "" : percentText(share.bandwidthShare), share.bound.str(), toString(share.saved)});
  }
  table.print(out, "  ");
}

static llvm::Error printTimeline(const PlanReport &report, llvm::raw_ostream &out) {
  const ReportedPlan &plan = report.plans[0];
  llvm::Expected<ScheduleTimeline> timeline = stepTimeline(plan);
  if (!timeline)
    return timeline.takeError();
  // A cell is the shortest action of the step that there are many of; at most about 200 cells wide.
  Seconds cell = timeline->stepTime;
  size_t actions = 0;
  for (const std::vector<TimedAction> &device : timeline->devices) {
    actions = std::max(actions, device.size());
    for (const TimedAction &timed : device)
      if (timed.end > timed.start)
        cell = std::min(cell, timed.end - timed.start);
  }
  cell = std::max(cell, timeline->stepTime / 200);
  out << plan.detail.schedule->name << ", " << plan.detail.shape.devices
      << (plan.detail.shape.devices == 1 ? " stage, " : " stages, ") << plan.detail.shape.microBatches
      << (plan.detail.shape.microBatches == 1 ? " micro-batch" : " micro-batches") << "; one cell is " << toString(cell)
      << "\n"
      << drawSchedule(*timeline, cell);
  if (actions > 200)
    out << "(" << actions << " actions per stage: many are shorter than a cell; --emit trace or html shows all)\n";
  return llvm::Error::success();
}

static void printSearchTable(const PlanReport &report, llvm::raw_ostream &out) {
  out << "what the search did with the layouts\n";
  TextTable table({"step", "layouts"});
  for (const SearchCount &count : report.search.table)
    table.row({count.name, groupedText(double(count.count))});
  table.print(out, "  ");
  out << "lower bound " << toString(report.search.lowerBound) << ", gap " << percentText(report.search.gap)
      << "; without pipeline and data-parallel costs nothing takes less than " << toString(report.search.relaxedBound)
      << '\n';
}

std::string mlir::ppc::nothingToDecide(const PlanReport &report, PlanKey key) {
  const ParallelLayout &layout = report.plans[0].layout;
  switch (key) {
  case PlanKey::Vp:
  case PlanKey::Schedule:
    return layout.pp == 1 ? "there is one pipeline stage and nothing to schedule" : "";
  case PlanKey::Context:
    return layout.cp == 1 ? "sequences are not sharded (cp is 1)" : "";
  case PlanKey::SequenceParallel:
    return layout.tp == 1 ? "there is nothing to shard along the sequence while tp is 1" : "";
  case PlanKey::Ep:
  case PlanKey::Etp:
    return report.model.moe ? "" : "the model has no experts";
  case PlanKey::Zero:
    return layout.dataRanks() == 1 && (!report.model.moe || layout.expertDataRanks() == 1)
               ? "no two ranks hold the same state"
               : "";
  case PlanKey::ShardGroup:
    return layout.zero == 0 ? "no state is sharded (zero is 0)" : "";
  case PlanKey::RecomputedLayers:
    return layout.recompute != Recompute::Full ? "no whole layers are recomputed" : "";
  default:
    return "";
  }
}

/// Why no other value of a decision was looked for.
static std::string whyNoAlternative(const PlanReport &report, PlanKey key) {
  switch (key) {
  case PlanKey::Devices:
    return "as many are used as make the shortest step; --pin devices=N asks for exactly N";
  case PlanKey::Precision:
  case PlanKey::Attention:
    return ("not searched; --" + toString(key) + " asks for another").str();
  case PlanKey::RecomputedLayers:
    return "it follows from what fits: as few as memory allows on each device (--explain memory)";
  default:
    break;
  }
  if (report.cluster.groups.size() > 1)
    return "other decisions are not searched on clusters of several groups of devices; pins compare them";
  return "no other value was looked for";
}

static bool printDecision(const PlanReport &report, PlanKey key, llvm::raw_ostream &out) {
  const ReportedPlan &plan = report.plans[0];
  if (std::string why = nothingToDecide(report, key); !why.empty()) {
    out << toString(key) << " is not a decision of this plan: " << why << '\n';
    return true;
  }
  int64_t value = planValue(plan.layout, key);
  out << toString(key) << " is " << planValueText(key, value) << '\n';
  for (const PlanAlternative &alternative : report.search.alternatives) {
    if (alternative.key != key)
      continue;
    if (!alternative.plan) {
      out << "nothing else: " << alternative.reason << '\n';
      return true;
    }
    const Plan &other = *alternative.plan, &chosen = report.search.plans[0];
    bool replayed = chosen.simulated && other.simulated;
    Seconds first = replayed ? chosen.simulated->stepTime : plan.cost.stepTime;
    Seconds second = replayed ? other.simulated->stepTime : other.cost.stepTime;
    out << "next best is " << alternative.other << ": " << toString(second) << " instead of " << toString(first)
        << " per step" << (replayed ? " replayed" : "") << " (" << (second < first ? "" : "+")
        << fixedText(100 * alternativeCost(report, other), 1) << " %), " << toString(other.cost.peakMemory)
        << " instead of " << toString(plan.cost.peakMemory) << "\n  " << toString(other.layout)
        << "\nby the formulas\n";
    StepEstimator estimator;
    llvm::Expected<ReportedPlan> reported = reportPlan(report, other.layout, estimator);
    if (!reported) {
      llvm::consumeError(reported.takeError());
      return true;
    }
    const TimeBreakdown &time = reported->time;
    TextTable table({"kind", "chosen", "next best", "difference"});
    for (int kind = 0; kind < timeKindCount; ++kind) {
      Seconds first = plan.time.parts[kind], second = time.parts[kind];
      if (first.value != 0 || second.value != 0)
        table.row({toString(static_cast<TimeKind>(kind)).str(), toString(first), toString(second),
                   differenceText(second - first, plan.cost.stepTime)});
    }
    table.row({"step", toString(plan.cost.stepTime), toString(other.cost.stepTime),
               differenceText(other.cost.stepTime - plan.cost.stepTime, plan.cost.stepTime)});
    table.print(out, "  ");
    return true;
  }
  out << "nothing else: " << whyNoAlternative(report, key) << '\n';
  return true;
}

static llvm::Error printStage(const PlanReport &report, llvm::StringRef text, llvm::raw_ostream &out) {
  const ReportedPlan &plan = report.plans[0];
  int64_t stage = 0;
  if (text.getAsInteger(10, stage) || stage < 0 || stage >= int64_t(plan.cost.stages.size()))
    return llvm::createStringError("stage:" + text.take_front(20) + ": the plan's last stage is " +
                                   llvm::Twine(plan.cost.stages.size() - 1));
  const StageCost &cost = plan.cost.stages[stage];
  for (const PipelineChunk &place : plan.detail.chunks[stage]) {
    const ChunkCost &chunk = plan.detail.costs.chunks[place.stage];
    out << "stage " << stage << ", part " << place.stage << " of the model";
    for (int kind = 0; kind < layerKinds; ++kind)
      if (chunk.count[kind])
        out << ", " << chunk.count[kind] << " x " << layerKindName(kind);
    out << "\n  forward " << toString(chunk.durations.forward) << ", backward " << toString(chunk.durations.backward)
        << ", weight gradient " << toString(chunk.durations.weightGradient)
        << " per micro-batch; of it exposed communication " << toString(chunk.communication + chunk.stateExchange)
        << "\n  " << countText(chunk.parameters + chunk.expertParameters) << " parameters per rank, "
        << toString(chunk.kept) << " of activations per micro-batch\n";
    if (plan.layout.recompute == Recompute::Full)
      out << "  " << recomputedOf(report, plan, place.stage) << " of " << recomputableOf(report, plan, place.stage)
          << " layers are recomputed\n";
  }
  out << "  memory " << toString(cost.memory.total()) << ":";
  const char *comma = " ";
  for (const MemoryPart &part : memoryParts)
    if ((cost.memory.*part.bytes).value > 0) {
      out << comma << part.name << ' ' << toString(cost.memory.*part.bytes);
      comma = ", ";
    }
  out << '\n';
  return llvm::Error::success();
}

static bool printOp(const PlanReport &report, llvm::StringRef name, llvm::raw_ostream &out) {
  bool found = false;
  const ReportedPlan &plan = report.plans[0];
  for (const OpShare &share : opShares(report, plan)) {
    if (share.name != name)
      continue;
    found = true;
    out << share.name << " of " << share.layer << " (" << toString(share.kind) << "): " << share.count
        << " times per step on stage " << plan.busiest << ", forward " << toString(share.forward) << ", backward "
        << toString(share.backward) << ", " << percentText(share.total / plan.cost.stepTime) << " of the step\n  ";
    if (share.kind == OpClass::Communication)
      out << "exposed time on the link";
    else
      out << "forward runs at " << percentText(share.computeShare) << " of the peak and "
          << percentText(share.bandwidthShare) << " of the memory bandwidth, bound by " << share.bound;
    out << "; keeps " << toString(share.saved) << " per micro-batch for backward\n";
  }
  return found;
}

llvm::Error mlir::ppc::printExplanation(const PlanReport &report, llvm::StringRef name, llvm::raw_ostream &out) {
  if (report.plans.empty())
    return llvm::createStringError("there is no plan to explain");
  if (name == "memory")
    return printMemory(report, out), llvm::Error::success();
  if (name == "time")
    return printTime(report, out), llvm::Error::success();
  if (name == "ops")
    return printOps(report, out), llvm::Error::success();
  if (name == "timeline")
    return printTimeline(report, out);
  if (name == "search")
    return printSearchTable(report, out), llvm::Error::success();
  if (name.starts_with("stage:"))
    return printStage(report, name.drop_front(6), out);
  if (printOp(report, name, out))
    return llvm::Error::success();
  llvm::Expected<PlanKey> key = parsePlanKey(name);
  if (key)
    return printDecision(report, *key, out), llvm::Error::success();
  llvm::consumeError(key.takeError());
  std::set<std::string> ops;
  for (const OpShare &share : opShares(report, report.plans[0]))
    ops.insert(share.name.str());
  return llvm::createStringError(
      "nothing to explain is called '" + name.take_front(60) +
      "'; possible are time, memory, ops, timeline, search, stage:N, a property of the layout (tp, "
      "micro_batch, ...), and the ops " +
      llvm::join(ops, ", "));
}
