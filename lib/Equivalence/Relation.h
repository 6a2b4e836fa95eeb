// What a local value is of a logical value, on all ranks of a stage at once.
#ifndef PPC_LIB_EQUIVALENCE_RELATION_H
#define PPC_LIB_EQUIVALENCE_RELATION_H

#include "Terms.h"

namespace mlir::ppc {

/// How one dimension lies on the ranks: cut over `axes` (major to minor) of k ranks in all, rank i holds the elements
/// from i * c on, c = ceil(extent / k). What lies past the extent is padding.
struct Cut {
  SmallVector<StringAttr, 2> axes;
  bool zeroPadding = true; ///< the padding is known to be zero (or there is none)
  /// Of a dimension along which the value is constant, which has no axes else: the local value is a block of so many
  /// elements, unevenly cut, so that its padding may differ from them.
  int64_t extent = kAnyExtent;

  bool operator==(const Cut &other) const {
    return axes == other.axes && zeroPadding == other.zeroPadding && extent == other.extent;
  }
};

/// Some of the elements of a dimension: of `runs` equal runs of the `whole` elements that a block has there, the `size`
/// elements from `first` on of each.
struct Piece {
  unsigned dim;
  int64_t runs, first, size, whole;

  bool operator==(const Piece &other) const {
    return dim == other.dim && runs == other.runs && first == other.first && size == other.size && whole == other.whole;
  }
  int64_t elements() const { return runs * size; }
};

/// The local value of each rank is its block of the logical value `term`; over the axes in `pending` the ranks hold
/// parts that combine to the block; over all other axes they hold the same. Where there are `pieces`, it is those
/// elements of that block.
struct Relation {
  TermId term = 0;
  SmallVector<Cut, 3> cuts; ///< one per dimension
  SmallVector<std::pair<StringAttr, Combiner>, 2> pending;
  SmallVector<Piece, 0> pieces; ///< at most one per dimension, by dimension
  /// The value adds up elements that are alike, or is linear in what does: the elements of this rank alone, it may be,
  /// so that its sum over the ranks is more than itself. Says nothing of the value, only that to sum it is no mistake.
  bool isShare = false;

  bool operator==(const Relation &other) const {
    return term == other.term && cuts == other.cuts && pending == other.pending && pieces == other.pieces;
  }
  /// Along that dimension; null where all of it is there.
  const Piece *piece(unsigned dim) const;
  void addPiece(Piece piece);
  void dropPiece(unsigned dim);
  bool uses(StringAttr axis) const;
  const std::pair<StringAttr, Combiner> *findPending(StringAttr axis) const;
};

/// The ranks of one stage.
struct RankAxes {
  GridAttr grid; ///< null for one device

  int64_t size(StringAttr axis) const { return grid ? grid.size(axis) : 1; }
  int64_t product(ArrayRef<StringAttr> axes) const;
  /// The axes of `axes` that have several ranks.
  SmallVector<StringAttr, 2> several(ArrayAttr axes) const;
  int64_t localSize(int64_t extent, ArrayRef<StringAttr> axes) const { return blockSize(extent, product(axes)); }
  bool isUneven(int64_t extent, ArrayRef<StringAttr> axes) const { return extent % product(axes) != 0; }

  /// A value of type `logical` cut as `sharding` says, its padding zero; fails when it does not name as many
  /// dimensions.
  FailureOr<Relation> declared(TermId term, RankedTensorType logical, ShardingAttr sharding) const;
};

/// Extent of a dimension of a relation; kAnyExtent where the value is constant along it, on the local value's padding
/// as well.
int64_t extentOf(const Relation &relation, unsigned dim, const TermTable &terms);
/// Forgets how a dimension along which the value is constant is cut, where that leaves no padding.
void forgetEvenCut(Relation &relation, unsigned dim, const TermTable &terms, const RankAxes &axes);

/// `matmul of layer 2 (forward), cut [{dp}, {}], pending over tp (sum)`
std::string describe(const Relation &relation, const TermTable &terms);
std::string describe(ArrayRef<StringAttr> axes);

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_RELATION_H
