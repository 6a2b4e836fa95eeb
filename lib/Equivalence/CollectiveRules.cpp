// Effects of collectives on a relation, from the definitions in dialects/ppc/IR/Collective.td. A group over axes (a,
// b) is the ranks that differ only in these axes, a the outer one.
#include "Derivation.h"

namespace mlir::ppc {

/// Makes `x` complete over `group`; returns the error if it is not partial there.
std::string Derivation::takePending(Relation &x, ArrayRef<StringAttr> group, Combiner combiner) {
  if (terms.isZero(x.term) && combiner != Combiner::LogSumExp) { // ln(e^0 + e^0) is not zero
    llvm::erase_if(x.pending, [&](auto &entry) {
      return llvm::is_contained(group, entry.first) && entry.second != Combiner::LogSumExp;
    });
    return "";
  }
  for (StringAttr axis : group) {
    const auto *entry = x.findPending(axis);
    if (!entry && combiner == Combiner::Sum && spread(x, std::pair(axis, combiner)))
      entry = x.findPending(axis);
    if (!entry && x.uses(axis))
      return ("combines different blocks: its operand is " + describe(x, terms));
    if (!entry && combiner == Combiner::Max)
      continue; // the maximum of equal values
    if (!entry)
      return ("combines over " + axis.str() + " a value that is already complete over it, and so counts it " +
              std::to_string(axes.size(axis)) + " times: its operand is " + describe(x, terms));
    if (entry->second != combiner)
      return ("combines by " + stringifyCombiner(combiner).str() + " a value that is " + describe(x, terms));
    x.pending.erase(llvm::find_if(x.pending, [&](auto &other) { return other.first == axis; }));
  }
  return "";
}

/// Shards dimension `dim`, of `from` elements, over `group` in addition, into blocks of `size`.
std::string Derivation::cutFurther(Relation &x, int64_t dim, ArrayRef<StringAttr> group, int64_t from, int64_t size) {
  for (StringAttr axis : group)
    if (x.uses(axis))
      return "shards over " + axis.str() + " a value that differs over it: its operand is " + describe(x, terms);
  Cut &cut = x.cuts[dim];
  if (extentOf(x, dim, terms) == kAnyExtent) {
    if (from == size * axes.product(group))
      return "";
    cut.extent = from;
  }
  int64_t extent = extentOf(x, dim, terms);
  int64_t whole = axes.localSize(extent, cut.axes), parts = axes.product(group);
  bool wasWhole = cut.axes.empty();
  cut.axes.append(group.begin(), group.end());
  if (size != axes.localSize(extent, cut.axes) || (!wasWhole && whole != parts * size))
    return "splits blocks of " + std::to_string(whole) + " elements into blocks of " + std::to_string(size) +
           ", which are not the blocks of " + std::to_string(extent) + " elements over " + describe(cut.axes);
  cut.zeroPadding |= wasWhole;
  forgetEvenCut(x, dim, terms, axes);
  return "";
}

/// Gathers the blocks of dimension `dim` over `group`.
std::string Derivation::joinBlocks(Relation &x, int64_t dim, ArrayRef<StringAttr> group, int64_t blockSize,
                                   int64_t size) {
  int64_t extent = extentOf(x, dim, terms);
  for (StringAttr axis : group)
    if (x.findPending(axis) || (extent == kAnyExtent && x.uses(axis)))
      return "concatenates partial sums: its operand is " + describe(x, terms);
  if (extent == kAnyExtent)
    return "";
  Cut &cut = x.cuts[dim];
  if (group.size() > cut.axes.size() || ArrayRef<StringAttr>(cut.axes).take_back(group.size()) != group)
    return "gathers blocks over " + describe(group) + ", but along dimension " + std::to_string(dim) +
           " its operand is " + (cut.axes.empty() ? "unsharded" : "sharded over " + describe(cut.axes));
  cut.axes.resize(cut.axes.size() - group.size());
  bool isWhole = cut.axes.empty();
  if (size != axes.localSize(extent, cut.axes) || (!isWhole && size != axes.product(group) * blockSize))
    return "gathers blocks of " + std::to_string(blockSize) + " elements into " + std::to_string(size) + ", expected " +
           std::to_string(axes.localSize(extent, cut.axes));
  cut.zeroPadding |= isWhole;
  forgetEvenCut(x, dim, terms, axes);
  return "";
}

Derived Derivation::checkedType(RankedTensorType type, Relation relation) {
  for (unsigned dim = 0; dim < relation.cuts.size(); ++dim)
    if (int64_t extent = extentOf(relation, dim, terms);
        extent != kAnyExtent && axes.localSize(extent, relation.cuts[dim].axes) != type.getDimSize(dim))
      return Derived::fail("makes dimension " + Twine(dim) + " of " + Twine(type.getDimSize(dim)) +
                           " elements, but a block of " + Twine(extent) + " sharded over " +
                           describe(relation.cuts[dim].axes) + " is " +
                           Twine(axes.localSize(extent, relation.cuts[dim].axes)));
  return {{std::move(relation)}, ""};
}

Derived Derivation::allReduce(AllReduceOp op, Relation x) {
  if (op.getStages())
    return Derived::fail("names stages outside of the update");
  if (std::string error = takePending(x, axes.several(op.getAxes()), op.getCombiner()); !error.empty())
    return Derived::fail(error);
  // Padding holds the sum of paddings; zeros do not combine to zero in a log-sum-exp.
  for (auto [dim, cut] : llvm::enumerate(x.cuts))
    if (op.getCombiner() == Combiner::LogSumExp &&
        axes.isUneven(std::max<int64_t>(1, extentOf(x, dim, terms)), cut.axes))
      cut.zeroPadding = false;
  return checkedType(op.getType(), x);
}

Derived Derivation::allGather(AllGatherOp op, Relation x) {
  int64_t dim = op.getDim();
  std::string error = joinBlocks(x, dim, axes.several(op.getAxes()), tensorType(op.getX()).getDimSize(dim),
                                 op.getType().getDimSize(dim));
  return error.empty() ? checkedType(op.getType(), x) : Derived::fail(error);
}

Derived Derivation::reduceScatter(ReduceScatterOp op, Relation x) {
  SmallVector<StringAttr, 2> group = axes.several(op.getAxes());
  std::string error = takePending(x, group, op.getCombiner());
  if (error.empty())
    error = cutFurther(x, op.getDim(), group, tensorType(op.getX()).getDimSize(op.getDim()),
                       op.getType().getDimSize(op.getDim()));
  return error.empty() ? checkedType(op.getType(), x) : Derived::fail(error);
}

Derived Derivation::allToAll(AllToAllOp op, Relation x) {
  SmallVector<StringAttr, 2> group = axes.several(op.getAxes());
  int64_t concat = op.getConcatDim(), split = op.getSplitDim();
  std::string error =
      joinBlocks(x, concat, group, tensorType(op.getX()).getDimSize(concat), op.getType().getDimSize(concat));
  if (error.empty())
    error = cutFurther(x, split, group, tensorType(op.getX()).getDimSize(split), op.getType().getDimSize(split));
  int64_t extent = extentOf(x, split, terms);
  if (error.empty() && extent != kAnyExtent && axes.isUneven(extent, x.cuts[split].axes))
    error = "exchanges blocks of a dimension that is sharded unevenly";
  return error.empty() ? checkedType(op.getType(), x) : Derived::fail(error);
}

Derived Derivation::localSlice(LocalSliceOp op, Relation x) {
  int64_t dim = op.getDim();
  std::string error = cutFurther(x, dim, axes.several(op.getAxes()), tensorType(op.getX()).getDimSize(dim),
                                 op.getType().getDimSize(dim));
  return error.empty() ? checkedType(op.getType(), x) : Derived::fail(error);
}

Derived Derivation::reduced(Relation x, ArrayRef<StringAttr> group, Combiner combiner, RankedTensorType to) {
  std::string error = takePending(x, group, combiner);
  return error.empty() ? checkedType(to, x) : Derived::fail(error);
}

Derived Derivation::reducedAndCut(Relation x, ArrayRef<StringAttr> group, Combiner combiner, RankedTensorType from,
                                  RankedTensorType to) {
  std::string error = takePending(x, group, combiner);
  if (error.empty() && (!from.getRank() || from.getDimSize(0) != to.getDimSize(0) * axes.product(group)))
    error = "scatters blocks of another dimension than 0";
  if (error.empty())
    error = cutFurther(x, 0, group, from.getDimSize(0), to.getDimSize(0));
  return error.empty() ? checkedType(to, x) : Derived::fail(error);
}

Derived Derivation::joined(Relation x, ArrayRef<StringAttr> group, RankedTensorType from, RankedTensorType to) {
  if (!from.getRank() || to.getDimSize(0) != from.getDimSize(0) * axes.product(group))
    return Derived::fail("gathers blocks of another dimension than 0");
  std::string error = joinBlocks(x, 0, group, from.getDimSize(0), to.getDimSize(0));
  return error.empty() ? checkedType(to, x) : Derived::fail(error);
}

} // namespace mlir::ppc
