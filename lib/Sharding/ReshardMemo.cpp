#include "lib/Sharding/ReshardMemo.h"

#include "ppc/Sharding/ReshardGraph.h"
#include "llvm/ADT/bit.h"

#include <cassert>
#include <limits>
#include <mutex>

using namespace mlir::ppc;

ReshardProblem::ReshardProblem(llvm::ArrayRef<LayoutAxis> callersGrid, llvm::ArrayRef<int64_t> shape,
                               int64_t elementBytes, const Layout &from, const Layout &to, const ReshardCosts &costs)
    : shape(shape), elementBytes(elementBytes), costs(costs) {
  for (auto [axis, each] : llvm::enumerate(callersGrid)) {
    ownAxis.push_back(each.size == 1 ? -1 : int(grid.size()));
    if (each.size == 1)
      continue;
    callersAxis.push_back(int(axis));
    grid.push_back({"", each.size});
  }
  this->from = withoutTrivialAxes(from);
  this->to = withoutTrivialAxes(to);
  numbers = {elementBytes, llvm::bit_cast<int64_t>(costs.bytesPerCollective),
             llvm::bit_cast<int64_t>(costs.bytesPerSlice), int64_t(grid.size()), int64_t(shape.size())};
  for (const LayoutAxis &axis : grid)
    numbers.push_back(axis.size);
  numbers.append(shape.begin(), shape.end());
  auto append = [&](llvm::ArrayRef<int> axes) {
    numbers.push_back(int64_t(axes.size()));
    numbers.append(axes.begin(), axes.end());
  };
  for (const Layout *layout : {&this->from, &this->to}) {
    for (const std::vector<int> &axes : layout->dims)
      append(axes);
    append(layout->partial);
    numbers.push_back(layout->partial.empty() ? -1 : int64_t(layout->combiner));
  }
}

Layout ReshardProblem::withoutTrivialAxes(const Layout &layout) const {
  Layout own;
  own.combiner = layout.combiner;
  auto translate = [&](llvm::ArrayRef<int> axes) {
    std::vector<int> result;
    for (int axis : axes)
      if (ownAxis[axis] >= 0)
        result.push_back(ownAxis[axis]);
    return result;
  };
  for (const std::vector<int> &axes : layout.dims)
    own.dims.push_back(translate(axes));
  own.partial = translate(layout.partial);
  return own;
}

ReshardPlan ReshardProblem::solve() const {
  ReshardGraph graph(grid, shape.vec(), elementBytes, [&](const ReshardStep &step) { return costs.of(step); });
  graph.isForOnePath();
  ReshardPlan plan;
  plan.cost = graph.distance(from, to);
  assert(plan.cost < std::numeric_limits<double>::infinity() && "every layout can be gathered and sharded again");
  plan.steps = graph.path(from, to);
  for (const ReshardStep &step : llvm::reverse(plan.steps))
    plan.bytes += step.bytes;
  return plan;
}

ReshardPlan ReshardProblem::renumbered(const ReshardPlan &plan) const {
  ReshardPlan result = plan;
  if (callersAxis.size() == ownAxis.size()) // the same numbers
    return result;
  auto translate = [&](std::vector<int> &axes) {
    for (int &axis : axes)
      axis = callersAxis[axis];
  };
  for (ReshardStep &step : result.steps) {
    translate(step.axes);
    translate(step.result.partial);
    for (std::vector<int> &axes : step.result.dims)
      translate(axes);
  }
  return result;
}

ReshardPlan ReshardMemo::planFor(const ReshardProblem &problem) {
  constexpr size_t most = 10000;
  const std::vector<int64_t> key = problem.key().vec();
  {
    std::shared_lock lock(mutex);
    if (auto known = plans.find(key); known != plans.end())
      return problem.renumbered(*known->second);
  }
  auto plan = std::make_shared<const ReshardPlan>(problem.solve());
  std::unique_lock lock(mutex);
  if (plans.size() >= most)
    plans.clear();
  plans.insert_or_assign(key, plan);
  return problem.renumbered(*plan);
}
