// Relations as data, and as text.
#include "Relation.h"

namespace mlir::ppc {

bool Relation::uses(StringAttr axis) const {
  return findPending(axis) || llvm::any_of(cuts, [&](const Cut &cut) { return llvm::is_contained(cut.axes, axis); });
}

const std::pair<StringAttr, Combiner> *Relation::findPending(StringAttr axis) const {
  auto it = llvm::find_if(pending, [&](auto &entry) { return entry.first == axis; });
  return it == pending.end() ? nullptr : &*it;
}

const Piece *Relation::piece(unsigned dim) const {
  auto it = llvm::find_if(pieces, [&](const Piece &piece) { return piece.dim == dim; });
  return it == pieces.end() ? nullptr : &*it;
}

void Relation::addPiece(Piece piece) {
  pieces.push_back(piece);
  llvm::sort(pieces, [](const Piece &a, const Piece &b) { return a.dim < b.dim; });
}

void Relation::dropPiece(unsigned dim) {
  llvm::erase_if(pieces, [&](const Piece &piece) { return piece.dim == dim; });
}

int64_t RankAxes::product(ArrayRef<StringAttr> axes) const {
  int64_t product = 1;
  for (StringAttr axis : axes)
    product *= size(axis);
  return product;
}

SmallVector<StringAttr, 2> RankAxes::several(ArrayAttr axes) const {
  SmallVector<StringAttr, 2> result;
  for (auto axis : axes.getAsRange<StringAttr>())
    if (size(axis) > 1)
      result.push_back(axis);
  return result;
}

FailureOr<Relation> RankAxes::declared(TermId term, RankedTensorType logical, ShardingAttr sharding) const {
  Relation relation;
  relation.term = term;
  relation.cuts.resize(logical.getRank());
  if (!sharding)
    return relation;
  if (sharding.getDims().size() != relation.cuts.size() || sharding.isPartial())
    return failure();
  for (auto [cut, axes] : llvm::zip(relation.cuts, sharding.getDims()))
    cut.axes = several(axes);
  return relation;
}

int64_t extentOf(const Relation &relation, unsigned dim, const TermTable &terms) {
  int64_t extent = terms[relation.term].shape[dim];
  return extent == kAnyExtent ? relation.cuts[dim].extent : extent;
}

void forgetEvenCut(Relation &relation, unsigned dim, const TermTable &terms, const RankAxes &axes) {
  Cut &cut = relation.cuts[dim];
  bool isZero = cut.zeroPadding && terms.isZero(relation.term);
  if (terms[relation.term].shape[dim] == kAnyExtent &&
      (cut.extent == kAnyExtent || isZero || !axes.isUneven(cut.extent, cut.axes)))
    cut = Cut();
}

std::string describe(ArrayRef<StringAttr> axes) {
  std::string text = "{";
  for (StringAttr axis : axes)
    text += (text.size() > 1 ? ", " : "") + axis.str();
  return text + "}";
}

std::string describe(const Relation &relation, const TermTable &terms) {
  std::string text = terms[relation.term].label;
  bool isCut = llvm::any_of(relation.cuts, [](const Cut &cut) { return !cut.axes.empty(); });
  if (isCut) {
    text += ", sharded [";
    for (auto [number, cut] : llvm::enumerate(relation.cuts))
      text += (number ? ", " : "") + describe(cut.axes);
    text += "]";
  }
  for (auto [axis, combiner] : relation.pending)
    text += ", partial over " + axis.str() + " (" + stringifyCombiner(combiner).str() + ")";
  for (const Piece &piece : relation.pieces) {
    text += ", elements " + std::to_string(piece.first) + " to " + std::to_string(piece.first + piece.size) +
            " of dimension " + std::to_string(piece.dim);
    if (piece.runs > 1)
      text += " in each of " + std::to_string(piece.runs) + " runs";
  }
  return text + (isCut || !relation.pending.empty() || !relation.pieces.empty() ? "" : ", replicated");
}

} // namespace mlir::ppc
