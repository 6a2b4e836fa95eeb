// Ops that rearrange elements.
#include "LoopNest.h"

namespace mlir::ppc {
namespace {

Value copyInto(ScalarBuilder &b, RankedTensorType type, Access in) {
  return mapLoops(b, type, in, [](ScalarBuilder &, ValueRange v) { return v[0]; });
}

SmallVector<Value> transpose(TransposeOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getY());
  SmallVector<int64_t> loops(type.getRank()); // dimension permutation[i] of x follows loop i
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    loops[dim] = i;
  return {copyInto(b, type, {op.getX(), someLoops(b, type.getRank(), loops)})};
}

SmallVector<Value> broadcast(BroadcastOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getY());
  SmallVector<int64_t> loops;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      loops.push_back(dim);
  return {copyInto(b, type, {op.getX(), someLoops(b, type.getRank(), loops)})};
}

/// Through one dimension: upstream's reshapes only merge and split neighbours.
SmallVector<Value> reshape(ReshapeOp op, ScalarBuilder &b) {
  auto from = tensorType(op.getX()), to = tensorType(op.getY());
  auto whole = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  Value value = op.getX();
  if (from.getRank() > 1 || (from.getRank() == 1 && to.getRank() == 0)) {
    SmallVector<int64_t> flat;
    if (to.getRank() > 0)
      flat.push_back(from.getNumElements());
    value = tensor::CollapseShapeOp::create(b, withShape(from, flat), value, to.getRank() > 0 ? whole(from.getRank()) : whole(0));
  }
  if (to.getRank() > 1 || (to.getRank() == 1 && from.getRank() == 0))
    value = tensor::ExpandShapeOp::create(b, to, value, from.getRank() > 0 ? whole(to.getRank()) : whole(0));
  return {value};
}

} // namespace

void populateShape(RewritePatternSet &patterns) {
  addPattern<TransposeOp>(patterns, transpose);
  addPattern<BroadcastOp>(patterns, broadcast);
  addPattern<ReshapeOp>(patterns, reshape);
}

} // namespace mlir::ppc
