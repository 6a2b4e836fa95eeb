// Caveats of predicted numbers: their definitions, missing comparisons with measurements, and the programs that run a
// plan today.
#include "ppc/CostModel/OffloadWindow.h"
#include "ppc/Planning/TrainingSoftware.h"
#include "ppc/Reporting/PlanExport.h"
#include "ppc/Reporting/PlanReport.h"
#include "ppc/Reporting/TextTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

std::string mlir::ppc::utilizationText(const PlanReport &report, const ParallelLayout &layout) {
  std::string peaks;
  for (const DeviceGroup &group : report.cluster.groups) {
    Precision precision = productPrecision(group.device, layout.precision);
    std::string peak = flopsText(group.device.peakOf(precision).value) + "/s " + toString(precision).str();
    if (!llvm::StringRef(peaks).contains(peak))
      peaks += (peaks.empty() ? "" : " or ") + peak;
  }
  const ModelShape &model = report.model;
  const int64_t sequence = report.job.sequence;
  const bool all = countsAllKeys(model, sequence), window = model.slidingWindow && model.slidingWindow < sequence;
  llvm::StringRef weights = !all     ? "what each token is multiplied with, forward and backward,"
                            : window ? "6 N + 12 L H Q K FLOP per token"
                                     : "6 N + 12 L H Q T FLOP per token";
  if (all && report.stack.adapterRank)
    weights = window ? "4 N (frozen weights have no gradient) + 12 L H Q K FLOP per token"
                     : "4 N (frozen weights have no gradient) + 12 L H Q T FLOP per token";
  std::string text = "MFU: " + weights.str() + " over a peak of " + peaks + " per device; attention counts ";
  text += !all     ? "the keys that a query sees (6 N + 12 L H Q T would count over a fifth more than is multiplied)"
          : window ? "all keys of a layer's window (K), masked ones too (not halved for being causal)"
                   : "all keys, masked ones too (not halved for being causal)";
  if (!report.plans.empty())
    text += "\nHFU: all matmuls that are computed, recomputed ones too, over the same peak: " +
            percentText(report.plans[0].cost.hfu) + " for plan 1";
  return text;
}

std::string mlir::ppc::unmeasuredDevices(const Cluster &cluster) {
  std::vector<std::string> names;
  for (const DeviceGroup &group : cluster.groups)
    if (!group.device.measured && !llvm::is_contained(names, group.device.name))
      names.push_back(group.device.name);
  return llvm::join(names, ", ");
}

static bool isHost(const Cluster &cluster) {
  return llvm::all_of(cluster.groups, [](const DeviceGroup &group) {
    return llvm::StringRef(group.device.architecture).starts_with("x86");
  });
}

bool mlir::ppc::isOwnStack(const Stack &stack) {
  return stack.name == "ppc" ||
         llvm::any_of(targetCapabilities(), [&](const auto *target) { return stack.name == target->stack; });
}

std::string mlir::ppc::stackCaveat(const Stack &stack, const Cluster &cluster) {
  if (isHost(cluster))
    return "";
  if (stack.name == cudaCapabilities().stack)
    return "stack " + stack.name +
           " is what programs of the CUDA target do; no GPU has run them yet; without --target, stack ppc plans what "
           "they "
           "are designed to do";
  if (stack.name != "ppc")
    return "";
  return "stack ppc models what PPC's programs are designed to do on such devices: today programs run on CPUs, no GPU "
         "has run those of the CUDA target yet; --target cuda plans programs of that target, with their costs";
}

std::string mlir::ppc::notCompiled(const PlanReport &report, const ParallelLayout &layout) {
  if (report.tuning.isAny())
    return tuningText(report.tuning);
  std::string part = report.refusals.of(layout, report.job.globalBatch);
  return part.empty() ? lackedBy(*report.target, report.model, layout) : part;
}

std::string mlir::ppc::assumptionText(const PlanReport &report) {
  if (!report.assumesStack)
    return "";
  return "no option names the software that runs the plans: stack " + report.stack.name +
         " is assumed. --target host or cuda plans what ppc-compile runs, --stack megatron-core, fsdp, ... what other "
         "software runs (--list-stacks), --stack FILE.yaml one's own";
}

std::string mlir::ppc::runnerText(const PlanReport &report, const ParallelLayout &layout) {
  if (isOwnStack(report.stack)) {
    std::string part = notCompiled(report, layout);
    return part.empty() ? "ppc-compile runs it" : "nothing here runs it (ppc-compile cannot run " + part + ")";
  }
  const TrainingSoftware *software = softwareOf(report.stack);
  if (std::string part = software ? lackingPart(*software, report.model, layout) : ""; !part.empty())
    return "nothing runs it (" + report.stack.name + " cannot run " + part + ")";
  std::vector<std::string> exports;
  for (int target = 0; target < exportTargetCount; ++target)
    if (stackOf(ExportTarget(target)) == report.stack.name)
      exports.push_back("--emit " + toString(ExportTarget(target)).str());
  return exports.empty() ? "nothing here runs it or writes files for stack " + report.stack.name
                         : llvm::join(exports, " or ") + " writes it for " + report.stack.name;
}

std::string mlir::ppc::runnersText(const PlanReport &report) {
  std::vector<std::pair<std::string, std::string>> runners; // runner, numbers of its plans
  for (auto [number, plan] : llvm::enumerate(report.plans)) {
    std::string text = runnerText(report, plan.layout), name = std::to_string(number + 1);
    auto known = llvm::find_if(runners, [&](const auto &other) { return other.first == text; });
    if (known == runners.end())
      runners.push_back({text, name});
    else
      known->second += ", " + name;
  }
  std::string text;
  for (const auto &[runner, numbers] : runners)
    text += (text.empty() ? "" : "; ") + numbers + ": " + runner;
  return text;
}

/// Reason why state that is to be offloaded stays on the device.
static std::string idleOffload(const ParallelLayout &layout, const Stack &stack) {
  std::string why;
  bool byLayers = stack.offloadsLayers && layout.offload == Offload::Activations;
  if (offloadsActivations(layout.offload) && !layout.copiesActivations() && !byLayers)
    why = "activations stay on the device: there is one virtual stage, and it keeps those of one micro-batch at a "
          "time; several (pp or vp above 1) take turns";
  if (offloadsParameters(layout.offload) && !layout.copiesParameters())
    why += llvm::formatv("{0}parameters stay on the device: no device has more than {1} virtual stages that it "
                         "computes in one go in each direction, as with schedule breadth-first and a vp above {1}",
                         why.empty() ? "" : "; ", kParametersAtOnce)
               .str();
  return why;
}

std::string mlir::ppc::whyIdle(const PlanReport &report, PlanKey key) {
  if (std::string why = nothingToDecide(report, key); !why.empty())
    return why;
  const ParallelLayout &layout = report.plans[0].layout;
  const int64_t all = layout.shardRanks();
  auto idleGroup = [&](llvm::StringRef what, int64_t leastLevel, int64_t ranks) -> std::string {
    if (layout.zero < leastLevel)
      return llvm::formatv("no {0} are sharded (zero is below {1})", what, leastLevel);
    if (ranks != all)
      return "";
    return llvm::formatv("these are all {0} ranks of the shard group, which shard its {1} without it", all, what);
  };
  switch (key) {
  case PlanKey::Offload:
    return idleOffload(layout, report.stack);
  case PlanKey::ShardGroup:
    return layout.shardRanks() == layout.dataRanks()
               ? llvm::formatv(
                     "these are all {0} data-parallel ranks, which share one copy of the sharded state without it", all)
                     .str()
               : "";
  case PlanKey::GradientGroup:
    return idleGroup("gradients", 2, layout.gradientRanks());
  case PlanKey::ParameterGroup:
    return idleGroup("parameters", 3, layout.parameterRanks());
  case PlanKey::Attention:
    return report.stack.attentionOfProducts ? "programs of stack " + report.stack.name + " compute it by matmuls" : "";
  default:
    return "";
  }
}
