// Rank and group arithmetic over the device grid.
#include "runtime/program/Grid.h"

#include <algorithm>

namespace ppcrt {

Grid::Grid(std::vector<Axis> axes) : axisList(std::move(axes)) {
  for (const Axis &axis : axisList)
    ranks *= axis.size;
  stageAxis = axisIndex("pp");
}

int Grid::axisIndex(std::string_view name) const {
  for (size_t i = 0; i < axisList.size(); ++i)
    if (axisList[i].name == name)
      return int(i);
  return -1;
}

int64_t Grid::stride(int axis) const {
  int64_t result = 1;
  for (size_t i = axis + 1; i < axisList.size(); ++i)
    result *= axisList[i].size;
  return result;
}

int64_t Grid::coordinate(int64_t rank, int axis) const { return rank / stride(axis) % axisList[axis].size; }

int64_t Grid::rankAtStage(int64_t rank, int64_t stage) const {
  return stageAxis < 0 ? rank : rank + (stage - stageOf(rank)) * stride(stageAxis);
}

int64_t Grid::indexOver(int64_t rank, const std::vector<int> &axes) const {
  int64_t index = 0;
  for (int axis : axes)
    index = index * axisList[axis].size + coordinate(rank, axis);
  return index;
}

int64_t Grid::sizeOver(const std::vector<int> &axes) const {
  int64_t size = 1;
  for (int axis : axes)
    size *= axisList[axis].size;
  return size;
}

std::string Grid::describe(int64_t rank) const {
  std::string text = "rank " + std::to_string(rank);
  for (size_t i = 0; i < axisList.size(); ++i)
    text += (i ? " " : " (") + axisList[i].name + "=" + std::to_string(coordinate(rank, int(i)));
  return axisList.empty() ? text : text + ")";
}

std::vector<int> groupMembers(const Grid &grid, const GroupSpec &group, int64_t rank) {
  auto included = [&](int64_t candidate) {
    return group.stages.empty() ||
           std::find(group.stages.begin(), group.stages.end(), grid.stageOf(candidate)) != group.stages.end();
  };
  if (!included(rank))
    return {};
  std::vector<int> others;
  for (size_t axis = 0; axis < grid.axes().size(); ++axis)
    if (std::find(group.axes.begin(), group.axes.end(), int(axis)) == group.axes.end())
      others.push_back(int(axis));
  std::vector<int> members;
  for (int64_t candidate = 0; candidate < grid.rankCount(); ++candidate)
    if (grid.indexOver(candidate, others) == grid.indexOver(rank, others) && included(candidate))
      members.push_back(int(candidate));
  std::sort(members.begin(), members.end(),
            [&](int a, int b) { return grid.indexOver(a, group.axes) < grid.indexOver(b, group.axes); });
  return members;
}

} // namespace ppcrt
