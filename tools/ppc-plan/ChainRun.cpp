// Models in MLIR with op-level sharding.
#include "PlanRun.h"
#include "ppc/Planning/Chain/ChainComparison.h"
#include "ppc/Planning/Files/ChainPlanFile.h"
#include "ppc/Reporting/ChainReport.h"
#include "ppc/Support/Heartbeat.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

using namespace mlir::ppc;

static int write(const PlanOptions &options, const ChainReport &report, llvm::raw_ostream &out) {
  const ChainPlan &best = report.search.plans.front();
  switch (options.emit) {
  case PlanOutput::Table:
    if (options.explain.empty())
      printChainPlans(report, out);
    for (const std::string &name : options.explain)
      if (llvm::Error error = printChainExplanation(report, name, out))
        return fail(std::move(error));
    return 0;
  case PlanOutput::Plan:
    out << "# " << report.model.name << " on " << report.cluster.name << ": " << toString(best.cost.stepTime)
        << " per step, " << toString(best.cost.peakMemory) << " per device (predicted)\n";
    writeChainPlan(report.model, best, out);
    return 0;
  case PlanOutput::Json:
    out << llvm::formatv("{0:2}\n", toJson(report));
    return 0;
  case PlanOutput::Html:
    return fail("--emit html shows transformers that degrees of parallelism describe; this program has --emit table, "
                "json and plan");
  case PlanOutput::Trace:
    return fail("--emit trace shows transformers that degrees of parallelism describe; this program has --emit table, "
                "json and plan");
  case PlanOutput::Export:
    return fail("--emit " + toString(options.target) +
                " writes degrees of parallelism; this program has shardings of single ops: use --emit table, json "
                "or plan");
  }
  return 1;
}

static int writeComparison(const PlanOptions &options, const ChainReport &report, const PlanReport &degrees,
                           const std::vector<ChainComparison> &comparisons, llvm::raw_ostream &out) {
  bool isBetter = !report.search.plans.empty();
  switch (options.emit) {
  case PlanOutput::Table:
    if (options.explain.empty()) {
      printPlans(degrees, out);
      printComparison(report, comparisons, out);
      return 0;
    }
    return writeReport(options, degrees, out);
  case PlanOutput::Plan:
    return isBetter ? write(options, report, out) : writeReport(options, degrees, out);
  case PlanOutput::Json: {
    llvm::json::Value value = toJson(degrees);
    (*value.getAsObject())["op_cuts"] = toJson(comparisons);
    out << llvm::formatv("{0:2}\n", value);
    return 0;
  }
  default:
    return writeReport(options, degrees, out);
  }
}

int mlir::ppc::planOps(const PlanOptions &options, const PlanInput &input, const PlanReport &degrees,
                       OutputFile &output) {
  std::optional<ModuleModel> read;
  if (!input.module) {
    llvm::Expected<ModuleModel> module = readModule(options.model, input.job);
    if (!module)
      return fail(module.takeError());
    read = std::move(*module);
  }
  const ModuleModel &module = input.module ? *input.module : *read;
  ChainRequest request{module.chain, input.cluster, input.stack};
  request.base = input.base;
  request.constraints = input.constraints;
  request.target = options.programs;
  request.memoryLimit = Bytes(options.memory);
  std::vector<ParallelLayout> layouts;
  for (const ReportedPlan &plan : llvm::ArrayRef(degrees.plans).take_front(kComparedPlans)) // whatever is listed
    layouts.push_back(plan.layout);
  Heartbeat::doing("search for op-level shardings");
  llvm::Expected<std::vector<ChainComparison>> comparisons = compareOpCuts(request, layouts);
  if (!comparisons)
    return fail(comparisons.takeError());
  // Op-level sharding is chosen only if it is clearly faster than the best plan by degrees, by the same measure.
  ChainReport report{module.chain, input.cluster, input.stack, *options.compiled, {}};
  const ChainComparison *best = nullptr;
  std::optional<Seconds> menu;
  for (const ChainComparison &comparison : *comparisons)
    if (comparison.menu && comparison.free) {
      menu = std::min(menu.value_or(comparison.menu->cost.stepTime), comparison.menu->cost.stepTime);
      if (!best || comparison.free->cost.stepTime < best->free->cost.stepTime)
        best = &comparison;
    }
  bool fastestHasNone = !comparisons->empty() && !comparisons->front().free; // the best plan by degrees shards nothing
  if (best && !fastestHasNone && best->free->cost.stepTime < 0.995 * *menu)
    report.search.plans.push_back(*best->free);
  return writeOutput(
      output, [&](llvm::raw_ostream &out) { return writeComparison(options, report, degrees, *comparisons, out); });
}

int mlir::ppc::planChain(const PlanOptions &options, const PlanInput &input, OutputFile &output) {
  const ModuleModel &module = *input.module;
  if (!module.shape && input.cuts.empty())
    note(options.model + " is not a transformer (" + module.notTransformer + "): its ops are sharded one by one");
  if (options.frontier)
    note("op-level sharding has no search of the time/memory frontier; --memory gives one plan of it");
  ChainRequest request{module.chain, input.cluster, input.stack};
  request.base = input.base;
  request.target = options.programs;
  if (const TargetCapabilities *target = options.programs)
    request.refuse = [target, &module](const ParallelLayout &layout) {
      std::string part = module.chain.refusals.of(layout, module.chain.batch);
      return part.empty() ? lackedAroundOps(*target, layout) : part;
    };
  request.constraints = input.constraints;
  request.cuts = input.cuts;
  request.memoryLimit = Bytes(options.memory);
  request.topK = options.top;
  Heartbeat::doing("search for op-level shardings");
  bool terminal = llvm::sys::Process::StandardErrIsDisplayed();
  if (terminal)
    llvm::errs() << "searching ...";
  llvm::Expected<ChainSearchResult> result = searchChainPlan(request);
  if (terminal)
    llvm::errs() << "\r\033[K";
  if (!result)
    return fail(result.takeError());
  if (result->plans.empty())
    return fail("no plan: " + result->reason);
  ChainReport report{module.chain, input.cluster, input.stack, *options.compiled, std::move(*result)};
  return writeOutput(output, [&](llvm::raw_ostream &out) { return write(options, report, out); });
}
