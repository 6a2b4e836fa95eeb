// ppc-search-shardings: templates out of the IR, the search over them, its answer back into the IR as a plan.
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/OpSharding.h"
#include "ppc/Analysis/TemplateExtraction.h"
#include "ppc/Planning/TemplateSearch.h"
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
  LogicalResult cutIntoMicroBatches(func::FuncOp function, ExtractedTemplates &templates, int64_t &microBatches);
  Precision precisionOf(func::FuncOp function);
  void writePlan(func::FuncOp function, const ExtractedTemplates &templates, const TemplateSearchResult &result,
                 int64_t microBatches);
  void writeFactors(const ExtractedTemplates &templates, const TemplateSearchResult &result);
  LogicalResult report(const ExtractedTemplates &templates, const TemplateSearchResult &result, TemplateSearch &search);

  /// Name of axis `axis` of the searched part of the grid.
  StringAttr axisName(int axis) {
    std::string name = tensorParallel.size() == 1 ? "tp" : "tp" + std::to_string(axis);
    return StringAttr::get(&getContext(), name);
  }
  ArrayAttr axisNames(ArrayRef<int> axes) {
    return toArrayAttr(&getContext(), llvm::map_to_vector<2>(axes, [&](int axis) { return axisName(axis); }));
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
    return getOperation().emitError() << "cluster '" << cluster << "' has groups of different devices; layouts are searched for one kind";
  return *machine;
}

LogicalResult SearchShardingsPass::cutIntoMicroBatches(func::FuncOp function, ExtractedTemplates &templates,
                                                       int64_t &microBatches) {
  microBatches = 1;
  for (BlockArgument argument : function.getArguments()) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims);
    if (!dims || !function.getArgAttr(argument.getArgNumber(), attr::input))
      continue;
    for (auto [name, size] : llvm::zip(mlir::ppc::axisNames(dims), tensorType(argument).getShape())) {
      if (name != "batch")
        continue;
      if (size % (dp * microBatch))
        return function.emitOpError() << "global batch of " << size << " sequences is no multiple of dp "
                                      << dp.getValue() << " times micro-batch " << microBatch.getValue();
      microBatches = size / (dp * microBatch);
    }
  }
  cutBatch(templates, function, dp * microBatches);
  return success();
}

/// That of the parameters.
Precision SearchShardingsPass::precisionOf(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), attr::parameter)) {
      Type type = tensorType(argument).getElementType();
      return type.isBF16() ? Precision::Bf16 : type.isF16() ? Precision::Fp16 : Precision::F32;
    }
  return Precision::F32;
}

LogicalResult SearchShardingsPass::search() {
  axes.clear();
  auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
  if (functions.size() != 1)
    return getOperation().emitError() << "expected one function that computes a loss, found " << functions.size();
  func::FuncOp function = functions.front();
  FailureOr<Cluster> machine = findMachine();
  if (failed(machine))
    return failure();
  FailureOr<ExtractedTemplates> templates = extractTemplates(function);
  int64_t microBatches;
  if (failed(templates) || failed(cutIntoMicroBatches(function, *templates, microBatches)))
    return failure();

  TemplatePricing pricing{*machine, axes};
  pricing.dataRanks = dp;
  pricing.precision = precisionOf(function);
  pricing.microBatches = microBatches;
  pricing.regather = false; // partitioned programs keep what they gather
  // Rows of micro-batches are cut evenly (ppc-propagate-shardings).
  pricing.allowLayout = [&](const OpTemplate &, const TemplateValue &value, const Layout &layout) {
    return value.kind != TemplateValueKind::Input || layout.dims.empty() ||
           value.shape.front() % groupSize(layout.dims.front(), axes) == 0;
  };
  TemplateSearch search(pricing, templates->chain);
  llvm::Expected<TemplateSearchResult> result = search.run(Bytes(double(memoryLimit)));
  if (!result)
    return function.emitOpError() << llvm::toString(result.takeError());
  writePlan(function, *templates, *result, microBatches);
  writeFactors(*templates, *result);
  return report(*templates, *result, search);
}

void SearchShardingsPass::writePlan(func::FuncOp function, const ExtractedTemplates &templates,
                                    const TemplateSearchResult &result, int64_t microBatches) {
  MLIRContext *context = &getContext();
  StringAttr data = StringAttr::get(context, "dp");
  llvm::StringMap<SmallVector<Attribute>> dimensions;
  dimensions["batch"] = {data};
  NamedAttrList parameters;
  DenseSet<Value> seen;
  for (auto [place, layer] : llvm::zip_equal(templates.layers, result.layers)) {
    const TemplateChoice &choice = result.choices[layer.index][layer.choice];
    for (auto [value, layout] : llvm::zip_equal(place.values, choice.layouts)) {
      auto argument = dyn_cast_or_null<BlockArgument>(value);
      if (!argument || !seen.insert(value).second)
        continue;
      unsigned number = argument.getArgNumber();
      if (auto name = function.getArgAttrOfType<StringAttr>(number, attr::parameter)) {
        auto cut = llvm::map_to_vector(layout.dims, [&](const std::vector<int> &list) { return axisNames(list); });
        parameters.set(name, ShardingAttr::get(context, cut, {}, {}));
      } else if (auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims)) {
        for (auto [name, list] : llvm::zip(mlir::ppc::axisNames(dims), layout.dims))
          for (Attribute axis : axisNames(list)) // the first input decides
            if (llvm::none_of(dimensions, [&](auto &entry) { return llvm::is_contained(entry.second, axis); }))
              dimensions[name].push_back(axis);
      }
    }
  }
  NamedAttrList entries;
  for (auto &entry : dimensions)
    entries.set(entry.first(), ArrayAttr::get(context, entry.second));
  SmallVector<StringAttr> names = {data};
  SmallVector<int64_t> sizes = {dp};
  for (auto [number, axis] : llvm::enumerate(axes)) {
    names.push_back(axisName(int(number)));
    sizes.push_back(axis.size);
  }
  auto plan = PlanAttr::get(context, GridAttr::get(context, names, sizes), ArrayRef<int64_t>{0},
                            StringAttr::get(context, "1f1b"), microBatches, entries.getDictionary(context),
                            parameters.getDictionary(context), DictionaryAttr());
  getOperation()->setAttr(attr::plan, plan);
}

void SearchShardingsPass::writeFactors(const ExtractedTemplates &templates, const TemplateSearchResult &result) {
  for (auto [place, layer] : llvm::zip_equal(templates.layers, result.layers)) {
    const OpTemplate &layout = templates.chain.templates[layer.index];
    const TemplateChoice &choice = result.choices[layer.index][layer.choice];
    for (auto [op, data, strategy] : llvm::zip_equal(place.ops, layout.ops, choice.strategies)) {
      if (!op)
        continue;
      OpSharding sharding = OpSharding::uncut(op);
      for (auto [factor, list] : llvm::zip_equal(data.factors, sharding.axes))
        if (factor.isData && !factor.needsReplication && dp > 1)
          list.push_back(StringAttr::get(&getContext(), "dp"));
      for (auto [axis, factor] : llvm::enumerate(strategy.axes))
        if (factor >= 0)
          sharding.axes[factor].push_back(axisName(int(axis)));
      op->setAttr(attr::factors, sharding.attribute(&getContext()));
    }
  }
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
