// Ops that rearrange elements.
#include "LoopNest.h"
#include "dialects/ppcrt/Epilogue.h"

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

/// Offset of the elements of a part that begins `start` elements into `whole` along `dim`, by the part's loops. The
/// full tensor is one dimension there: linalg takes a plain loop as an index only if it runs through all of the
/// dimension.
AffineMap placeOf(ScalarBuilder &b, RankedTensorType whole, int64_t dim, int64_t start) {
  AffineExpr place = b.getAffineConstantExpr(0);
  for (auto [i, size] : llvm::enumerate(whole.getShape()))
    place = place * size + b.getAffineDimExpr(i) + (int64_t(i) == dim ? start : 0);
  return AffineMap::get(whole.getRank(), 0, place, b.getContext());
}

SmallVector<ReassociationIndices> allDims(int64_t rank) { return {llvm::to_vector(llvm::seq<int64_t>(0, rank))}; }

/// `type` with dimension `dim` split into `runs` runs, and the groups of dimensions that lead there.
RankedTensorType inRuns(RankedTensorType type, int64_t dim, int64_t runs) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= runs;
  shape.insert(shape.begin() + dim, runs);
  return withShape(type, shape);
}
SmallVector<ReassociationIndices> groupsOfRuns(int64_t rank, int64_t dim) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < rank; ++i)
    groups.push_back(i < dim ? ReassociationIndices{i} : ReassociationIndices{i + 1});
  groups[dim].insert(groups[dim].begin(), dim);
  return groups;
}

/// Whether parts along `dim` are contiguous: all dimensions before it have one element.
bool liesTogether(RankedTensorType whole, int64_t dim, int64_t runs) {
  return runs == 1 && whole.getRank() > 1 &&
         llvm::all_of(whole.getShape().take_front(dim), [](int64_t extent) { return extent == 1; });
}

/// Whether only matmuls use the parts, which they read in place.
bool isOfProducts(SplitOp op) {
  return liesTogether(tensorType(op.getX()), op.getDim(), op.getRuns()) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           auto inner = dyn_cast<SplitOp>(user);
           return isa<ppcrt::GemmOp, ppcrt::EpilogueGemmOp>(user) || (inner && isOfProducts(inner));
         });
}

/// Offsets and sizes of a part of `size` from `start` on.
std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>> boxOf(ScalarBuilder &b, RankedTensorType whole,
                                                                      int64_t dim, int64_t start, int64_t size) {
  SmallVector<OpFoldResult> offsets(whole.getRank(), b.getIndexAttr(0)), sizes;
  for (int64_t extent : whole.getShape())
    sizes.push_back(b.getIndexAttr(extent));
  offsets[dim] = b.getIndexAttr(start);
  sizes[dim] = b.getIndexAttr(size);
  return {offsets, sizes};
}

SmallVector<Value> split(SplitOp op, ScalarBuilder &b) {
  auto whole = tensorType(op.getX());
  SmallVector<Value> parts;
  int64_t dim = op.getDim(), runs = op.getRuns(), start = 0, rank = whole.getRank();
  bool isInPlace = isOfProducts(op);
  Value flat;
  if (rank > 1 || runs > 1)
    flat = tensor::CollapseShapeOp::create(b, withShape(whole, {whole.getNumElements()}), op.getX(), allDims(rank));
  for (Value part : op.getParts()) {
    auto type = tensorType(part);
    if (isInPlace) {
      auto [offsets, sizes] = boxOf(b, whole, dim, start, type.getDimSize(dim));
      SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
      parts.push_back(tensor::ExtractSliceOp::create(b, type, op.getX(), offsets, sizes, strides));
    } else if (runs > 1) {
      Value copy = copyInto(b, inRuns(type, dim, runs), {flat, placeOf(b, inRuns(whole, dim, runs), dim + 1, start)});
      parts.push_back(tensor::CollapseShapeOp::create(b, type, copy, groupsOfRuns(rank, dim)));
    } else if (rank > 1) {
      parts.push_back(copyInto(b, type, {flat, placeOf(b, whole, dim, start)}));
    } else {
      parts.push_back(mapLoops(b, type, {}, [&](ScalarBuilder &s, ValueRange) -> Value {
        return tensor::ExtractOp::create(s, op.getX(), s.addIndex(s.loopIndex(0), s.index(start)));
      }));
    }
    start += type.getDimSize(dim) / runs;
  }
  return parts;
}

/// The result of communication that `value` is, without dimensions of one element around it; null for other values.
Value communicated(Value value) {
  while (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
    value = expand.getSrc();
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<ppcrt::AllReduceOp, ppcrt::ReduceScatterOp, ReduceScatterOp>(op) ? value : Value();
}

/// The op that first writes a part.
Operation *beginOf(Value part) {
  while (auto insert = part.getDefiningOp<tensor::InsertSliceOp>())
    part = insert.getDest();
  Value source = communicated(part) ? communicated(part) : part;
  Operation *op = source.getDefiningOp();
  if (auto reduce = dyn_cast<ppcrt::AllReduceOp>(op)) // in place
    if (Operation *made = reduce.getOut().getDefiningOp(); made && made->getBlock() == op->getBlock())
      return made;
  return op;
}

/// Whether all parts come from communication, which writes them to their offsets.
bool isOfCommunication(ConcatOp op) {
  return liesTogether(op.getType(), op.getDim(), op.getRuns()) && llvm::all_of(op.getParts(), [](Value part) {
           auto inner = part.getDefiningOp<ConcatOp>();
           return communicated(part) || part.getDefiningOp<tensor::InsertSliceOp>() ||
                  (inner && isOfCommunication(inner));
         });
}

/// Inserts each part as soon as it is computed, before the ops that compute the next one.
Value insertParts(ConcatOp op, ScalarBuilder &b) {
  auto type = op.getType();
  int64_t dim = op.getDim(), start = 0, rank = type.getRank();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(beginOf(op.getParts().front()));
  Value whole = emptyTensor(b, type);
  for (Value part : op.getParts()) {
    Value source = communicated(part) ? communicated(part) : part;
    b.setInsertionPointAfter(part.getDefiningOp());
    if (Operation *before = whole.getDefiningOp(); part.getDefiningOp()->isBeforeInBlock(before))
      b.setInsertionPointAfter(before);
    int64_t size = tensorType(part).getDimSize(dim);
    auto [offsets, sizes] = boxOf(b, type, dim, start, size);
    SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
    whole = tensor::InsertSliceOp::create(b, source, whole, offsets, sizes, strides);
    start += size;
  }
  return whole;
}

/// Adds each part at its offset to zeros: a loop that only wrote the part would not define the rest.
SmallVector<Value> concat(ConcatOp op, ScalarBuilder &b) {
  if (isOfCommunication(op))
    return {insertParts(op, b)};
  auto type = op.getType();
  int64_t dim = op.getDim(), runs = op.getRuns(), start = 0, rank = type.getRank();
  bool asRuns = runs > 1 || rank == 1; // a plain loop again where there is one dimension
  auto withRuns = [&](RankedTensorType type) { return asRuns ? inRuns(type, dim, runs) : type; };
  Value flat = filledTensor(b, withShape(type, {type.getNumElements()}), 0);
  for (Value part : op.getParts()) {
    auto partType = withRuns(tensorType(part));
    Value source =
        asRuns ? tensor::ExpandShapeOp::create(b, partType, part, groupsOfRuns(rank, dim)).getResult() : part;
    flat = loopNest(b, Access{source, allLoops(b, partType.getRank())},
                    Access{flat, placeOf(b, withRuns(type), asRuns ? dim + 1 : dim, start)}, {},
                    [](ScalarBuilder &s, ValueRange v) { return SmallVector<Value>{s.add(v[0], v[1])}; })[0];
    start += partType.getDimSize(asRuns ? dim + 1 : dim);
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
