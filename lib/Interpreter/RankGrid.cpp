// Coordinates of ranks on a device mesh.
#include "ppc/Interpreter/RankGrid.h"

namespace mlir::ppc {

int64_t RankGrid::coordinate(int64_t rank, StringRef axis) const {
  int64_t stride = 1; // stride of the last axis; the strides of earlier axes are larger
  for (auto [name, size] : llvm::reverse(llvm::zip_equal(grid.getNames(), grid.getSizes()))) {
    if (name.getValue() == axis)
      return rank / stride % size;
    stride *= size;
  }
  return 0;
}

int64_t RankGrid::index(int64_t rank, ArrayRef<StringRef> axes) const {
  int64_t index = 0;
  for (StringRef axis : axes)
    index = index * grid.size(axis) + coordinate(rank, axis);
  return index;
}

SmallVector<int64_t> RankGrid::group(int64_t rank, ArrayRef<StringRef> axes) const {
  int64_t count = 1;
  for (StringRef axis : axes)
    count *= grid.size(axis);
  SmallVector<int64_t> members(count);
  for (int64_t other = 0; other < rankCount(); ++other) {
    bool together = llvm::all_of(grid.getNames(), [&](StringAttr axis) {
      return llvm::is_contained(axes, axis.getValue()) || coordinate(rank, axis) == coordinate(other, axis);
    });
    if (together)
      members[index(other, axes)] = other;
  }
  return members;
}

ReferenceContext RankGrid::context(int64_t rank) const {
  ReferenceContext context;
  context.blockIndex = [grid = *this, rank](ArrayRef<StringRef> axes) { return grid.index(rank, axes); };
  return context;
}

} // namespace mlir::ppc
