#include "ppc/Analysis/ProgramChain.h"

#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Analysis/OpSharding.h"

namespace mlir::ppc {

bool ProgramChain::isNumbered() const {
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] < 0 || (i && numbers[i] <= numbers[i - 1]))
      return false;
  return true;
}

FailureOr<ProgramChain> readProgramChain(ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1)
    return module.emitError() << "expected one function that computes a loss, found " << functions.size();
  ProgramChain program;
  program.function = functions.front();
  FailureOr<ExtractedTemplates> templates = extractTemplates(program.function);
  if (failed(templates))
    return failure();
  program.templates = std::move(*templates);
  program.precision = precisionOf(module);
  ChainModel &model = program.model;
  model.name = module.getSymName().value_or("program").str();
  model.chain = program.templates.chain;
  model.batchDimensions = batchDimensions(program.templates, program.function);
  if (!model.batchDimensions.empty()) {
    const ChainModel::BatchDimension &first = model.batchDimensions.front();
    model.batch = model.chain.templates[first.templateIndex].values[first.value].shape[first.dim];
    for (const ChainModel::BatchDimension &place : model.batchDimensions)
      if (int64_t size = model.chain.templates[place.templateIndex].values[place.value].shape[place.dim];
          size != model.batch)
        return program.function.emitOpError() << "has inputs of " << model.batch << " and of " << size
                                              << " samples in dimensions that ppc.dims calls \"batch\"";
  }
  for (const ExtractedTemplates::Layer &layer : program.templates.layers) {
    int64_t number = -1;
    for (Operation *op : layer.ops)
      if (auto attribute = op && number < 0 ? op->getAttrOfType<IntegerAttr>(attr::layer) : IntegerAttr())
        number = attribute.getInt();
    program.numbers.push_back(number);
  }
  if (!program.isNumbered())
    model.refusals.stages = "pipeline stages of ops without ppc.layer";
  if (!recomputeLayers(program, Recompute::Full))
    model.refusals.recompute = "recomputation of layers without ppc.layer";
  return program;
}

double productFlops(const TemplateChain &chain) {
  double total = 0;
  for (const TemplateChain::Segment &segment : chain.segments)
    for (const TemplateOp &op : chain.templates[segment.index].ops) {
      if (op.kernel != TemplateKernel::Product && op.kernel != TemplateKernel::Attention)
        continue;
      double work = 2 * double(segment.count);
      for (const TemplateFactor &factor : op.factors)
        work *= double(factor.size);
      if (op.kernel == TemplateKernel::Attention)
        work *= 2; // without a width of its own for values
      total += work;
    }
  return total;
}

static ArrayAttr axisNames(MLIRContext *context, ArrayRef<LayoutAxis> axes, ArrayRef<int> list) {
  return toArrayAttr(context,
                     llvm::map_to_vector<2>(list, [&](int axis) { return StringAttr::get(context, axes[axis].name); }));
}

PlanAttr makePlanAttr(const ProgramChain &program, const ChainLayout &layout, const TemplateSearchResult &shardings) {
  func::FuncOp function = program.function;
  MLIRContext *context = function.getContext();
  StringAttr data = StringAttr::get(context, "dp");
  llvm::StringMap<SmallVector<Attribute>> dimensions;
  dimensions["batch"] = {data};
  NamedAttrList parameters;
  DenseSet<Value> seen;
  for (auto [place, layer] : llvm::zip_equal(program.templates.layers, shardings.layers)) {
    const TemplateChoice &choice = shardings.choices[layer.index][layer.choice];
    for (auto [value, stored] : llvm::zip_equal(place.values, choice.layouts)) {
      auto argument = dyn_cast_or_null<BlockArgument>(value);
      if (!argument || !seen.insert(value).second)
        continue;
      unsigned number = argument.getArgNumber();
      if (auto name = function.getArgAttrOfType<StringAttr>(number, attr::parameter)) {
        auto cut = llvm::map_to_vector(
            stored.dims, [&](const std::vector<int> &list) { return axisNames(context, layout.axes, list); });
        parameters.set(name, ShardingAttr::get(context, cut, {}, {}));
      } else if (auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims)) {
        for (auto [name, list] : llvm::zip(mlir::ppc::axisNames(dims), stored.dims))
          for (Attribute axis : axisNames(context, layout.axes, list)) // the first input decides
            if (llvm::none_of(dimensions, [&](auto &entry) { return llvm::is_contained(entry.second, axis); }))
              dimensions[name].push_back(axis);
      }
    }
  }
  NamedAttrList entries;
  for (auto &entry : dimensions)
    entries.set(entry.first(), ArrayAttr::get(context, entry.second));
  SmallVector<StringAttr> names = {data};
  SmallVector<int64_t> sizes = {layout.dp};
  for (const LayoutAxis &axis : layout.axes) {
    names.push_back(StringAttr::get(context, axis.name));
    sizes.push_back(axis.size);
  }
  return PlanAttr::get(context, GridAttr::get(context, names, sizes), layout.stages, layout.vp,
                       StringAttr::get(context, layout.schedule), layout.microBatches, entries.getDictionary(context),
                       parameters.getDictionary(context), layout.recompute);
}

PlanAttr makePlanAttr(const ProgramChain &program, const ChainPlan &plan) {
  ChainLayout layout;
  layout.axes = plan.axes;
  layout.dp = plan.layout.dp;
  layout.microBatches = program.model.batch / (plan.layout.dp * plan.layout.microBatch);
  if (plan.layout.pp > 1) {
    layout.schedule = plan.layout.schedule;
    layout.vp = plan.layout.vp;
    int64_t next = 1;
    for (int64_t count : ArrayRef<int64_t>(plan.layout.stageLayers).drop_back())
      layout.stages.push_back(program.numbers[next += count]);
  }
  layout.recompute = recomputeLayers(program, plan.layout.recompute);
  return makePlanAttr(program, layout, plan.shardings);
}

DictionaryAttr recomputeLayers(const ProgramChain &program, Recompute recompute) {
  if (recompute == Recompute::None || program.numbers.size() < 3 || !program.isNumbered())
    return {};
  Builder builder(func::FuncOp(program.function).getContext());
  std::string layers = std::to_string(program.numbers[1]) + "-" + std::to_string(program.numbers.back() - 1);
  return builder.getDictionaryAttr(builder.getNamedAttr(layers, builder.getStringAttr(toString(recompute))));
}

/// The model's chain with the loops over the batch marked.
static TemplateChain markBatch(const ChainModel &model) {
  TemplateChain chain = model.chain;
  for (const ChainModel::BatchDimension &place : model.batchDimensions)
    cutDimension(chain, place.templateIndex, place.value, place.dim, 1);
  return chain;
}

void writeFactors(const ProgramChain &program, const OpCuts &cuts, ArrayRef<StringRef> dataAxes) {
  MLIRContext *context = func::FuncOp(program.function).getContext();
  TemplateChain chain = markBatch(program.model);
  std::vector<int> layers = program.model.layers();
  for (auto [index, place] : llvm::enumerate(program.templates.layers)) {
    if (index >= cuts.layers.size() || cuts.layers[index].empty())
      continue;
    for (auto [op, data, strategy] :
         llvm::zip_equal(place.ops, chain.templates[layers[index]].ops, cuts.layers[index])) {
      if (!op || strategy.axes.empty())
        continue;
      OpSharding sharding = OpSharding::uncut(op);
      for (auto [factor, list] : llvm::zip_equal(data.factors, sharding.axes))
        if (factor.isData && !factor.needsReplication) {
          for (StringRef axis : dataAxes)
            list.push_back(StringAttr::get(context, axis));
          break; // an axis cuts one loop: of samples paired with each other, either
        }
      for (auto [axis, factor] : llvm::enumerate(strategy.axes))
        if (factor >= 0)
          sharding.axes[factor].push_back(StringAttr::get(context, cuts.axes[axis].name));
      op->setAttr(attr::factors, sharding.attribute(context));
    }
  }
}

FailureOr<OpCuts> readFactors(const ProgramChain &program, PlanAttr plan) {
  OpCuts cuts;
  if (llvm::none_of(program.templates.layers, [](const ExtractedTemplates::Layer &layer) {
        return llvm::any_of(layer.ops, [](Operation *op) { return op && op->hasAttr(attr::factors); });
      }))
    return cuts;
  GridAttr grid = plan.getGrid();
  for (auto [name, size, role] : llvm::zip(grid.getNames(), grid.getSizes(), grid.getRoles()))
    if (role != AxisRole::Data)
      cuts.axes.push_back({name.str(), size});
  for (const ExtractedTemplates::Layer &layer : program.templates.layers) {
    std::vector<OpStrategy> &strategies = cuts.layers.emplace_back();
    for (Operation *op : layer.ops) {
      OpStrategy &strategy = strategies.emplace_back();
      if (!op || !op->hasAttr(attr::factors))
        continue; // open
      strategy.axes.assign(cuts.axes.size(), OpStrategy::uncut);
      FailureOr<OpSharding> sharding = OpSharding::read(op, grid);
      if (failed(sharding))
        return failure();
      for (auto [factor, list] : llvm::enumerate(sharding->axes))
        for (StringAttr axis : list)
          for (auto [number, known] : llvm::enumerate(cuts.axes))
            if (axis.getValue() == known.name)
              strategy.axes[number] = int(factor);
    }
  }
  return cuts;
}

} // namespace mlir::ppc
