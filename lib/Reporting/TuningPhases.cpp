// Fine-tuning in reports: the trained weights, and other models that take part in a step.
#include "ppc/Reporting/PlanReport.h"
#include "ppc/Reporting/TextTable.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

/// Forwards alone: micro-batches follow each other through the stages at the pace of the slowest.
static Seconds forwardTime(const PlanReport &report, const ReportedPlan &plan) {
  Seconds slowest;
  for (const StageCost &stage : plan.cost.stages)
    slowest = std::max(slowest, stage.forward);
  return double(plan.layout.microBatches(report.job) + plan.layout.pp - 1) * slowest;
}

namespace {
/// Engines that generate: each holds the whole model on `tensor` devices, weights in 16 bits.
struct Generation {
  int64_t tensor = 0;     // devices of an engine; 0: the weights fit on no node
  int64_t concurrent = 0; // sequences of an engine at a time
  Bytes weights, cache;   // bytes on a device
  Seconds time;
};
} // namespace

/// Bytes of keys and values of one token.
static double cacheBytes(const ModelShape &model) {
  if (model.latent)
    return 2 * double(model.layers) * double(model.latent.keyValueRank + model.latent.ropeHeadDim);
  return 2 * 2 * double(model.layers) * double(model.kvHeads * model.headDim);
}

/// Decoding reads all weights that the batch touches and all keys and values once per token; each device its share. Two
/// all-reduces per layer cost their floor.
static Generation planGeneration(const FineTuning &tuning, const ModelShape &model, const PlanReport &report,
                                 Bytes free) {
  const Cluster &cluster = report.cluster;
  const Device &device = cluster.device();
  Generation best;
  double weights = 2 * double(countParameters(model).total), perToken = cacheBytes(model);
  double sequences = double(report.job.globalBatch), length = double(report.job.sequence);
  double generated = length - double(tuning.promptLength);
  double bandwidth = device.memoryBandwidth.value * device.memoryEfficiency;
  for (int64_t tensor = 1; tensor <= cluster.unitSize() && model.heads % tensor == 0; tensor *= 2) {
    double left = free.value - weights / double(tensor);
    double cached = perToken * length / double(std::min(tensor, model.latent ? 1 : model.kvHeads));
    int64_t fits = left > 0 ? int64_t(left / cached) : 0;
    if (fits < 1)
      continue;
    double engines = std::max<double>(1, double(cluster.deviceCount() / tensor));
    double each = std::ceil(sequences / engines);
    int64_t concurrent = int64_t(std::min<double>(double(fits), each));
    double touched = model.moe ? std::min(1.0, double(countParameters(model).active) /
                                                   double(countParameters(model).total) * double(concurrent))
                               : 1;
    double bytes = weights * touched / double(tensor) + double(concurrent) * cached * (1 - generated / length / 2);
    double exchange = tensor > 1 ? 2 * double(model.layers) * cluster.levels().front().constants.floor.value : 0;
    Seconds time(std::ceil(each / double(concurrent)) * generated * (bytes / bandwidth + exchange));
    if (!best.tensor || time < best.time)
      best = {tensor, concurrent, Bytes(weights / double(tensor)), Bytes(double(concurrent) * cached), time};
  }
  return best;
}

llvm::Error mlir::ppc::addPhases(const FineTuning &tuning, const ModelShape &model, PlanReport &report) {
  report.tuning = tuning;
  if (!tuning.isAny() || report.plans.empty())
    return llvm::Error::success();
  report.trained = trainedParameters(tuning, model);
  if (tuning.objective == Objective::NextToken)
    return llvm::Error::success();
  const ReportedPlan &plan = report.plans[0];
  const MemoryBreakdown &memory = plan.cost.stages[plan.cost.worstStage].memory;
  Bytes resident = memory.parameters + memory.gradients + memory.optimizer + memory.framework;
  Seconds forward = forwardTime(report, plan);
  std::string reference = tuning.adapterRank ? "the policy without its adapters: no weights of its own"
                                             : "a copy of the weights in 16 bits, sharded like the policy's";
  if (tuning.objective == Objective::Grpo) {
    Bytes free = report.memoryLimit - resident;
    Generation generation = planGeneration(tuning, model, report, free);
    if (!generation.tensor)
      return llvm::createStringError(
          llvm::formatv(
              "no device can generate while its training state stays: {0} of a device are free besides {1} that stay, "
              "and "
              "the weights of {2} in 16 bits with one sequence of {3} tokens need more at every tensor-parallel degree "
              "within a node",
              toString(free), toString(resident), model.name, report.job.sequence)
              .str());
    report.phases.push_back(
        {"policy: generation", generation.time, resident + generation.weights + generation.cache,
         llvm::formatv(
             "engines of {0} devices, {1} sequences of each at a time; decoding at the memory's bandwidth, prompts not "
             "counted",
             generation.tensor, generation.concurrent)
             .str()});
    report.phases.push_back({"policy: log-probabilities", forward, resident,
                             "a forward of the sequences that were generated, by closed formulas"});
  }
  report.phases.push_back({"reference: forward", forward, resident, reference + ", by closed formulas"});
  const Plan &searched = report.search.plans[0];
  report.phases.push_back({"policy: training", bestTime(searched), plan.cost.peakMemory,
                           searched.simulated ? "plan 1, replayed" : "plan 1, by closed formulas",
                           searched.simulated.has_value()});
  return llvm::Error::success();
}

void mlir::ppc::printTuning(const PlanReport &report, llvm::raw_ostream &out) {
  if (!report.tuning.isAny())
    return;
  double all = double(countParameters(report.model).total);
  out << "fine-tuning: " << tuningText(report.tuning) << "; " << countText(report.trained) << " of " << countText(all)
      << " parameters are trained (" << percentText(report.trained / all) << ")\n";
  if (report.phases.empty())
    return;
  out << "\nphases of a step of plan 1\n";
  TextTable table({"phase", "time", "memory", ""});
  Seconds sum;
  for (const TuningPhase &phase : report.phases) {
    table.row({phase.name, toString(phase.time), toString(phase.memory), phase.note});
    sum += phase.time;
  }
  table.row({"step", toString(sum), "", ""});
  table.print(out, "  ");
}
