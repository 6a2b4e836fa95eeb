// Ops with rules of their own: reshape, constants, padding masks, and the loss before it is taken apart.
#include "Derivation.h"
#include "mlir/IR/Matchers.h"

namespace mlir::ppc {

namespace {
/// A run of dimensions on each side of a reshape with equally many elements.
struct ReshapeGroup {
  SmallVector<unsigned, 2> from, to;
};
} // namespace

/// The shortest runs. Dimensions of one element that have no partner are in no run. Nothing when the shapes do not fit.
static std::optional<SmallVector<ReshapeGroup>> reshapeGroups(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<ReshapeGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    bool oneI = i < from.size() && from[i] == 1, oneJ = j < to.size() && to[j] == 1;
    if (oneI != oneJ) {
      (oneI ? i : j) += 1;
      continue;
    }
    if (i == from.size() || j == to.size())
      return std::nullopt;
    ReshapeGroup group{{unsigned(i)}, {unsigned(j)}};
    int64_t sizeI = from[i++], sizeJ = to[j++];
    while (sizeI != sizeJ) {
      if (sizeI < sizeJ ? i == from.size() : j == to.size())
        return std::nullopt;
      if (sizeI < sizeJ)
        sizeI *= from[group.from.emplace_back(i++)];
      else
        sizeJ *= to[group.to.emplace_back(j++)];
    }
    groups.push_back(group);
  }
  return groups;
}

/// Overload for values that are constant along some dimensions, `anyFrom` and `anyTo`: if both sides have as many,
/// each is a run with its partner, so that it is not mixed up with others of one element.
static std::optional<SmallVector<ReshapeGroup>> reshapeGroups(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                                                              ArrayRef<unsigned> anyFrom, ArrayRef<unsigned> anyTo) {
  SmallVector<ReshapeGroup> groups;
  unsigned i = 0, j = 0;
  auto addUpTo = [&](unsigned endI, unsigned endJ) {
    auto between = reshapeGroups(from.slice(i, endI - i), to.slice(j, endJ - j));
    for (ReshapeGroup &group : between ? *between : SmallVector<ReshapeGroup>()) {
      for (unsigned &dim : group.from)
        dim += i;
      for (unsigned &dim : group.to)
        dim += j;
      groups.push_back(group);
    }
    return between.has_value();
  };
  bool fits = anyFrom.size() == anyTo.size();
  for (size_t number = 0; fits && number < anyFrom.size(); ++number) {
    fits = from[anyFrom[number]] == to[anyTo[number]] && addUpTo(anyFrom[number], anyTo[number]);
    groups.push_back({{anyFrom[number]}, {anyTo[number]}});
    i = anyFrom[number] + 1;
    j = anyTo[number] + 1;
  }
  return fits && addUpTo(from.size(), to.size()) ? groups : reshapeGroups(from, to);
}

/// The relation of a reshape of `x` from `fromType` to `toType` whose logical shape is `wanted` (a dimension may have
/// any extent); its term is not set. `shape` receives the logical shape that follows.
Derived Derivation::reshapeRelation(const Relation &x, RankedTensorType fromType, RankedTensorType toType,
                                    ArrayRef<int64_t> wanted, SmallVectorImpl<int64_t> &shape) {
  const Term &source = terms[x.term];
  auto isPadded = [&](unsigned dim) { return x.cuts[dim].extent != kAnyExtent; };
  SmallVector<int64_t> from(source.shape), to(wanted);
  auto fillIn = [](MutableArrayRef<int64_t> extents, RankedTensorType type) {
    SmallVector<unsigned> any;
    for (auto [dim, extent] : llvm::enumerate(extents))
      if (extent == kAnyExtent) {
        extent = type.getDimSize(dim);
        any.push_back(dim);
      }
    return any;
  };
  SmallVector<unsigned> anyFrom = fillIn(from, fromType), anyTo = fillIn(to, toType);
  std::optional<SmallVector<ReshapeGroup>> groups = reshapeGroups(from, to, anyFrom, anyTo);
  if (!groups)
    return Derived::fail("has another number of elements than in the logical program");
  Relation result = x;
  result.cuts.assign(to.size(), Cut());
  shape.assign(to.begin(), to.end());
  for (auto [dim, cut] : llvm::enumerate(x.cuts)) // dimensions in no run have one element, on one rank
    if (!cut.axes.empty() && llvm::none_of(*groups, [&, dim = dim](const ReshapeGroup &group) {
          return llvm::is_contained(group.from, dim);
        }))
      return Derived::fail("drops a dimension that is sharded over " + describe(cut.axes));
  for (const ReshapeGroup &group : *groups) {
    bool isAny = llvm::all_of(group.from, [&](unsigned dim) { return source.shape[dim] == kAnyExtent; });
    const Cut &major = x.cuts[group.from.front()];
    bool isOne = group.from.size() == 1 && group.to.size() == 1;
    if (!isOne && llvm::any_of(group.from, isPadded))
      return Derived::fail("merges or splits a dimension that is sharded unevenly");
    if (isAny) {
      for (unsigned dim : group.to)
        shape[dim] = kAnyExtent;
      if (isOne)
        result.cuts[group.to.front()] = major;
    } else if (isOne) {
      result.cuts[group.to.front()] = major;
    } else {
      for (unsigned dim : ArrayRef(group.from).drop_front())
        if (!x.cuts[dim].axes.empty())
          return Derived::fail("merges or splits a dimension that is sharded over " + describe(x.cuts[dim].axes) +
                               " and is not the outermost");
      if (axes.isUneven(from[group.from.front()], major.axes) || axes.isUneven(to[group.to.front()], major.axes))
        return Derived::fail("merges or splits a dimension that is sharded over " + describe(major.axes) + " unevenly");
      result.cuts[group.to.front()].axes = major.axes;
    }
  }
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (extent != kAnyExtent && axes.localSize(extent, result.cuts[dim].axes) != toType.getDimSize(dim))
      return Derived::fail("makes a dimension " + Twine(dim) + " of " + Twine(toType.getDimSize(dim)) +
                           " elements of " + Twine(extent) + " sharded over " + describe(result.cuts[dim].axes));
  return {{result}, ""};
}

static OpKey reshapeKey(TermId root) { return {ReshapeOp::getOperationName().str(), {}, {root}, {}}; }

Derived Derivation::reshape(ReshapeOp op, const Relation &x) {
  RankedTensorType fromType = tensorType(op.getX()), toType = op.getType();
  if (std::optional<double> factor = terms.constantFactor(x.term)) {
    SmallVector<int64_t> any(toType.getRank(), kAnyExtent), shape;
    Derived derived = reshapeRelation(x, fromType, toType, any, shape);
    if (!derived.failed())
      derived.results[0].term = terms.constant(*factor, toType.getRank(), toType.getElementType());
    return derived;
  }
  SmallVector<int64_t> shape;
  if (isLogical) {
    auto [base, factor] = terms.primitive(x.term);
    TermId root = terms.reshapeRoot(base);
    Derived derived = reshapeRelation(x, fromType, toType, toType.getShape(), shape);
    if (!derived.failed())
      derived.results[0].term = terms.scaled(terms.reshaped(reshapeKey(root), shape, labelOf(op)), factor);
    return derived;
  }
  SmallVector<Relation> views = viewsAs(x, fromType, toType);
  return views.empty() ? Derived::fail(notComputed(op, x)) : Derived{{views.front()}, ""};
}

/// Relations of a row-major value of type `from` with relation `x` viewed as `to`: each reshape of it in the
/// logical program that fits.
SmallVector<Relation> Derivation::viewsAs(const Relation &x, RankedTensorType from, RankedTensorType to) {
  auto [base, factor] = terms.primitive(x.term); // a reshape of a multiple is that multiple of the reshape
  TermId root = terms.reshapeRoot(base);
  SmallVector<TermId> candidates = {root};
  for (const OpResults &results : terms.find(reshapeKey(root)))
    candidates.push_back(results.terms.front());
  SmallVector<Relation> views;
  for (TermId candidate : candidates) {
    SmallVector<int64_t> wanted(terms[candidate].shape), shape;
    if (wanted.size() != size_t(to.getRank()))
      continue;
    Derived derived = reshapeRelation(x, from, to, wanted, shape);
    if (derived.failed() || shape != wanted)
      continue;
    derived.results[0].term = terms.scaled(candidate, factor);
    views.push_back(derived.results[0]);
  }
  return views;
}

Derived Derivation::constant(ConstantOp op) {
  Relation relation;
  RankedTensorType type = op.getType();
  relation.cuts.resize(type.getRank());
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (splat && isa<FloatType>(type.getElementType())) {
    relation.term =
        terms.constant(splat.getSplatValue<APFloat>().convertToDouble(), type.getRank(), type.getElementType());
    return {{relation}, ""};
  }
  if (splat) { // equal ids: a rank may hold any number of them
    OpKey key{"constant", splat.getSplatValue<Attribute>(), {}, {type.getRank()}};
    SmallVector<int64_t> any(type.getRank(), kAnyExtent);
    relation.term = terms.add(key, {any}, {type.getElementType()}, "constant").front();
    return {{relation}, ""};
  }
  OpKey key{"constant", op.getValue(), {}, {}};
  if (isLogical) {
    relation.term =
        terms.add(key, {SmallVector<int64_t>(type.getShape())}, {type.getElementType()}, "constant").front();
    return {{relation}, ""};
  }
  ArrayRef<OpResults> known = terms.find(key);
  if (known.empty())
    return Derived::fail("is a constant that the logical program does not have");
  relation.term = known.front().terms.front();
  return {{relation}, ""};
}

Derived Derivation::maskPadding(MaskPaddingOp op, const Relation &x) {
  Relation result = x;
  unsigned dim = op.getDim();
  int64_t extent = extentOf(x, dim, terms);
  Cut &cut = result.cuts[dim];
  SmallVector<StringAttr, 2> blockAxes = axes.several(op.getBlock().getAxes());
  if (terms.isZero(x.term))
    return {{result}, ""};
  if (extent == kAnyExtent) { // a block of `extent` equal elements
    for (StringAttr axis : blockAxes)
      if (x.uses(axis))
        return Derived::fail("masks blocks sharded over " + axis.str() +
                             " of a value that differs over it: " + describe(x, terms));
    cut.axes = blockAxes;
    cut.extent = extent = op.getBlock().getExtent();
    if (axes.localSize(extent, cut.axes) != op.getType().getDimSize(dim))
      return Derived::fail("masks a block of " + Twine(extent) + " elements sharded over " + describe(blockAxes) +
                           ", but the value has " + Twine(op.getType().getDimSize(dim)));
    forgetEvenCut(result, dim, terms, axes);
    return {{result}, ""};
  }
  if (cut.axes != blockAxes || extent != int64_t(op.getBlock().getExtent()))
    return Derived::fail("masks a block of " + Twine(op.getBlock().getExtent()) + " elements sharded over " +
                         describe(blockAxes) + ", but the value is " + Twine(extent) + " elements sharded over " +
                         describe(cut.axes));
  cut.zeroPadding = true;
  return {{result}, ""};
}

// nll = log_sum_exp(logits) - pick(logits, targets)
Derived Derivation::crossEntropy(CrossEntropyOp op, ArrayRef<Relation> given) {
  OpLoops loops;
  SmallVector<Relation> operands(given);
  std::string all = loopLetters(tensorType(op.getLogits()).getRank());
  std::string rows = all.substr(0, all.size() - 1);
  loops.operands = {all, rows};
  loops.results = {rows, rows};
  loops.whole = all.substr(all.size() - 1);
  Joined joined;
  for (std::string error :
       {joinLoops(op, operands, loops, joined), checkCuts(loops, joined), passPending(op, operands, loops, joined)})
    if (!error.empty())
      return Derived::fail(error);
  SmallVector<int64_t> shape = logicalShape(op, 0, loops, joined), lseShape(shape);
  for (auto [extent, own] : llvm::zip(lseShape, terms[operands[0].term].shape))
    if (own == kAnyExtent) // whatever the targets are
      extent = kAnyExtent;
  Type element = tensorType(op.getNll()).getElementType();
  auto none = DictionaryAttr::get(op.getContext());
  auto [logits, factor] = terms.primitive(operands[0].term); // pick is linear in them
  OpKey lse{LogSumExpOp::getOperationName().str(), none, {operands[0].term}, {}};
  OpKey pick{PickOp::getOperationName().str(), none, {logits, operands[1].term}, {}};
  if (Loop *classes = joined.find(all.back()); !classes->isInTerm)
    lse.sizes = pick.sizes = {classes->isKnown ? classes->extent : classes->local};
  bool isZero = terms.isZero(operands[0].term);
  if (!isLogical && (terms.find(lse).empty() || (!isZero && terms.find(pick).empty())))
    return Derived::fail(notComputed(op, operands));
  TermId lseTerm = terms.add(lse, {lseShape}, {element}, "log_sum_exp in " + labelOf(op)).front();
  TermId pickTerm = isZero ? terms.combination({}, shape, element)
                           : terms.add(pick, {shape}, {element}, "picked logit in " + labelOf(op), {factor}).front();
  TermId nll = terms.combination({{lseTerm, 1}, {pickTerm, -1}}, shape, element);
  Derived derived;
  derived.results.resize(2);
  TermId results[] = {nll, lseTerm};
  for (auto [number, term] : llvm::enumerate(results))
    if (derived.error = resultRelation(op, number, term, loops, joined, derived.results[number]); derived.failed())
      return derived;
  return derived;
}

} // namespace mlir::ppc
