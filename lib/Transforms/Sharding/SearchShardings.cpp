// ppc-search-shardings: templates out of the IR, the search over them, its answer back into the IR as a plan.
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ModuleTarget.h"
#include "ppc/Analysis/OpSharding.h"
#include "ppc/Analysis/ProgramChain.h"
#include "ppc/Planning/Chain/TemplateSearch.h"
#include "ppc/Transforms/Sharding/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SEARCHSHARDINGSPASS
#include "ppc/Transforms/Sharding/Passes.h.inc"

namespace {

struct SearchShardingsPass : impl::SearchShardingsPassBase<SearchShardingsPass> {
  using SearchShardingsPassBase::SearchShardingsPassBase;

  void runOnOperation() override {
    if (failed(search()))
      signalPassFailure();
  }

private:
  LogicalResult search();
  FailureOr<Cluster> findMachine();
  FailureOr<int64_t> countMicroBatches(const ProgramChain &program);
  LogicalResult report(const ExtractedTemplates &templates, const TemplateSearchResult &result, TemplateSearch &search);

  /// Name of axis `axis` of the searched part of the grid.
  StringAttr axisName(int axis) {
    std::string name = tensorParallel.size() == 1 ? "tp" : "tp" + std::to_string(axis);
    return StringAttr::get(&getContext(), name);
  }

  std::vector<LayoutAxis> axes;
};

FailureOr<Cluster> SearchShardingsPass::findMachine() {
  int64_t devices = dp;
  for (int64_t size : tensorParallel) {
    if (size < 1)
      return getOperation().emitError() << "tensor-parallel has an axis of " << size << " ranks, expected 1 or more";
    devices *= size;
    axes.push_back({axisName(int(axes.size())).str(), size});
  }
  if (dp < 1 || microBatch < 1 || memoryLimit < 0)
    return getOperation().emitError() << "dp and micro-batch must be 1 or more and memory-limit not negative; they are "
                                      << dp.getValue() << ", " << microBatch.getValue() << " and "
                                      << memoryLimit.getValue();
  bool isLocal = cluster == "local"; // as many ranks as are asked for, whatever the number of cores
  llvm::Expected<Cluster> machine = findCluster(isLocal ? "local:" + std::to_string(devices) : cluster.getValue());
  if (!machine)
    return getOperation().emitError() << llvm::toString(machine.takeError());
  if (machine->deviceCount() < devices)
    return getOperation().emitError() << "the layout has " << devices << " ranks, cluster '" << cluster << "' has "
                                      << machine->deviceCount() << " devices";
  if (machine->groups.size() > 1)
    return getOperation().emitError() << "cluster '" << cluster
                                      << "' has groups of different devices; layouts are searched for one kind";
  return *machine;
}

FailureOr<int64_t> SearchShardingsPass::countMicroBatches(const ProgramChain &program) {
  int64_t batch = program.model.batch;
  if (program.model.batchDimensions.empty())
    return 1;
  if (batch % (dp * microBatch))
    return program.function->emitOpError() << "global batch of " << batch << " sequences is not a multiple of dp "
                                           << dp.getValue() << " times micro-batch " << microBatch.getValue();
  return batch / (dp * microBatch);
}

LogicalResult SearchShardingsPass::search() {
  axes.clear();
  FailureOr<ProgramChain> program = readProgramChain(getOperation());
  if (failed(program))
    return failure();
  FailureOr<Cluster> machine = findMachine();
  if (failed(machine))
    return failure();
  FailureOr<int64_t> microBatches = countMicroBatches(*program);
  if (failed(microBatches))
    return failure();
  llvm::Expected<const TargetCapabilities *> capabilities = findTargetCapabilities(target);
  if (!capabilities)
    return getOperation().emitError() << llvm::toString(capabilities.takeError());
  setModuleTarget(getOperation(), **capabilities);
  TemplateChain &chain = program->templates.chain;
  for (const ChainModel::BatchDimension &place : program->model.batchDimensions)
    if (chain.templates[place.templateIndex].values[place.value].shape[place.dim] ==
        program->model.batch) // not reached before
      cutDimension(chain, place.templateIndex, place.value, place.dim, dp * *microBatches);

  TemplatePricing pricing{*machine, axes};
  pricing.dataRanks = dp;
  pricing.precision = program->precision;
  pricing.microBatches = *microBatches;
  pricing.regather = false; // as if all that is gathered were kept
  pricing.allowLayout = cutsRowsEvenly(axes);
  pricing.allowStrategy = [&](const OpTemplate &, const TemplateOp &op, const OpStrategy &strategy) {
    return runs(**capabilities, op, strategy);
  };
  TemplateSearch search(pricing, chain);
  llvm::Expected<TemplateSearchResult> result = search.run(Bytes(double(memoryLimit)));
  if (!result)
    return program->function.emitOpError() << llvm::toString(result.takeError());
  ChainLayout layout;
  layout.axes = axes;
  layout.dp = dp;
  layout.microBatches = *microBatches;
  getOperation()->setAttr(attr::plan, makePlanAttr(*program, layout, *result));
  OpCuts cuts{axes, {}};
  for (const TemplateSearchResult::Layer &layer : result->layers)
    cuts.layers.push_back(result->choices[layer.index][layer.choice].strategies);
  writeFactors(*program, cuts, dp > 1 ? ArrayRef<StringRef>{"dp"} : ArrayRef<StringRef>());
  return report(program->templates, *result, search);
}

LogicalResult SearchShardingsPass::report(const ExtractedTemplates &templates, const TemplateSearchResult &result,
                                          TemplateSearch &search) {
  if (!getContext().getRemarkEngine())
    return success();
  llvm::Expected<std::vector<OpExplanation>> explanations = search.explain(result);
  if (!explanations)
    return getOperation().emitError() << llvm::toString(explanations.takeError());
  auto options = [](StringRef name) { return remark::RemarkOpts::name(name).category("ppc-plan"); };
  remark::analysis(getOperation().getLoc(), options("shardings"))
      << remark::metric("Time", toString(result.time)) << remark::metric("LowerBound", toString(result.lowerBound))
      << remark::metric("Memory", toString(result.memory)) << remark::metric("Layers", int64_t(result.layers.size()))
      << remark::metric("Templates", int64_t(templates.chain.templates.size()));
  for (const OpExplanation &explanation : *explanations) {
    size_t layer = llvm::find_if(result.layers, [&](auto &at) { return at.index == explanation.templateIndex; }) -
                   result.layers.begin();
    const TemplateOp &data = templates.chain.templates[explanation.templateIndex].ops[explanation.op];
    const ExtractedTemplates::Layer &place = templates.layers[layer];
    Operation *op = place.ops[explanation.op];
    for (int value :
         llvm::concat<const int>(data.results, data.operands)) // pieces of an op stand where their values are
      if (!op && place.values[value])
        op = place.values[value].getDefiningOp();
    Location loc = op ? op->getLoc() : getOperation().getLoc();
    auto remark = remark::passed(loc, options("strategy"));
    remark << remark::metric("Op", data.name) << remark::metric("Strategy", toString(data, explanation.chosen, axes))
           << remark::metric("Forward", toString(explanation.kernels.forward))
           << remark::metric("Backward", toString(explanation.kernels.backward));
    if (!explanation.runnerUp) {
      remark << remark::metric("RunnerUp", "none");
      continue;
    }
    const OpExplanation::RunnerUp &other = *explanation.runnerUp;
    remark << remark::metric("RunnerUp", toString(data, other.strategy, axes))
           << remark::metric("Slower", toString(Seconds(other.slower)))
           << remark::metric("MoreKernelTime", toString(Seconds(other.moreKernelTime)))
           << remark::metric("MoreDataMovement", toString(Seconds(other.slower - other.moreKernelTime)))
           << remark::metric("MoreMemory", toString(Bytes(other.moreMemory)));
  }
  return success();
}

} // namespace
} // namespace mlir::ppc
