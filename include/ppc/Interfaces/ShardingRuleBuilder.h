// Builder of sharding rules, in the notation of einsums.
#ifndef PPC_INTERFACES_SHARDINGRULEBUILDER_H
#define PPC_INTERFACES_SHARDINGRULEBUILDER_H

#include "mlir/IR/Operation.h"
#include "ppc/Sharding/ShardingRule.h"

namespace mlir::ppc {

/// Builds a rule from names of dimensions: `ShardingRuleBuilder(op).operand(0, {"b", "s", "h"}).operand(1, {"f",
/// "h"}).result(0, {"b", "s", "f"})`. Sizes come from the types; all dimensions of one name must have the same size
/// (the op's verifier guarantees that). Operands and results that are not mentioned have no factors (they stay
/// replicated).
class ShardingRuleBuilder {
public:
  explicit ShardingRuleBuilder(Operation *op);

  ShardingRuleBuilder &operand(unsigned number, ArrayRef<StringRef> names);
  ShardingRuleBuilder &result(unsigned number, ArrayRef<StringRef> names);
  /// Names the dimensions of every operand and result of rank `names.size()` d0, d1, ... (elementwise ops).
  ShardingRuleBuilder &pointwise();
  /// The factor cannot be sharded.
  ShardingRuleBuilder &replicate(StringRef name);
  /// The result of the op depends on the position along the factor.
  ShardingRuleBuilder &positional(StringRef name);
  /// Results that lack `name` combine by `combiner` (sum by default).
  ShardingRuleBuilder &combine(StringRef name, Combiner combiner);
  ShardingRuleBuilder &linear(Linearity linearity, ArrayRef<unsigned> operands);
  ShardingRuleBuilder &keepsZeroPadding(unsigned result, bool keeps = true);
  ShardingRule build() const { return rule; }

private:
  unsigned factor(StringRef name, int64_t size);
  TensorFactors factorsOf(Type type, ArrayRef<StringRef> names);

  Operation *op;
  ShardingRule rule;
};

/// Names d0, d1, ... for `rank` dimensions, with stable storage.
SmallVector<StringRef> dimensionNames(int64_t rank);

} // namespace mlir::ppc

#endif // PPC_INTERFACES_SHARDINGRULEBUILDER_H
