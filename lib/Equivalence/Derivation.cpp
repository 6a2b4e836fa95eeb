// The rule that serves most ops: the effect of each loop on shardings, padding and partial sums.
#include "Derivation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

namespace mlir::ppc {

std::string Derivation::labelOf(Operation *op) const {
  std::string label = op->getName().stripDialect().str();
  if (auto matmul = dyn_cast<MatmulOp>(op))
    label += " \"" + matmul.getSpec().str() + "\"";
  auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
  auto part = op->getAttrOfType<PartAttr>(attr::part);
  if (layer)
    label += " of layer " + std::to_string(layer.getInt());
  if (part)
    label += " (" + stringifyPart(part.getValue()).str() + ")";
  return label;
}

/// The attributes of an op that determine its result; the blocks that locate it are left out. `factor` is the
/// factor of the operands in which the op is linear: of each, or of all together.
OpKey Derivation::keyOf(Operation *op, ArrayRef<Relation> operands, const OpLoops *loops, double &factor) {
  OpKey key;
  key.name = op->getName().getStringRef().str();
  SmallVector<NamedAttribute> attributes;
  if (std::optional<RegisteredOperationName> name = op->getRegisteredInfo())
    for (StringAttr attribute : name->getAttributeNames())
      if (std::optional<Attribute> value = op->getInherentAttr(attribute); value && *value && !isa<BlockAttr>(*value))
        attributes.push_back({attribute, *value});
  key.attributes = DictionaryAttr::get(op->getContext(), attributes);
  factor = 1;
  for (const Relation &operand : operands)
    key.operands.push_back(operand.term);
  for (unsigned number : loops && !loops->jointly ? ArrayRef<unsigned>(loops->linear) : ArrayRef<unsigned>()) {
    auto [term, own] = terms.primitive(key.operands[number]);
    key.operands[number] = term;
    factor *= own;
  }
  if (loops && loops->jointly) {
    auto *first = llvm::find_if_not(key.operands, [&](TermId term) { return terms.isZero(term); });
    factor = first == key.operands.end() ? 1 : terms.primitive(*first).second;
    for (TermId &term : key.operands)
      term = terms.scaled(term, 1 / factor);
  }
  if (isa<MulOp>(op))
    llvm::sort(key.operands);
  return key;
}

std::string Derivation::notComputed(Operation *op, ArrayRef<Relation> operands) {
  std::string text =
      "computes a value that the logical program does not compute: " + op->getName().stripDialect().str() + " of ";
  for (auto [number, operand] : llvm::enumerate(operands))
    text += (number ? "; " : "") + describe(operand, terms);
  std::optional<OpLoops> loops = loopsOf(op);
  double factor;
  OpKey key = keyOf(op, operands, loops ? &*loops : nullptr, factor);
  const OpKey *nearest = terms.nearest(key);
  if (!nearest)
    return text;
  for (auto [number, pair] : llvm::enumerate(llvm::zip(key.operands, nearest->operands)))
    if (std::get<0>(pair) != std::get<1>(pair))
      return text + "; the logical program computes it with " + terms[std::get<1>(pair)].label + " as operand " +
             std::to_string(number);
  if (nearest->attributes == key.attributes)
    return text + "; the logical program computes it with another number of elements";
  llvm::raw_string_ostream(text) << "; the logical program computes it with " << nearest->attributes << ", this op has "
                                 << key.attributes;
  return text;
}

/// An axis of a collective or a block that the grid of a stage does not have.
std::optional<StringAttr> Derivation::unknownAxis(Operation *op) const {
  for (NamedAttribute attribute : op->getAttrs()) {
    auto block = dyn_cast<BlockAttr>(attribute.getValue());
    auto list = block                           ? block.getAxes()
                : attribute.getName() == "axes" ? dyn_cast<ArrayAttr>(attribute.getValue())
                                                : ArrayAttr();
    for (Attribute axis : list ? list.getValue() : ArrayRef<Attribute>())
      if (auto name = dyn_cast<StringAttr>(axis); name && !(axes.grid && axes.grid.has(name)))
        return name;
  }
  return std::nullopt;
}

/// A reshape that changes nothing on one rank, [1, 4] to [4, 1] with the 4 sharded 4 ways, is folded away there: an
/// operand may be meant as any reshape of it that has the same local type.
Derived Derivation::derive(Operation *op, ArrayRef<Relation> operands) {
  if (std::optional<StringAttr> axis = unknownAxis(op))
    return Derived::fail("names axis " + axis->str() + ", which the ranks of a stage do not have");
  if (llvm::any_of(operands, [](const Relation &operand) { return !operand.pieces.empty(); }))
    return deriveOfPieces(op, operands);
  Derived derived = deriveAsIs(op, operands);
  if (!derived.failed())
    derived.error = lostFactor(op, derived.results);
  if (!derived.failed() || isLogical)
    return derived;
  SmallVector<Relation> tried(operands);
  for (auto [number, value] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = tensorType(value);
    for (const Relation &view : viewsAs(operands[number], type, type)) {
      if (view.term == operands[number].term)
        continue;
      tried[number] = view;
      if (Derived other = deriveAsIs(op, tried); !other.failed() && lostFactor(op, other.results).empty())
        return other;
    }
  }
  if (auto split = dyn_cast<SplitOp>(op))
    return piecesOf(split, operands[0]);
  return derived;
}

/// Value class of `factor` converted to a type: "infinite", "not a number", "0", "denormal"; "" if it is unchanged,
/// up to rounding.
static StringRef fateOf(double factor, FloatType type) {
  APFloat value(factor);
  bool isInexact;
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &isInexact);
  return value.isNaN()                   ? "not a number"
         : value.isInfinity()            ? "infinite"
         : factor != 0 && value.isZero() ? "0"
         : value.isDenormal()            ? "denormal"
                                         : "";
}

std::string Derivation::lostFactor(Operation *op, ArrayRef<Relation> results) const {
  auto fail = [](StringRef what, double factor, StringRef fate, FloatType type) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << what << llvm::format(" %g", factor) << ", which is " << fate << " in " << type;
    return text;
  };
  for (auto [result, relation] : llvm::zip_equal(op->getResults(), results)) {
    auto type = dyn_cast<FloatType>(getElementTypeOrSelf(result.getType()));
    if (!type)
      continue;
    if (type.getWidth() < 32) // ops on 16-bit types compute in f32
      type = Float32Type::get(op->getContext());
    for (NamedAttribute attribute : op->getAttrs())
      if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
        if (StringRef fate = fateOf(number.getValueAsDouble(), type); !fate.empty())
          return fail("has " + attribute.getName().str(), number.getValueAsDouble(), fate, type);
    for (auto [term, factor] : terms[relation.term].addends)
      if (StringRef fate = fateOf(factor, type); !fate.empty())
        return terms.constantFactor(relation.term)
                   ? fail("holds", factor, fate, type)
                   : fail("multiplies " + terms[term].label + ", in all, by", factor, fate, type);
  }
  return "";
}

Derived Derivation::deriveAsIs(Operation *op, ArrayRef<Relation> operands) {
  return llvm::TypeSwitch<Operation *, Derived>(op)
      .Case([&](ReshapeOp reshapeOp) { return reshape(reshapeOp, operands[0]); })
      .Case([&](ConstantOp constantOp) { return constant(constantOp); })
      .Case([&](MaskPaddingOp mask) { return maskPadding(mask, operands[0]); })
      .Case([&](CrossEntropyOp loss) { return crossEntropy(loss, operands); })
      .Case([&](AllReduceOp reduce) { return allReduce(reduce, operands[0]); })
      .Case([&](AllGatherOp gather) { return allGather(gather, operands[0]); })
      .Case([&](ReduceScatterOp scatter) { return reduceScatter(scatter, operands[0]); })
      .Case([&](AllToAllOp exchange) { return allToAll(exchange, operands[0]); })
      .Case([&](LocalSliceOp slice) { return localSlice(slice, operands[0]); })
      .Default([&](Operation *) {
        std::optional<OpLoops> loops = loopsOf(op);
        return loops ? deriveFromLoops(op, operands, *loops) : Derived::fail("has no rule of equivalence");
      });
}

/// Checks that operands that have a loop agree on its sharding.
std::string Derivation::joinLoops(Operation *op, ArrayRef<Relation> operands, const OpLoops &loops, Joined &joined) {
  for (auto [number, operand] : llvm::enumerate(operands)) {
    const Term &term = terms[operand.term];
    RankedTensorType type = tensorType(op->getOperand(number));
    bool isFloat = isa<FloatType>(type.getElementType());
    for (auto [dim, letter] : llvm::enumerate(loops.operands[number])) {
      Loop *loop = joined.find(letter);
      if (!loop) {
        joined.loops.emplace_back();
        loop = &joined.loops.back();
        loop->letter = letter;
        loop->local = type.getDimSize(dim);
      }
      if (loop->local != type.getDimSize(dim))
        return "has operands of different sizes along one loop";
      const Cut &cut = operand.cuts[dim];
      int64_t extent = extentOf(operand, dim, terms);
      if (isFloat) {
        loop->isFed = true;
        loop->allZero &= cut.zeroPadding && (extent != kAnyExtent || terms.isZero(operand.term));
      }
      loop->isInTerm |= term.shape[dim] != kAnyExtent;
      if (extent == kAnyExtent)
        continue;
      if (!loop->isKnown) {
        loop->isKnown = true;
        loop->extent = extent;
        loop->axes = cut.axes;
      } else if (loop->axes != cut.axes || loop->extent != extent) {
        return ("combines operands with different shardings: dimension " + Twine(dim) + " of operand " + Twine(number) +
                " is " + Twine(extent) + " elements sharded over " + describe(cut.axes) +
                ", elsewhere the same loop is " + Twine(loop->extent) + " sharded over " + describe(loop->axes))
            .str();
      }
    }
  }
  return "";
}

/// Turns a value that each of k ranks has in full into a partial sum: 1/k of the sum over them.
bool Derivation::spread(Relation &x, ArrayRef<std::pair<StringAttr, Combiner>> pending) {
  for (auto [axis, combiner] : pending) {
    if (x.findPending(axis))
      continue;
    if (!x.isShare || combiner != Combiner::Sum || x.uses(axis))
      return false;
    x.term = terms.scaled(x.term, axes.size(axis));
    x.pending.push_back({axis, combiner});
  }
  llvm::sort(x.pending, [](auto &a, auto &b) { return a.first.getValue() < b.first.getValue(); });
  return true;
}

Derived Derivation::sumOf(SmallVector<Relation> parts) {
  for (Relation &part : parts)
    for (const Relation &other : parts)
      if (part.isShare && !terms.isZero(part.term) && !terms.isZero(other.term))
        spread(part, other.pending);
  const Relation *first = llvm::find_if_not(parts, [&](const Relation &part) { return terms.isZero(part.term); });
  if (first == parts.end())
    first = parts.begin();
  Relation sum = *first;
  SmallVector<int64_t> shape(terms[sum.term].shape);
  SmallVector<Addend> addends;
  for (const Relation &part : parts) {
    addends.push_back({part.term, 1});
    if (&part == first || (terms.isZero(part.term) && !terms.isZero(first->term)))
      continue;
    bool fits = part.cuts.size() == sum.cuts.size() && part.pieces == sum.pieces &&
                llvm::all_of(part.pending, [&](auto &entry) { return llvm::is_contained(sum.pending, entry); }) &&
                part.pending.size() == sum.pending.size();
    for (unsigned dim = 0; fits && dim < sum.cuts.size(); ++dim) {
      Cut &cut = sum.cuts[dim];
      int64_t own = terms[part.term].shape[dim], extent = extentOf(part, dim, terms);
      int64_t known = shape[dim] == kAnyExtent ? cut.extent : shape[dim];
      bool keepsZero = cut.zeroPadding && part.cuts[dim].zeroPadding && known != kAnyExtent && extent != kAnyExtent;
      fits = known == kAnyExtent || extent == kAnyExtent || (known == extent && cut.axes == part.cuts[dim].axes);
      if (known == kAnyExtent)
        cut = part.cuts[dim];
      cut.zeroPadding = keepsZero;
      if (own != kAnyExtent)
        shape[dim] = own;
    }
    if (!fits)
      return Derived::fail("adds values with different shardings: " + describe(*first, terms) + "; " +
                           describe(part, terms));
    sum.isShare |= part.isShare;
  }
  sum.term = terms.combination(addends, shape, terms[sum.term].element);
  for (unsigned dim = 0; dim < sum.cuts.size(); ++dim)
    forgetEvenCut(sum, dim, terms, axes);
  return {{sum}, ""};
}

/// Partial sums pass through linear ops, and through no others.
std::string Derivation::passPending(Operation *op, MutableArrayRef<Relation> operands, const OpLoops &loops,
                                    Joined &joined) {
  if (loops.jointly)
    for (Relation &operand : operands)
      for (const Relation &other : operands)
        if (!terms.isZero(operand.term) && !terms.isZero(other.term) && operand.isShare)
          spread(operand, other.pending);
  const Relation *first = nullptr;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    if (terms.isZero(operand.term) && loops.jointly)
      continue; // a sum of zeros
    bool isLinear = llvm::is_contained(loops.linear, number);
    if (!operand.pending.empty() && !isLinear)
      return ("is not linear in operand " + Twine(number) + ", which is still partial: " + describe(operand, terms))
          .str();
    for (auto [axis, combiner] : operand.pending) {
      if (combiner != Combiner::Sum)
        return ("cannot take operand " + Twine(number) + ", which is partial: " + describe(operand, terms)).str();
      for (const Loop &loop : joined.loops)
        if (llvm::is_contained(loop.axes, axis))
          return ("takes partial sums over " + axis.str() + " together with blocks sharded over the same axis");
    }
    if (loops.jointly && isLinear) {
      auto isIn = [](const Relation &a, const Relation &b) {
        return llvm::all_of(a.pending, [&](auto &entry) { return b.findPending(entry.first); });
      };
      if (first && (!isIn(*first, operand) || !isIn(operand, *first)))
        return ("adds values that are partial over different axes: " + describe(*first, terms) + "; " +
                describe(operand, terms));
      if (!first)
        joined.pending = operand.pending;
      first = &operand;
    } else {
      for (auto &entry : operand.pending) {
        if (llvm::is_contained(joined.pending, entry))
          return ("multiplies two values that are both partial over " + entry.first.str());
        joined.pending.push_back(entry);
      }
    }
  }
  return "";
}

/// Checks that no axis shards two loops, and that each loop may be sharded as it is. A loop known only from the
/// block of the op is known from here on.
std::string Derivation::checkCuts(const OpLoops &loops, Joined &joined) {
  if (loops.block && loops.indexed) {
    SmallVector<StringAttr, 2> blockAxes = axes.several(loops.block.getAxes());
    Loop *loop = joined.find(loops.indexed);
    if (!loop) { // only the results have it
      joined.loops.emplace_back();
      loop = &joined.loops.back();
      loop->letter = loops.indexed;
      loop->isInTerm = loop->isKnown = true;
      loop->extent = loops.block.getExtent();
      loop->axes = blockAxes;
    } else if (!loop->isKnown) { // any rank has any block of a constant, if its size fits
      if (axes.localSize(loops.block.getExtent(), blockAxes) != loop->local)
        return ("is declared to hold a block of " + Twine(loops.block.getExtent()) + " elements sharded over " +
                describe(blockAxes) + ", but its operand has " + Twine(loop->local) + " there")
            .str();
      loop->isKnown = true;
      loop->extent = loops.block.getExtent();
      loop->axes = blockAxes;
    } else if (loop->axes != blockAxes || loop->extent != loops.block.getExtent()) {
      return ("is declared to hold a block of " + Twine(loops.block.getExtent()) + " elements sharded over " +
              describe(blockAxes) + ", but its operand is sharded over " + describe(loop->axes) + " of " +
              Twine(loop->extent))
          .str();
    }
  }
  for (const Loop &loop : joined.loops) {
    for (const Loop &other : joined.loops)
      for (StringAttr axis : loop.axes)
        if (&loop != &other && llvm::is_contained(other.axes, axis))
          return "combines blocks of two different loops that are sharded over the same axis " + axis.str();
    if (loop.axes.empty())
      continue;
    if (loops.whole.find(loop.letter) != std::string::npos)
      return "needs all of a dimension that is sharded over " + describe(loop.axes);
    if (loop.letter == loops.indexed && !loops.block)
      return "uses the index along a dimension that is sharded over " + describe(loop.axes) +
             " and is not told which block it holds";
  }
  return "";
}

SmallVector<int64_t> Derivation::logicalShape(Operation *op, unsigned number, const OpLoops &loops, Joined &joined) {
  SmallVector<int64_t> shape;
  for (auto [dim, letter] : llvm::enumerate(loops.results[number])) {
    Loop *loop = letter == '?' ? nullptr : joined.find(letter);
    if (letter == '?' || (loop && !loop->isInTerm && letter != loops.indexed))
      shape.push_back(kAnyExtent);
    else if (loop && loop->isKnown)
      shape.push_back(loop->extent);
    else // a result that depends on the index varies even if its operands are constant
      shape.push_back(tensorType(op->getResult(number)).getDimSize(dim));
  }
  return shape;
}

std::string Derivation::resultRelation(Operation *op, unsigned number, TermId term, const OpLoops &loops,
                                       Joined &joined, Relation &result) {
  RankedTensorType type = tensorType(op->getResult(number));
  const std::string &letters = loops.results[number];
  result.term = term;
  result.pending = joined.pending;
  for (auto [dim, letter] : llvm::enumerate(letters)) {
    Cut &cut = result.cuts.emplace_back();
    Loop *loop = letter == '?' ? nullptr : joined.find(letter);
    int64_t extent = terms[term].shape[dim];
    if (loop && loop->isKnown) {
      cut.axes = loop->axes;
      if (extent == kAnyExtent)
        extent = cut.extent = loop->extent;
    }
    if (extent == kAnyExtent)
      continue;
    if (loop && loop->isKnown && extent != loop->extent)
      return "has another shape in the logical program";
    if (axes.localSize(extent, cut.axes) != type.getDimSize(dim))
      return ("makes dimension " + Twine(dim) + " of " + Twine(type.getDimSize(dim)) + " elements, but a block of " +
              Twine(extent) + " sharded over " + describe(cut.axes) + " is " + Twine(axes.localSize(extent, cut.axes)))
          .str();
    if (axes.isUneven(extent, cut.axes)) {
      bool keeps = number < loops.keepsZero.size() && loops.keepsZero[number] &&
                   loops.losesZero.find(letter) == std::string::npos;
      cut.zeroPadding =
          (letter == loops.indexed && loops.indexedPaddingIsZero) || (keeps && loop && loop->isFed && loop->allZero);
    }
    forgetEvenCut(result, dim, terms, axes);
  }
  for (const Loop &loop : joined.loops) {
    if (loop.axes.empty() || letters.find(loop.letter) != std::string::npos)
      continue;
    Combiner combiner = loops.combiner;
    if (loop.letter != loops.indexed) {
      if (loops.summed.find(loop.letter) == std::string::npos)
        return "gives a result that depends on all of a dimension that is sharded over " + describe(loop.axes);
      if (axes.isUneven(loop.extent, loop.axes) && (!loop.allZero || loops.combiner != Combiner::Sum))
        return "reduces over a dimension that is sharded over " + describe(loop.axes) +
               " unevenly, with padding that is not zero";
      combiner = isa<ReduceOp>(op) ? loops.combiner : Combiner::Sum;
    }
    for (StringAttr axis : loop.axes)
      result.pending.push_back({axis, combiner});
  }
  llvm::sort(result.pending, [](auto &a, auto &b) { return a.first.getValue() < b.first.getValue(); });
  return "";
}

std::optional<TermId> Derivation::algebra(Operation *op, ArrayRef<Relation> operands, ArrayRef<int64_t> shape) {
  Type element = tensorType(op->getResult(0)).getElementType();
  auto combine = [&](ArrayRef<Addend> addends) { return terms.combination(addends, shape, element); };
  return llvm::TypeSwitch<Operation *, std::optional<TermId>>(op)
      .Case<AddOp, SumOp>([&](auto) {
        return combine(llvm::map_to_vector(operands, [](const Relation &operand) { return Addend{operand.term, 1}; }));
      })
      .Case([&](SubOp) { return combine({{operands[0].term, 1}, {operands[1].term, -1}}); })
      .Case([&](NegOp) { return combine({{operands[0].term, -1}}); })
      .Case([&](ScaleOp scale) { return combine({{operands[0].term, scale.getFactor().convertToDouble()}}); })
      .Case([&](MulOp) -> std::optional<TermId> {
        for (int i : {0, 1})
          if (std::optional<double> factor = terms.constantFactor(operands[i].term))
            return combine({{operands[1 - i].term, *factor}});
        return std::nullopt;
      })
      .Case([&](BroadcastOp) -> std::optional<TermId> {
        if (std::optional<double> factor = terms.constantFactor(operands[0].term))
          return terms.constant(*factor, shape.size(), element);
        return std::nullopt;
      })
      .Case([&](ConvertOp) -> std::optional<TermId> {
        if (element == terms[operands[0].term].element)
          return operands[0].term;
        return std::nullopt;
      })
      .Case([&](TransposeOp transpose) -> std::optional<TermId> {
        if (llvm::equal(transpose.getPermutation(), llvm::seq<int64_t>(transpose.getPermutation().size())))
          return operands[0].term;
        return std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Whether results that lack the loop are sums over it.
static bool isAddedUp(Operation *op, const OpLoops &loops, char letter) {
  return loops.summed.find(letter) != std::string::npos && (!isa<ReduceOp>(op) || loops.combiner == Combiner::Sum);
}

SmallVector<double> Derivation::factorsOf(Operation *op, const OpLoops &loops, ArrayRef<Loop> joined, double factor,
                                          OpKey &key) {
  SmallVector<double> factors(op->getNumResults(), factor);
  for (const Loop &loop : joined) {
    if (loop.isInTerm)
      continue;
    int64_t size = loop.isKnown ? loop.extent : loop.local;
    if ((loops.whole + loops.indexed).find(loop.letter) != std::string::npos)
      key.sizes.push_back(size);
    else if (isAddedUp(op, loops, loop.letter)) // equal iterations
      for (auto [number, letters] : llvm::enumerate(loops.results))
        if (letters.find(loop.letter) == std::string::npos)
          factors[number] *= size;
  }
  return factors;
}

bool Derivation::isZeroOfZeros(Operation *op, ArrayRef<Relation> operands, const OpLoops &loops) const {
  auto isZero = [&](unsigned number) { return terms.isZero(operands[number].term); };
  if (isa<SquaredNormOp, SqrtOp, SiluOp, GeluOp>(op))
    return isZero(0);
  if (loops.jointly)
    return loops.linear.size() == operands.size() && llvm::all_of(loops.linear, isZero);
  return llvm::any_of(loops.linear, isZero);
}

Derived Derivation::deriveFromLoops(Operation *op, ArrayRef<Relation> given, const OpLoops &loops) {
  Joined joined;
  SmallVector<Relation> operands(given);
  for (std::string error :
       {joinLoops(op, operands, loops, joined), checkCuts(loops, joined), passPending(op, operands, loops, joined)})
    if (!error.empty())
      return Derived::fail(error);
  SmallVector<SmallVector<int64_t>> shapes;
  SmallVector<Type> elements;
  for (unsigned number = 0; number < op->getNumResults(); ++number) {
    shapes.push_back(logicalShape(op, number, loops, joined));
    elements.push_back(tensorType(op->getResult(number)).getElementType());
  }
  auto relate = [&](ArrayRef<TermId> results) {
    Derived derived;
    for (auto [number, term] : llvm::enumerate(results)) {
      Relation &result = derived.results.emplace_back();
      if (derived.error = resultRelation(op, number, term, loops, joined, result); derived.failed())
        break;
      const std::string &letters = loops.results[number];
      result.isShare =
          llvm::any_of(loops.linear, [&](unsigned operand) { return operands[operand].isShare; }) ||
          llvm::any_of(joined.loops, [&](const Loop &loop) {
            return !loop.isKnown && isAddedUp(op, loops, loop.letter) && letters.find(loop.letter) == std::string::npos;
          });
    }
    return derived;
  };
  if (isZeroOfZeros(op, operands, loops)) {
    SmallVector<TermId> zeros;
    for (auto [shape, element] : llvm::zip_equal(shapes, elements))
      zeros.push_back(terms.combination({}, shape, element));
    return relate(zeros);
  }
  if (std::optional<TermId> term = algebra(op, operands, shapes[0]))
    return relate(*term);
  double factor;
  OpKey key = keyOf(op, operands, &loops, factor);
  SmallVector<double> factors = factorsOf(op, loops, joined.loops, factor, key);
  if (isLogical)
    return relate(terms.add(key, shapes, elements, labelOf(op), factors));
  std::optional<Derived> last;
  for (const OpResults &results : terms.find(key)) {
    if (results.terms.size() != elements.size() || // one value may be split into two parts and into three
        !llvm::all_of(llvm::zip_equal(results.terms, elements),
                      [&](auto pair) { return terms[std::get<0>(pair)].element == std::get<1>(pair); }))
      continue;
    last = relate(terms.resultsOf(results, factors));
    if (!last->failed())
      break;
  }
  return last ? *last : Derived::fail(notComputed(op, operands)); // the search for the nearest known key takes long
}

} // namespace mlir::ppc
