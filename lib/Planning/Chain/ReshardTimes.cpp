// Reshard steps in seconds.
#include "ppc/Planning/Chain/ReshardTimes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

namespace mlir::ppc {

GroupPlacement placeAxes(llvm::ArrayRef<ClusterLevel> levels, llvm::ArrayRef<LayoutAxis> grid, int64_t stride,
                         llvm::ArrayRef<int> axes) {
  std::vector<int64_t> strides(grid.size());
  int64_t reach = stride;
  for (size_t axis = grid.size(); axis-- > 0;) {
    strides[axis] = reach;
    reach *= grid[axis].size;
  }
  std::vector<int> sorted;
  for (int axis : axes)
    if (grid[axis].size > 1)
      sorted.push_back(axis);
  llvm::sort(sorted);
  if (sorted.empty())
    return placeGroup(levels, stride, 1);
  bool adjacent = true;
  for (size_t i = 0; i + 1 < sorted.size(); ++i)
    adjacent &= strides[sorted[i]] == strides[sorted[i + 1]] * grid[sorted[i + 1]].size;
  int64_t size = groupSize(sorted, grid);
  if (adjacent)
    return placeGroup(levels, strides[sorted.back()], size);
  // The group of rank 0, counted.
  std::vector<int64_t> ranks = {0};
  for (int axis : sorted) {
    std::vector<int64_t> next;
    for (int64_t rank : ranks)
      for (int64_t i = 0; i < grid[axis].size; ++i)
        next.push_back(rank + i * strides[axis]);
    ranks = std::move(next);
  }
  GroupPlacement placement;
  int64_t unit = 1, membersBelow = 1;
  for (size_t l = 0; l < levels.size(); ++l) {
    int64_t below = unit;
    unit *= std::max<int64_t>(levels[l].size, 1);
    bool outermost = l + 1 == levels.size();
    int64_t members = 0, spans = 0, last = -1;
    for (int64_t rank : ranks)
      if (outermost || rank < unit) {
        ++members;
        spans += rank / below != last;
        last = rank / below;
      }
    placement.members.push_back(members);
    placement.fewest.push_back(members);
    placement.spans.push_back(spans);
    placement.sharers.push_back(l == 0 ? 1 : std::max<int64_t>(1, below / membersBelow));
    membersBelow = members;
  }
  return placement;
}

ReshardTimes::ReshardTimes(const Cluster &cluster, llvm::ArrayRef<LayoutAxis> grid, int64_t stride, bool compiled)
    : cluster(cluster), grid(grid), compiled(compiled) {
  std::vector<ClusterLevel> joined = joinedLevels(cluster);
  for (unsigned set = 0; set < (1u << grid.size()); ++set) {
    std::vector<int> axes;
    for (size_t axis = 0; axis < grid.size(); ++axis)
      if (set >> axis & 1)
        axes.push_back(axis);
    placements.push_back(placeAxes(joined, grid, stride, axes));
  }
}

Seconds ReshardTimes::stepTime(const ReshardStep &step) {
  if (step.kind == ReshardKind::Slice)
    return Seconds(0);
  unsigned set = 0;
  for (int axis : step.axes)
    set |= 1u << axis;
  double size = groupSize(step.axes, grid), share = (size - 1) / size;
  double rounds = 1;
  CollectiveKind kind = CollectiveKind::AllToAll;
  Bytes bytes(step.bytes / share); // what a group shares, or each rank holds
  switch (step.kind) {
  case ReshardKind::AllReduce:
    kind = CollectiveKind::AllReduce;
    rounds = step.combiner == Combiner::LogSumExp ? 2 : 1;
    bytes = bytes / (2 * rounds);
    break;
  case ReshardKind::ReduceScatter:
    kind = CollectiveKind::ReduceScatter;
    break;
  case ReshardKind::AllGather:
    kind = CollectiveKind::AllGather;
    break;
  case ReshardKind::AllToAll:
  case ReshardKind::Slice:
    break;
  }
  const Device &device = cluster.device();
  Seconds once =
      collectiveTime(cluster, kind, bytes, placements[set]) / device.collectiveShare + device.collectiveMeeting;
  return rounds * once;
}

Seconds ReshardTimes::time(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, const Layout &from, const Layout &to) {
  if (from == to)
    return Seconds(0);
  bool bothPartial = !from.partial.empty() && !to.partial.empty();
  if (!std::includes(from.partial.begin(), from.partial.end(), to.partial.begin(), to.partial.end()) ||
      (bothPartial && from.combiner != to.combiner))
    return Seconds(std::numeric_limits<double>::infinity());
  if (!compiled)
    return Seconds(graphOf(shape, elementBytes, from).distance(from, to));
  auto [known, isNew] =
      sums.try_emplace({&graphOf(shape, elementBytes, from), from.dims, from.partial, to.dims, to.partial}, Seconds(0));
  if (isNew)
    for (const ReshardStep &step : steps(shape, elementBytes, from, to))
      known->second += stepTime(step);
  return known->second;
}

std::vector<ReshardStep> ReshardTimes::steps(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, const Layout &from,
                                             const Layout &to) {
  if (from == to)
    return {};
  return graphOf(shape, elementBytes, from).path(from, to);
}

ReshardGraph &ReshardTimes::graphOf(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, const Layout &from) {
  std::vector<int64_t> key = shape.vec();
  key.push_back(elementBytes);
  key.push_back(from.partial.empty() ? -1 : int64_t(from.combiner));
  std::unique_ptr<ReshardGraph> &graph = graphs[key];
  if (!graph)
    graph = std::make_unique<ReshardGraph>(grid, shape.vec(), elementBytes, [this](const ReshardStep &step) {
      return compiled ? ReshardCosts().of(step) : stepTime(step).value;
    });
  return *graph;
}

} // namespace mlir::ppc
