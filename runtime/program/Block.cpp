// Local blocks of logical tensors as contiguous runs.
#include "runtime/program/Block.h"

#include <algorithm>

namespace ppcrt {

int64_t elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string showShape(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::vector<int64_t> localShape(const Grid &grid, std::vector<int64_t> logicalShape, const std::vector<Cut> &cuts) {
  for (const Cut &cut : cuts) {
    int64_t parts = grid.sizeOver(cut.axes);
    logicalShape[cut.dim] = (logicalShape[cut.dim] + parts - 1) / parts;
  }
  return logicalShape;
}

Block::Block(const Grid &grid, int64_t rank, std::vector<int64_t> shape, const std::vector<Cut> &cuts)
    : logicalShape(std::move(shape)), localShape(ppcrt::localShape(grid, logicalShape, cuts)),
      start(logicalShape.size(), 0) {
  for (const Cut &cut : cuts)
    start[cut.dim] = grid.indexOver(rank, cut.axes) * localShape[cut.dim];
}

int64_t Block::localCount() const { return elementCount(localShape); }
int64_t Block::logicalCount() const { return elementCount(logicalShape); }

void Block::forEachRun(const std::function<void(int64_t, int64_t, int64_t)> &visit) const {
  size_t rank = logicalShape.size();
  std::vector<int64_t> valid(rank);
  for (size_t d = 0; d < rank; ++d) {
    valid[d] = std::min(localShape[d], logicalShape[d] - start[d]);
    if (valid[d] <= 0)
      return;
  }
  // Dimensions from `inner` on are whole, so they and the valid part of dimension inner-1 form one run.
  size_t inner = rank;
  int64_t run = 1;
  while (inner > 0 && localShape[inner - 1] == logicalShape[inner - 1])
    run *= logicalShape[--inner];
  if (inner > 0)
    run *= valid[--inner];
  std::vector<int64_t> index(inner, 0);
  while (true) {
    int64_t local = 0, logical = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t i = d < inner ? index[d] : 0;
      local = local * localShape[d] + i;
      logical = logical * logicalShape[d] + start[d] + i;
    }
    visit(local, logical, run);
    size_t d = inner;
    while (d > 0 && ++index[d - 1] == valid[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

} // namespace ppcrt
