// Ranks and groups of a program's grid.
#include "ppc/Simulation/StepProgram.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

int64_t StepProgram::rankCount() const {
  int64_t count = 1;
  for (const auto &axis : axes)
    count *= axis.second;
  return count;
}

int64_t StepProgram::indexOver(int64_t rank, const std::vector<int32_t> &over) const {
  std::vector<int64_t> coordinates(axes.size());
  for (size_t axis = axes.size(); axis-- > 0; rank /= axes[axis].second)
    coordinates[axis] = rank % axes[axis].second;
  int64_t index = 0;
  for (int32_t axis : over)
    index = index * axes[axis].second + coordinates[axis];
  return index;
}

std::vector<int32_t> StepProgram::members(const StepGroup &group, int64_t rank) const {
  std::vector<int32_t> others, result;
  for (int32_t axis = 0; axis < int32_t(axes.size()); ++axis)
    if (!llvm::is_contained(group.axes, axis))
      others.push_back(axis);
  auto isIn = [&](int64_t candidate) {
    return group.stages.empty() || llvm::is_contained(group.stages, indexOver(candidate, {0}));
  };
  if (!isIn(rank))
    return {};
  for (int64_t candidate = 0; candidate < rankCount(); ++candidate)
    if (isIn(candidate) && indexOver(candidate, others) == indexOver(rank, others))
      result.push_back(int32_t(candidate));
  llvm::sort(result, [&](int32_t a, int32_t b) { return indexOver(a, group.axes) < indexOver(b, group.axes); });
  return result;
}
