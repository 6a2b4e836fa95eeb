// Executes reshard steps on all ranks of a small grid with real numbers.
#include "ReshardSimulation.h"

#include <algorithm>
#include <cmath>

namespace mlir::ppc {

static int64_t sizeOf(const std::vector<int64_t> &shape) {
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  return size;
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

SimTensor::SimTensor(std::vector<int64_t> shape) : shape(std::move(shape)), data(sizeOf(this->shape), 0.0) {}

double &SimTensor::ref(const std::vector<int64_t> &index) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    offset = offset * shape[dim] + index[dim];
  return data.at(offset);
}

double SimTensor::at(const std::vector<int64_t> &index) const {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (index[dim] >= shape[dim])
      return 0;
  return const_cast<SimTensor *>(this)->ref(index);
}

static double combine(Combiner combiner, double a, double b) {
  switch (combiner) {
  case Combiner::Sum:
    return a + b;
  case Combiner::Max:
    return std::max(a, b);
  case Combiner::LogSumExp:
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  }
  return 0;
}

/// Block `block` of `count` along `dim`, padded with zeros to whole blocks.
static SimTensor blockOf(const SimTensor &tensor, int64_t dim, int64_t block, int64_t count) {
  std::vector<int64_t> shape = tensor.shape;
  shape[dim] = ceilDiv(shape[dim], count);
  SimTensor result(shape);
  forEachIndex(shape, [&](std::vector<int64_t> index) {
    double &to = result.ref(index);
    index[dim] += block * shape[dim];
    to = tensor.at(index);
  });
  return result;
}

/// The parts one after another along `dim`, cut down to `extent`.
static SimTensor concatenation(const std::vector<const SimTensor *> &parts, int64_t dim, int64_t extent) {
  std::vector<int64_t> shape = parts[0]->shape;
  int64_t each = shape[dim];
  shape[dim] = extent;
  SimTensor result(shape);
  forEachIndex(shape, [&](std::vector<int64_t> index) {
    double &to = result.ref(index);
    int64_t part = index[dim] / each;
    index[dim] %= each;
    to = parts.at(part)->at(index);
  });
  return result;
}

int64_t ReshardSimulation::rankCount() const {
  int64_t count = 1;
  for (const LayoutAxis &axis : grid)
    count *= axis.size;
  return count;
}

std::vector<int64_t> ReshardSimulation::coordinatesOf(int64_t rank) const {
  std::vector<int64_t> coordinates(grid.size());
  for (size_t axis = grid.size(); axis-- > 0; rank /= grid[axis].size)
    coordinates[axis] = rank % grid[axis].size;
  return coordinates;
}

int64_t ReshardSimulation::indexOn(int64_t rank, const std::vector<int> &axes) const {
  std::vector<int64_t> coordinates = coordinatesOf(rank);
  int64_t index = 0;
  for (int axis : axes)
    index = index * grid[axis].size + coordinates[axis];
  return index;
}

std::vector<int64_t> ReshardSimulation::groupOf(int64_t rank, const std::vector<int> &axes) const {
  int64_t size = 1;
  for (int axis : axes)
    size *= grid[axis].size;
  std::vector<int64_t> group(size);
  std::vector<int64_t> mine = coordinatesOf(rank);
  for (int64_t other = 0; other < rankCount(); ++other) {
    std::vector<int64_t> theirs = coordinatesOf(other);
    bool inGroup = true;
    for (size_t axis = 0; axis < grid.size(); ++axis)
      inGroup &= mine[axis] == theirs[axis] || std::find(axes.begin(), axes.end(), int(axis)) != axes.end();
    if (inGroup)
      group[indexOn(other, axes)] = other;
  }
  return group;
}

SimTensor ReshardSimulation::combined(int64_t rank, const std::vector<int> &axes, Combiner combiner) const {
  std::vector<int64_t> group = groupOf(rank, axes);
  SimTensor result = local[group[0]];
  for (size_t i = 1; i < group.size(); ++i)
    for (size_t e = 0; e < result.data.size(); ++e)
      result.data[e] = combine(combiner, result.data[e], local[group[i]].data[e]);
  return result;
}

/// Calls visit(local index, logical index) for every real (not padding) element of the rank.
template <typename Visit>
static void forEachReal(const std::vector<int64_t> &shape, const std::vector<int64_t> &localShape,
                        const std::vector<int64_t> &block, Visit visit) {
  forEachIndex(localShape, [&](const std::vector<int64_t> &index) {
    int64_t offset = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t global = block[dim] * localShape[dim] + index[dim];
      if (global >= shape[dim])
        return;
      offset = offset * shape[dim] + global;
    }
    visit(index, offset);
  });
}

void ReshardSimulation::start(const Layout &layout, std::mt19937 &random) {
  std::uniform_int_distribution<int> value(-9, 9);
  // One full-size contribution per coordinate on the partial axes; ranks that agree on it hold the same numbers.
  int64_t contributions = groupSize(layout.partial, grid);
  std::vector<std::vector<double>> parts(contributions, std::vector<double>(sizeOf(shape)));
  for (auto &part : parts)
    for (double &element : part)
      element = value(random);
  logical = parts[0];
  for (int64_t i = 1; i < contributions; ++i)
    for (size_t e = 0; e < logical.size(); ++e)
      logical[e] = combine(layout.combiner, logical[e], parts[i][e]);
  local.clear();
  for (int64_t rank = 0; rank < rankCount(); ++rank) {
    SimTensor tensor(localShape(shape, layout, grid));
    std::vector<int64_t> block;
    for (const std::vector<int> &axes : layout.dims)
      block.push_back(indexOn(rank, axes));
    const std::vector<double> &part = parts[indexOn(rank, layout.partial)];
    forEachReal(shape, tensor.shape, block,
                [&](const std::vector<int64_t> &index, int64_t offset) { tensor.ref(index) = part[offset]; });
    local.push_back(std::move(tensor));
  }
}

void ReshardSimulation::execute(const ReshardStep &step) {
  std::vector<int64_t> after = localShape(shape, step.result, grid);
  int64_t count = groupSize(step.axes, grid);
  std::vector<SimTensor> results;
  for (int64_t rank = 0; rank < rankCount(); ++rank) {
    std::vector<int64_t> group = groupOf(rank, step.axes);
    int64_t index = indexOn(rank, step.axes);
    switch (step.kind) {
    case ReshardKind::AllReduce:
      results.push_back(combined(rank, step.axes, step.combiner));
      break;
    case ReshardKind::ReduceScatter:
      results.push_back(blockOf(combined(rank, step.axes, step.combiner), step.dim, index, count));
      break;
    case ReshardKind::Slice:
      results.push_back(blockOf(local[rank], step.dim, index, count));
      break;
    case ReshardKind::AllGather: {
      std::vector<const SimTensor *> parts;
      for (int64_t member : group)
        parts.push_back(&local[member]);
      results.push_back(concatenation(parts, step.dim, after[step.dim]));
      break;
    }
    case ReshardKind::AllToAll: {
      std::vector<SimTensor> blocks;
      std::vector<const SimTensor *> parts;
      for (int64_t member : group)
        blocks.push_back(blockOf(local[member], step.dim, index, count));
      for (const SimTensor &block : blocks)
        parts.push_back(&block);
      results.push_back(concatenation(parts, step.fromDim, after[step.fromDim]));
      break;
    }
    }
    // Padding stays zero, whatever the combiner makes of it.
    std::vector<int64_t> block;
    for (const std::vector<int> &axes : step.result.dims)
      block.push_back(indexOn(rank, axes));
    if (step.combiner == Combiner::LogSumExp && step.kind == ReshardKind::AllReduce) {
      SimTensor clean(results.back().shape);
      forEachReal(shape, clean.shape, block,
                  [&](const std::vector<int64_t> &at, int64_t) { clean.ref(at) = results.back().at(at); });
      results.back() = clean;
    }
  }
  local = std::move(results);
}

double ReshardSimulation::elementsSent(const ReshardStep &step) const {
  double n = groupSize(step.axes, grid), elements = local[0].data.size();
  auto padded = [&](int64_t dim) {
    return elements / local[0].shape[dim] * (ceilDiv(local[0].shape[dim], int64_t(n)) * n);
  };
  switch (step.kind) {
  case ReshardKind::AllReduce: // reduce-scatter, then all-gather; log_sum_exp: of the maximum, then of the sum
    return (step.combiner == Combiner::LogSumExp ? 2 : 1) * 2 * (n - 1) * elements / n;
  case ReshardKind::ReduceScatter:
    return (n - 1) * padded(step.dim) / n;
  case ReshardKind::AllGather:
    return (n - 1) * elements;
  case ReshardKind::Slice:
    return 0;
  case ReshardKind::AllToAll:
    return (n - 1) * padded(step.dim) / n;
  }
  return 0;
}

std::string ReshardSimulation::check(const Layout &layout) const {
  std::vector<int64_t> expectedShape = localShape(shape, layout, grid);
  for (int64_t rank = 0; rank < rankCount(); ++rank) {
    std::string at = "rank " + std::to_string(rank) + ": ";
    if (local[rank].shape != expectedShape)
      return at + "wrong local shape";
    SimTensor have = combined(rank, layout.partial, layout.combiner), want(expectedShape);
    std::vector<int64_t> block;
    for (const std::vector<int> &axes : layout.dims)
      block.push_back(indexOn(rank, axes));
    std::vector<bool> isReal(want.data.size(), false);
    forEachReal(shape, expectedShape, block, [&](const std::vector<int64_t> &index, int64_t offset) {
      want.ref(index) = logical[offset];
      isReal[&want.ref(index) - want.data.data()] = true;
    });
    for (size_t e = 0; e < want.data.size(); ++e) {
      if (!isReal[e] && local[rank].data[e] != 0)
        return at + "padding is not zero";
      if (isReal[e] && std::abs(have.data[e] - want.data[e]) > 1e-12)
        return at + "element " + std::to_string(e) + " is " + std::to_string(have.data[e]) + ", not " +
               std::to_string(want.data[e]);
    }
  }
  return "";
}

} // namespace mlir::ppc
