// The device grid: named axes, ranks row-major over them (outermost axis first), and the groups of ranks that differ in
// some axes only. The axis named "pp", when there is one, numbers the pipeline stages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppcrt {

struct Axis {
  std::string name;
  int64_t size;
};

class Grid {
public:
  Grid() = default;
  explicit Grid(std::vector<Axis> axes);

  const std::vector<Axis> &axes() const { return axisList; }
  int64_t rankCount() const { return ranks; }
  int64_t stageCount() const { return stageAxis < 0 ? 1 : axisList[stageAxis].size; }

  // Index of an axis, -1 when there is none of that name.
  int axisIndex(std::string_view name) const;
  int stageAxisIndex() const { return stageAxis; }

  int64_t coordinate(int64_t rank, int axis) const;
  int64_t stageOf(int64_t rank) const { return stageAxis < 0 ? 0 : coordinate(rank, stageAxis); }
  // The rank with the same coordinates but another stage.
  int64_t rankAtStage(int64_t rank, int64_t stage) const;

  // Row-major index of a rank over the listed axes (indices), and the product of their sizes.
  int64_t indexOver(int64_t rank, const std::vector<int> &axes) const;
  int64_t sizeOver(const std::vector<int> &axes) const;

  // "rank 3 (pp=1 dp=0 tp=1)"
  std::string describe(int64_t rank) const;

private:
  int64_t stride(int axis) const;

  std::vector<Axis> axisList;
  int64_t ranks = 1;
  int stageAxis = -1;
};

// The axes of a group and, when not empty, the only stages whose ranks belong to it.
struct GroupSpec {
  std::vector<int> axes;
  std::vector<int64_t> stages;
};

// The members of the group that holds `rank`, by group index; empty when the group excludes the rank's stage.
std::vector<int> groupMembers(const Grid &grid, const GroupSpec &group, int64_t rank);

} // namespace ppcrt
