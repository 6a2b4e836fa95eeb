// Executes reshard steps on all ranks of a small grid with real numbers, from the text of ReshardPlanner.h alone: an
// independent reading of what each step means.
#ifndef PPC_TEST_UNIT_PLANNING_RESHARDSIMULATION_H
#define PPC_TEST_UNIT_PLANNING_RESHARDSIMULATION_H

#include "ppc/Sharding/ReshardPlanner.h"

#include <random>

namespace mlir::ppc {

/// A dense row-major tensor; reads outside its extents give zero.
struct SimTensor {
  std::vector<int64_t> shape;
  std::vector<double> data;

  explicit SimTensor(std::vector<int64_t> shape);
  double at(const std::vector<int64_t> &index) const;
  double &ref(const std::vector<int64_t> &index);
};

/// Calls `visit(index)` for every index below `shape`.
template <typename Visit> void forEachIndex(const std::vector<int64_t> &shape, Visit visit) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  for (;;) {
    visit(index);
    int64_t dim = shape.size() - 1;
    while (dim >= 0 && ++index[dim] == shape[dim])
      index[dim--] = 0;
    if (dim < 0)
      return;
  }
}

/// All ranks of a device mesh, each with its local tensor.
class ReshardSimulation {
public:
  ReshardSimulation(std::vector<LayoutAxis> grid, std::vector<int64_t> shape)
      : grid(std::move(grid)), shape(std::move(shape)) {}

  /// Gives every rank its part of a random logical tensor of small integers (exact in any order of summation).
  void start(const Layout &layout, std::mt19937 &random);
  /// Executes one step on all ranks.
  void execute(const ReshardStep &step);
  /// Difference between the ranks' data and the logical tensor laid out as `layout`; "" if there is none.
  std::string check(const Layout &layout) const;
  /// Elements that the busiest rank sends in the step, as ring algorithms do.
  double elementsSent(const ReshardStep &step) const;

private:
  int64_t rankCount() const;
  std::vector<int64_t> coordinatesOf(int64_t rank) const;
  /// Row-major index of the rank's coordinates on `axes`.
  int64_t indexOn(int64_t rank, const std::vector<int> &axes) const;
  /// Ranks of the group of `rank` over `axes`, by group index.
  std::vector<int64_t> groupOf(int64_t rank, const std::vector<int> &axes) const;
  SimTensor combined(int64_t rank, const std::vector<int> &axes, Combiner combiner) const;

  std::vector<LayoutAxis> grid;
  std::vector<int64_t> shape;
  std::vector<SimTensor> local;
  std::vector<double> logical;
};

} // namespace mlir::ppc

#endif // PPC_TEST_UNIT_PLANNING_RESHARDSIMULATION_H
