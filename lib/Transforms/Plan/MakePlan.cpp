// From pins to a plan: which axes the grid has, which logical dimensions they cut, where the stages begin.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Planning/StageCutter.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "ppc/Transforms/Plan/PlanFile.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_MAKEPLANPASS
#include "ppc/Transforms/Plan/Passes.h.inc"

namespace {

struct MakePlanPass : impl::MakePlanPassBase<MakePlanPass> {
  using MakePlanPassBase::MakePlanPassBase;

  void runOnOperation() override {
    FailureOr<PlanAttr> plan = planFile.empty() ? makePlan() : readPlanFile(planFile, getOperation().getLoc());
    if (failed(plan) || failed(checkBatch(*plan)))
      return signalPassFailure();
    getOperation()->setAttr(attr::plan, *plan);
  }

private:
  /// Size of the logical dimension `name` in the model's arguments; 0 when there is none.
  int64_t dimensionSize(StringRef name);
  FailureOr<PlanAttr> makePlan();
  LogicalResult checkBatch(PlanAttr plan);
  /// Axes of the tensor-parallel part of the grid, and what they cut.
  void addTensorAxes(SmallVectorImpl<StringAttr> &names, SmallVectorImpl<int64_t> &sizes,
                     SmallVectorImpl<NamedAttribute> &dimensions);
  FailureOr<SmallVector<int64_t>> cutStagesByPins(ArrayRef<LayerCost> layers);
  FailureOr<SmallVector<LayerCost>> layerCosts();
};

int64_t MakePlanPass::dimensionSize(StringRef name) {
  for (auto function : getOperation().getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims))
        for (auto [dim, size] : llvm::zip(axisNames(dims), tensorType(argument).getShape()))
          if (dim == name)
            return size;
  return 0;
}

void MakePlanPass::addTensorAxes(SmallVectorImpl<StringAttr> &names, SmallVectorImpl<int64_t> &sizes,
                                 SmallVectorImpl<NamedAttribute> &dimensions) {
  Builder builder(&getContext());
  int64_t kvHeads = dimensionSize("kv_heads"), group = dimensionSize("head_group");
  auto addAxis = [&](StringRef name, int64_t size) {
    names.push_back(builder.getStringAttr(name));
    sizes.push_back(size);
  };
  auto cut = [&](StringRef dimension, ArrayRef<StringRef> axes) {
    dimensions.push_back(builder.getNamedAttr(dimension, builder.getStrArrayAttr(axes)));
  };
  // The largest part of tp that divides the kv heads, if the rest divides the group.
  int64_t byHead = tp;
  while (byHead > 1 && (tp % byHead || kvHeads % byHead || group % (tp / byHead)))
    --byHead;
  bool both = kvHeads && byHead > 1 && byHead < tp;
  if (both) {
    addAxis("tp0", byHead);
    addAxis("tp1", tp / byHead);
    cut("kv_heads", {"tp0"});
    cut("head_group", {"tp1"});
  } else {
    addAxis("tp", tp);
    bool byGroup = kvHeads && kvHeads % tp && group % tp == 0;
    cut(byGroup ? "head_group" : "kv_heads", {"tp"});
  }
  SmallVector<StringRef> whole = both ? SmallVector<StringRef>{"tp0", "tp1"} : SmallVector<StringRef>{"tp"};
  cut("ffn", whole);
  cut("vocab", whole);
}

FailureOr<SmallVector<LayerCost>> MakePlanPass::layerCosts() {
  SmallVector<double> flops;
  WalkResult result = getOperation().walk([&](CostOpInterface op) {
    auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
    if (!layer)
      return WalkResult::advance();
    if (layer.getInt() < 0) {
      op->emitOpError() << "has ppc.layer " << layer.getInt() << ", expected 0 or more";
      return WalkResult::interrupt();
    }
    if (size_t(layer.getInt()) >= flops.size())
      flops.resize(layer.getInt() + 1);
    flops[layer.getInt()] += op.getCost().flops;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (flops.empty())
    flops.push_back(0); // a model without layers is one layer
  SmallVector<LayerCost> layers;
  for (double count : flops) // relative times are enough
    layers.push_back({Seconds(count), Bytes(0)});
  return layers;
}

FailureOr<SmallVector<int64_t>> MakePlanPass::cutStagesByPins(ArrayRef<LayerCost> layers) {
  if (layersPerStage.empty()) {
    llvm::Expected<StageCut> cut = cutStages(layers, pp);
    if (!cut)
      return getOperation().emitError() << llvm::toString(cut.takeError());
    return llvm::to_vector(cut->firstLayer);
  }
  if (int64_t(layersPerStage.size()) != pp)
    return getOperation().emitError() << "layers-per-stage names " << layersPerStage.size() << " stages, pp is " << pp.getValue();
  int64_t next = 1, between = std::max<int64_t>(layers.size(), 2) - 2; // embedding and head stand at the ends
  SmallVector<int64_t> first;
  for (int64_t count : layersPerStage) {
    first.push_back(first.empty() ? 0 : next);
    if (count < 0)
      return getOperation().emitError() << "layers-per-stage has a stage of " << count << " layers";
    next += count;
  }
  if (next - 1 != between)
    return getOperation().emitError() << "layers-per-stage adds up to " << next - 1 << " layers, the model has " << between;
  return first;
}

LogicalResult MakePlanPass::checkBatch(PlanAttr plan) {
  int64_t batch = dimensionSize("batch");
  auto axes = plan.getDimensions().getAs<ArrayAttr>("batch");
  int64_t parts = axes ? plan.getGrid().product(axes) : 1;
  if (batch % (parts * plan.getMicroBatches()))
    return getOperation().emitError() << "global batch of " << batch << " sequences cannot be cut into " << plan.getMicroBatches()
                                      << " micro-batches for " << parts << " data-parallel ranks: it must be a multiple of "
                                      << parts * plan.getMicroBatches();
  return success();
}

FailureOr<PlanAttr> MakePlanPass::makePlan() {
  ModuleOp module = getOperation();
  for (auto [name, value] : {std::pair("dp", dp.getValue()), std::pair("tp", tp.getValue()), std::pair("pp", pp.getValue()),
                             std::pair("micro-batch", microBatch.getValue())})
    if (value < 1)
      return module.emitError() << name << " is " << value << ", expected at least 1";
  int64_t batch = dimensionSize("batch");
  if (!batch)
    return module.emitError("no argument has a dimension called \"batch\" in ppc.dims");
  if (batch % (dp * microBatch))
    return module.emitError() << "global batch of " << batch << " sequences is no multiple of dp " << dp.getValue() << " x micro-batch "
                              << microBatch.getValue() << " = " << dp * microBatch;
  FailureOr<SmallVector<LayerCost>> layers = layerCosts();
  if (failed(layers))
    return failure();
  FailureOr<SmallVector<int64_t>> stages = cutStagesByPins(*layers);
  if (failed(stages))
    return failure();
  int64_t microBatches = batch / (dp * microBatch);
  if (auto known = makePipelineSchedule(schedule, pp, microBatches); !known)
    return module.emitError() << llvm::toString(known.takeError());

  Builder builder(&getContext());
  SmallVector<StringAttr> names = {builder.getStringAttr("dp")};
  SmallVector<int64_t> sizes = {dp};
  SmallVector<NamedAttribute> dimensions = {builder.getNamedAttr("batch", builder.getStrArrayAttr({"dp"}))};
  addTensorAxes(names, sizes, dimensions);
  auto grid = GridAttr::get(&getContext(), names, sizes);
  auto plan = PlanAttr::getChecked([&] { return module.emitError(); }, &getContext(), grid, ArrayRef<int64_t>(*stages),
                                   builder.getStringAttr(schedule), microBatches, builder.getDictionaryAttr(dimensions),
                                   builder.getDictionaryAttr({}));
  if (!plan)
    return failure();
  return plan;
}

} // namespace
} // namespace mlir::ppc
