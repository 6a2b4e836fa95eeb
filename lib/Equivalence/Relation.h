// Relation of a local value to a logical value, on all ranks of a stage at once.
#ifndef PPC_LIB_EQUIVALENCE_RELATION_H
#define PPC_LIB_EQUIVALENCE_RELATION_H

#include "Terms.h"

namespace mlir::ppc {

/// Sharding of one dimension: over `axes` (major to minor) of k ranks in all, rank i holds the elements from i * c
/// on, c = ceil(extent / k). Elements past the extent are padding.
struct Cut {
  SmallVector<StringAttr, 2> axes;
  bool zeroPadding = true; ///< the padding is known to be zero (or there is none)
  /// For a dimension along which the value is constant, which has no axes otherwise: the local value is a block of
  /// `extent` equal elements, unevenly sharded, so that its padding may differ from them.
  int64_t extent = kAnyExtent;

  bool operator==(const Cut &other) const {
    return axes == other.axes && zeroPadding == other.zeroPadding && extent == other.extent;
  }
};

/// A chunk of a dimension: of `runs` equal runs of the `whole` elements that a block has there, the `size` elements
/// from `first` on of each.
struct Piece {
  unsigned dim;
  int64_t runs, first, size, whole;

  bool operator==(const Piece &other) const {
    return dim == other.dim && runs == other.runs && first == other.first && size == other.size && whole == other.whole;
  }
  int64_t elements() const { return runs * size; }
};

/// The local value of each rank is its block of the logical value `term`; over the axes in `pending` the ranks hold
/// partial values that combine to the block; over all other axes it is replicated. If there are `pieces`, it is those
/// elements of that block.
struct Relation {
  TermId term = 0;
  SmallVector<Cut, 3> cuts; ///< one per dimension
  SmallVector<std::pair<StringAttr, Combiner>, 2> pending;
  SmallVector<Piece, 0> pieces; ///< chunks, at most one per dimension, by dimension
  /// The value sums equal elements, or is linear in such a sum: perhaps only the elements of this rank, so that its
  /// sum over the ranks is more than itself. Does not restrict the value, only allows to sum it.
  bool isShare = false;

  bool operator==(const Relation &other) const {
    return term == other.term && cuts == other.cuts && pending == other.pending && pieces == other.pieces;
  }
  /// The chunk along that dimension; null if the value has all of it.
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

  /// A value of type `logical` with the sharding `sharding`, its padding zero; fails when the sharding does not
  /// name as many dimensions.
  FailureOr<Relation> declared(TermId term, RankedTensorType logical, ShardingAttr sharding) const;
};

/// Extent of a dimension of a relation; kAnyExtent if the value is constant along it, on the local value's padding
/// as well.
int64_t extentOf(const Relation &relation, unsigned dim, const TermTable &terms);
/// Forgets the sharding of a dimension along which the value is constant, if it leaves no padding.
void forgetEvenCut(Relation &relation, unsigned dim, const TermTable &terms, const RankAxes &axes);

/// `matmul of layer 2 (forward), sharded [{dp}, {}], partial over tp (sum)`
std::string describe(const Relation &relation, const TermTable &terms);
std::string describe(ArrayRef<StringAttr> axes);

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_RELATION_H
