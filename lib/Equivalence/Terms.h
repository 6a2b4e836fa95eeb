// The values of the logical program as hash-consed expressions: two values with one term are equal, up to the order of
// sums.
#ifndef PPC_LIB_EQUIVALENCE_TERMS_H
#define PPC_LIB_EQUIVALENCE_TERMS_H

#include "dialects/ppc/Ppc.h"
#include <map>

namespace mlir::ppc {

using TermId = unsigned;

/// Extent of a dimension along which a value is constant: it stands for any extent.
inline constexpr int64_t kAnyExtent = -1;

/// One addend of a linear combination.
struct Addend {
  TermId term;
  double factor;
};

/// Identity of a computation: the name of an op, its attributes apart from placement, and its operands. Factors of
/// operands in which the op is linear, and counts of equal iterations that are summed, are not part of the key: the
/// results of two ops with one key differ by a factor.
struct OpKey {
  std::string name;
  Attribute attributes;
  SmallVector<TermId> operands;
  SmallVector<int64_t> sizes; ///< sizes of loops that no operand determines, except loops whose iterations are summed

  bool operator<(const OpKey &other) const {
    return std::tie(name, operands, sizes) < std::tie(other.name, other.operands, other.sizes) ||
           (std::tie(name, operands, sizes) == std::tie(other.name, other.operands, other.sizes) &&
            attributes.getAsOpaquePointer() < other.attributes.getAsOpaquePointer());
  }
};

/// Results of one op with some key: `factors` times the results that the key stands for, with terms `terms`.
struct OpResults {
  SmallVector<TermId> terms;
  SmallVector<double> factors;
};

struct Term {
  SmallVector<int64_t> shape;
  Type element;
  std::string label;           ///< for messages to users
  SmallVector<Addend> addends; ///< addends of a linear combination, by term; empty for other terms
  bool isCombination = false;
};

class TermTable {
public:
  const Term &operator[](TermId id) const { return terms[id]; }
  size_t size() const { return terms.size(); }

  /// An input of the program.
  TermId argument(StringRef name, RankedTensorType type);
  /// The sum of `addends`, in normal form: no term twice, none with factor 0, combinations flattened. A single addend
  /// with factor 1 is that term. Zero is constant along each dimension.
  TermId combination(ArrayRef<Addend> addends, ArrayRef<int64_t> shape, Type element);
  /// `factor` in every element.
  TermId constant(double factor, int64_t rank, Type element);
  bool isZero(TermId id) const { return terms[id].isCombination && terms[id].addends.empty(); }
  /// The factor of a constant in all elements.
  std::optional<double> constantFactor(TermId id) const;

  /// `factor` times a term.
  TermId scaled(TermId id, double factor);
  /// The term and the factor that `id` multiplies it by; the first addend of the term has factor 1.
  std::pair<TermId, double> primitive(TermId id);

  /// The results of every op with this key; they differ in their shapes.
  ArrayRef<OpResults> find(const OpKey &key) const;
  /// The results of an op whose results are `factors` times what their key says; empty `factors` are 1.
  SmallVector<TermId> resultsOf(const OpResults &known, ArrayRef<double> factors);
  /// The key of an op of this name that differs from `key` in its attributes only, or in one operand; nothing when
  /// there is none.
  const OpKey *nearest(const OpKey &key) const;
  /// The results of the op with this key, these shapes and factors, added when new.
  SmallVector<TermId> add(const OpKey &key, ArrayRef<SmallVector<int64_t>> shapes, ArrayRef<Type> elements,
                          StringRef label, ArrayRef<double> factors = {});
  /// The term whose elements `id` has in another shape.
  TermId reshapeRoot(TermId id) const { return roots.count(id) ? roots.at(id) : id; }
  /// The reshape of the one operand of `key`, a root, to `shape`.
  TermId reshaped(const OpKey &key, ArrayRef<int64_t> shape, StringRef label);
  /// The term of the sum over all micro-batches; for a combination, the combination of the sums of its addends.
  TermId accumulated(TermId term, int64_t microBatches);
  /// Overload for the micro-batches in `some`, ascending, of `microBatches`. A combination that has such sums over
  /// parts that make up all micro-batches, with one factor, has the sum over all of them instead.
  TermId accumulated(TermId term, ArrayRef<int64_t> some, int64_t microBatches);

private:
  /// A sum over some micro-batches.
  struct PartialSum {
    TermId of;
    SmallVector<int64_t> some;
    int64_t microBatches;
  };
  using Factors = SmallVector<std::pair<TermId, double>>;

  /// Replaces sums over parts that make up all micro-batches.
  void joinParts(Factors &factors);
  TermId mapAddends(TermId id, function_ref<TermId(TermId)> sumOf);
  TermId newTerm(Term term) {
    terms.push_back(std::move(term));
    return terms.size() - 1;
  }
  using CombinationKey = std::tuple<Factors, SmallVector<int64_t>, const void *>;

  std::vector<Term> terms;
  std::map<OpKey, std::vector<OpResults>> ops;
  std::map<std::string, TermId> arguments;
  std::map<TermId, TermId> roots; ///< root of each reshape
  std::map<CombinationKey, TermId> combinations;
  std::map<TermId, PartialSum> partialSums;
};

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_TERMS_H
