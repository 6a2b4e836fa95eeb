// Between #ppc.sharding and the reshard planner's data.
#include "ppc/Analysis/ReshardCost.h"

namespace mlir::ppc {

std::vector<LayoutAxis> layoutAxes(GridAttr grid) {
  std::vector<LayoutAxis> axes;
  for (auto [name, size] : llvm::zip_equal(grid.getNames(), grid.getSizes()))
    axes.push_back({name.getValue().str(), size});
  return axes;
}

static int axisIndex(StringRef axis, GridAttr grid) {
  for (auto [i, name] : llvm::enumerate(grid.getNames()))
    if (name.getValue() == axis)
      return i;
  return -1; // refused by verifyLayout
}

Layout toLayout(ShardingAttr sharding, GridAttr grid) {
  Layout layout;
  for (ArrayAttr axes : sharding.getDims()) {
    std::vector<int> &dim = layout.dims.emplace_back();
    for (StringRef axis : axisNames(axes))
      dim.push_back(axisIndex(axis, grid));
  }
  for (StringAttr axis : sharding.getPartialAxes())
    layout.partial.push_back(axisIndex(axis, grid));
  llvm::sort(layout.partial);
  if (sharding.isPartial())
    layout.combiner = sharding.getPartialCombiners().front();
  return layout;
}

llvm::Expected<ReshardPlan> planReshard(RankedTensorType type, ShardingAttr from, ShardingAttr to, GridAttr grid) {
  std::vector<LayoutAxis> axes = layoutAxes(grid);
  Type element = type.getElementType(); // an index has the width of a pointer
  int64_t bytes = element.isIntOrFloat() ? std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8) : 8;
  return planReshard(axes, type.getShape(), bytes, toLayout(from, grid), toLayout(to, grid));
}

llvm::Expected<const ReshardPlan *> ReshardPlans::find(RankedTensorType type, ShardingAttr from, ShardingAttr to) {
  std::unique_ptr<ReshardPlan> &known = plans[{type, from, to}];
  if (!known) {
    llvm::Expected<ReshardPlan> plan = planReshard(type, from, to, grid);
    if (!plan)
      return plan.takeError();
    known = std::make_unique<ReshardPlan>(std::move(*plan));
  }
  return known.get();
}

} // namespace mlir::ppc
