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
    value = tensor::CollapseShapeOp::create(b, withShape(from, flat), value,
                                            to.getRank() > 0 ? whole(from.getRank()) : whole(0));
  }
  if (to.getRank() > 1 || (to.getRank() == 1 && from.getRank() == 0))
    value = tensor::ExpandShapeOp::create(b, to, value, from.getRank() > 0 ? whole(to.getRank()) : whole(0));
  return {value};
}

/// Where in memory the elements of a part lie that begins `start` elements into `whole` along `dim`, by the part's
/// loops. The whole is one dimension there: linalg takes a plain loop as an index only if it runs through all of the
/// dimension.
AffineMap placeOf(ScalarBuilder &b, RankedTensorType whole, int64_t dim, int64_t start) {
  AffineExpr place = b.getAffineConstantExpr(0);
  for (auto [i, size] : llvm::enumerate(whole.getShape()))
    place = place * size + b.getAffineDimExpr(i) + (int64_t(i) == dim ? start : 0);
  return AffineMap::get(whole.getRank(), 0, place, b.getContext());
}

SmallVector<ReassociationIndices> allDims(int64_t rank) { return {llvm::to_vector(llvm::seq<int64_t>(0, rank))}; }

SmallVector<Value> split(SplitOp op, ScalarBuilder &b) {
  auto whole = tensorType(op.getX());
  SmallVector<Value> parts;
  int64_t dim = op.getDim(), start = 0, rank = whole.getRank();
  Value flat;
  if (rank > 1)
    flat = tensor::CollapseShapeOp::create(b, withShape(whole, {whole.getNumElements()}), op.getX(), allDims(rank));
  for (Value part : op.getParts()) {
    auto type = tensorType(part);
    parts.push_back(rank > 1
                        ? copyInto(b, type, {flat, placeOf(b, whole, dim, start)})
                        : mapLoops(b, type, {}, [&](ScalarBuilder &s, ValueRange) -> Value {
                            return tensor::ExtractOp::create(s, op.getX(), s.addIndex(s.loopIndex(0), s.index(start)));
                          }));
    start += type.getDimSize(dim);
  }
  return parts;
}

/// Each part is added to its place in zeros: a loop that only wrote there would say nothing about the rest.
SmallVector<Value> concat(ConcatOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getY());
  int64_t dim = op.getDim(), start = 0, rank = type.getRank();
  auto whole = rank > 1 ? type : withShape(type, {1, type.getDimSize(0)}); // a plain loop again
  Value flat = filledTensor(b, withShape(type, {type.getNumElements()}), 0);
  for (Value part : op.getParts()) {
    auto partType = tensorType(part);
    Value source =
        rank > 1 ? part
                 : tensor::ExpandShapeOp::create(b, withShape(type, {1, partType.getDimSize(0)}), part, allDims(2))
                       .getResult();
    flat = loopNest(b, Access{source, allLoops(b, whole.getRank())},
                    Access{flat, placeOf(b, whole, rank > 1 ? dim : 1, start)}, {},
                    [](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{s.add(v[0], v[1])}; })[0];
    start += partType.getDimSize(dim);
  }
  return {rank > 1 ? tensor::ExpandShapeOp::create(b, type, flat, allDims(rank)).getResult() : flat};
}

} // namespace

void populateShape(RewritePatternSet &patterns) {
  addPattern<TransposeOp>(patterns, transpose);
  addPattern<BroadcastOp>(patterns, broadcast);
  addPattern<ReshapeOp>(patterns, reshape);
  addPattern<SplitOp>(patterns, split);
  addPattern<ConcatOp>(patterns, concat);
}

} // namespace mlir::ppc
