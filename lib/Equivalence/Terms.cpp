// Hash-consing and the normal form of sums.
#include "Terms.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <limits>

namespace mlir::ppc {

/// Factors that differ in rounding only are one: 12 digits.
static double rounded(double factor) {
  if (factor == 0 || std::fabs(factor) == 1 || !std::isfinite(factor)) // the common cases
    return factor;
  double unit = std::pow(10.0, 12 - std::ceil(std::log10(std::fabs(factor))));
  double scaled = std::round(factor * unit);
  return std::isfinite(scaled) && unit != 0 ? scaled / unit : factor; // numbers that f64 hardly holds, as they are
}

/// A number of few digits that `factor` is but for rounding, or itself: a third must stay one, to be a whole three
/// times.
static double snapped(double factor) {
  double few = rounded(factor);
  return std::fabs(few - factor) <= 1e-14 * std::fabs(factor) ? few : factor;
}

/// Product of two factors; if it underflows to 0 in f64, the smallest number: it must not cancel a term.
static double product(double a, double b) {
  double result = a * b;
  return result == 0 && a != 0 && b != 0 ? std::numeric_limits<double>::denorm_min() : result;
}

TermId TermTable::argument(StringRef name, RankedTensorType type) {
  auto [it, isNew] = arguments.try_emplace(name.str(), 0);
  if (isNew)
    it->second = newTerm({SmallVector<int64_t>(type.getShape()), type.getElementType(), name.str(), {}, false});
  return it->second;
}

TermId TermTable::combination(ArrayRef<Addend> addends, ArrayRef<int64_t> given, Type element) {
  SmallVector<int64_t> shape(given);
  Factors factors, normal; // a residual stream has as many as the model has layers
  for (auto [term, factor] : addends) {
    if (terms[term].isCombination)
      for (auto [inner, innerFactor] : terms[term].addends)
        factors.push_back({inner, product(factor, innerFactor)});
    else
      factors.push_back({term, factor});
  }
  llvm::stable_sort(factors, [](auto &a, auto &b) { return a.first < b.first; });
  for (size_t i = 0; i < factors.size();) {
    auto [term, factor] = factors[i];
    double largest = std::fabs(factor);
    for (++i; i < factors.size() && factors[i].first == term; ++i) {
      factor += factors[i].second;
      largest = std::max(largest, std::fabs(factors[i].second));
    }
    bool cancels = std::fabs(factor) <= 1e-12 * largest && std::isfinite(largest);
    if (double value = snapped(factor); value != 0 && !cancels)
      normal.push_back({term, value});
  }
  if (!partialSums.empty())
    joinParts(normal);
  if (normal.empty()) // constant along each dimension
    shape.assign(shape.size(), kAnyExtent);
  if (normal.size() == 1 && normal.front().second == 1 &&
      ArrayRef<int64_t>(terms[normal.front().first].shape) == ArrayRef<int64_t>(shape))
    return normal.front().first;
  Factors key(normal);
  for (auto &[term, factor] : key)
    factor = rounded(factor);
  auto [it, isNew] = combinations.try_emplace({key, shape, element.getAsOpaquePointer()}, 0);
  if (!isNew)
    return it->second;
  Term sum{shape, element, normal.empty() ? "zero" : "", {}, true};
  for (auto [number, addend] : llvm::enumerate(normal)) {
    sum.addends.push_back({addend.first, addend.second});
    if (number == 3 && normal.size() > 4) {
      sum.label += " + " + std::to_string(normal.size() - 3) + " more";
    } else if (number < 4) {
      sum.label += number ? " + " : "";
      if (addend.second != 1)
        llvm::raw_string_ostream(sum.label) << llvm::format("%g * ", addend.second);
      sum.label += terms[addend.first].label;
    }
  }
  return it->second = newTerm(std::move(sum));
}

TermId TermTable::constant(double factor, int64_t rank, Type element) {
  SmallVector<int64_t> shape(rank, kAnyExtent);
  std::string name = "1 of rank " + std::to_string(rank);
  llvm::raw_string_ostream(name) << " " << element;
  auto [it, isNew] = arguments.try_emplace(name, 0);
  if (isNew)
    it->second = newTerm({shape, element, "1", {}, false});
  return combination({{it->second, factor}}, shape, element);
}

std::optional<double> TermTable::constantFactor(TermId id) const {
  const Term &term = terms[id];
  if (!llvm::all_of(term.shape, [](int64_t extent) { return extent == kAnyExtent; }))
    return std::nullopt;
  if (!term.isCombination)
    return term.label == "1" ? std::optional<double>(1) : std::nullopt;
  if (term.addends.empty())
    return 0;
  if (term.addends.size() == 1 && terms[term.addends.front().term].label == "1")
    return term.addends.front().factor;
  return std::nullopt;
}

TermId TermTable::scaled(TermId id, double factor) {
  const Term term = terms[id];
  return factor == 1 ? id : combination({{id, factor}}, term.shape, term.element);
}

std::pair<TermId, double> TermTable::primitive(TermId id) {
  const Term term = terms[id];
  double factor = term.addends.empty() ? 1 : term.addends.front().factor;
  // Divides only by factors whose inverse f64 represents.
  if (factor == 1 || !(std::fabs(factor) > 1e-100 && std::fabs(factor) < 1e100))
    return {id, 1};
  SmallVector<Addend> addends(term.addends);
  for (Addend &addend : addends)
    addend.factor /= factor;
  return {combination(addends, term.shape, term.element), factor};
}

ArrayRef<OpResults> TermTable::find(const OpKey &key) const {
  auto it = ops.find(key);
  return it == ops.end() ? ArrayRef<OpResults>() : ArrayRef<OpResults>(it->second);
}

SmallVector<TermId> TermTable::resultsOf(const OpResults &known, ArrayRef<double> factors) {
  SmallVector<TermId> results;
  for (auto [number, term] : llvm::enumerate(known.terms))
    results.push_back(scaled(term, (factors.empty() ? 1 : factors[number]) / known.factors[number]));
  return results;
}

const OpKey *TermTable::nearest(const OpKey &key) const {
  const OpKey *best = nullptr;
  unsigned fewest = 2;
  for (auto it = ops.lower_bound({key.name, {}, {}, {}}); it != ops.end() && it->first.name == key.name; ++it) {
    const OpKey &other = it->first;
    if (other.operands.size() != key.operands.size())
      continue;
    unsigned differing = other.attributes != key.attributes;
    for (auto [a, b] : llvm::zip(other.operands, key.operands))
      differing += a != b;
    if (differing < fewest) {
      fewest = differing;
      best = &other;
    }
  }
  return best;
}

SmallVector<TermId> TermTable::add(const OpKey &key, ArrayRef<SmallVector<int64_t>> shapes, ArrayRef<Type> elements,
                                   StringRef label, ArrayRef<double> factors) {
  std::vector<OpResults> &known = ops[key];
  for (const OpResults &results : known)
    if (results.terms.size() == shapes.size() &&
        llvm::all_of(llvm::zip_equal(results.terms, shapes, elements), [&](auto tuple) {
          auto [id, shape, element] = tuple;
          return terms[id].shape == shape && terms[id].element == element;
        }))
      return resultsOf(results, factors);
  SmallVector<TermId> results;
  for (auto [number, shape, element] : llvm::enumerate(shapes, elements))
    results.push_back(newTerm({shape,
                               element,
                               (shapes.size() > 1 ? "result " + std::to_string(number) + " of " : "") + label.str(),
                               {},
                               false}));
  known.push_back({results, factors.empty() ? SmallVector<double>(results.size(), 1) : SmallVector<double>(factors)});
  return results;
}

TermId TermTable::reshaped(const OpKey &key, ArrayRef<int64_t> shape, StringRef label) {
  TermId root = key.operands.front();
  if (ArrayRef<int64_t>(terms[root].shape) == shape)
    return root;
  TermId id = add(key, {SmallVector<int64_t>(shape)}, {terms[root].element}, label).front();
  roots[id] = root;
  return id;
}

TermId TermTable::mapAddends(TermId id, function_ref<TermId(TermId)> sumOf) {
  Term term = terms[id];
  if (!term.isCombination)
    return sumOf(id);
  SmallVector<Addend> addends;
  for (auto [inner, factor] : term.addends)
    addends.push_back({sumOf(inner), factor});
  return combination(addends, term.shape, term.element);
}

TermId TermTable::accumulated(TermId id, int64_t microBatches) {
  return mapAddends(id, [&](TermId inner) {
    OpKey key{"accumulate", {}, {inner}, {microBatches}};
    std::string label = "sum over micro-batches of " + terms[inner].label;
    return add(key, {terms[inner].shape}, {terms[inner].element}, label).front();
  });
}

TermId TermTable::accumulated(TermId id, ArrayRef<int64_t> some, int64_t microBatches) {
  return mapAddends(id, [&](TermId inner) {
    OpKey key{"accumulate some", {}, {inner}, {microBatches}};
    llvm::append_range(key.sizes, some);
    std::string label = "sum over some micro-batches of " + terms[inner].label;
    TermId sum = add(key, {terms[inner].shape}, {terms[inner].element}, label).front();
    partialSums.try_emplace(sum, PartialSum{inner, SmallVector<int64_t>(some), microBatches});
    return sum;
  });
}

void TermTable::joinParts(Factors &factors) {
  std::map<std::pair<TermId, double>, SmallVector<int64_t>> parts; // by summed term and its factor
  for (auto [term, factor] : factors)
    if (auto part = partialSums.find(term); part != partialSums.end())
      llvm::append_range(parts[{part->second.of, rounded(factor)}], part->second.some);
  Factors whole;
  llvm::erase_if(factors, [&](const std::pair<TermId, double> &addend) {
    auto part = partialSums.find(addend.first);
    if (part == partialSums.end())
      return false;
    SmallVector<int64_t> &some = parts[{part->second.of, rounded(addend.second)}];
    if (llvm::sort(some); !llvm::equal(some, llvm::seq<int64_t>(part->second.microBatches)))
      return false;
    std::pair<TermId, double> joined(accumulated(part->second.of, part->second.microBatches), addend.second);
    if (llvm::none_of(whole, [&](auto &other) {
          return other.first == joined.first && rounded(other.second) == rounded(joined.second);
        }))
      whole.push_back(joined);
    return true;
  });
  llvm::append_range(factors, whole);
  llvm::sort(factors);
}

} // namespace mlir::ppc
