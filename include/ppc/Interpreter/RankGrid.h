// Coordinates of ranks on a device mesh: ranks are numbered row-major over the axes, outermost first.
#ifndef PPC_INTERPRETER_RANKGRID_H
#define PPC_INTERPRETER_RANKGRID_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// An axis that the mesh does not have counts as an axis of size one.
class RankGrid {
public:
  explicit RankGrid(GridAttr grid) : grid(grid) {}

  int64_t rankCount() const { return grid.deviceCount(); }
  /// The rank's position along `axis`.
  int64_t coordinate(int64_t rank, StringRef axis) const;
  /// The rank's index among the ranks that differ only in `axes`, row-major in the listed order.
  int64_t index(int64_t rank, ArrayRef<StringRef> axes) const;
  /// The ranks that differ from `rank` only in `axes`, by that index.
  SmallVector<int64_t> group(int64_t rank, ArrayRef<StringRef> axes) const;
  /// The context in which ops of this rank find their block.
  ReferenceContext context(int64_t rank) const;

private:
  GridAttr grid;
};

} // namespace mlir::ppc

#endif // PPC_INTERPRETER_RANKGRID_H
