// Shardings of gradient ops if the plan gives the sharding of each op of the forward pass.
#ifndef PPC_TRANSFORMS_AUTODIFF_GRADIENTCUTS_H
#define PPC_TRANSFORMS_AUTODIFF_GRADIENTCUTS_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// Writes `ppc.factors` onto gradient ops, as the planner's cost model assumes
/// (lib/Planning/Chain/TemplateNetwork.cpp). Propagation decides about the others.
class GradientCuts {
public:
  /// Shards the ops after `before` like `op`, whose derivative they are, if they have the same loops.
  void inherit(Operation *before, Operation *op);

  /// Records the gradient of an operand of `op`; they come in the order in which they are summed.
  void receive(Operation *op, unsigned operand);

  /// Shards the op that adds the last recorded gradient to the earlier ones of `value`: like the gradients while
  /// they agree, then like the op that computes `value`.
  void cutSum(Value value, Operation *sum);

private:
  /// Axes of the dimensions, and the axes over which a sum is partial.
  struct Cut {
    SmallVector<SmallVector<Attribute>> dims;
    SmallVector<Attribute> open;
    bool operator==(const Cut &other) const { return dims == other.dims && open == other.open; }
  };
  /// Sharding of a tensor that `op` reads or writes; std::nullopt if the sharding of the op is not specified.
  static std::optional<Cut> cutOf(Operation *op, bool isResult, unsigned number);

  struct Sum {
    std::optional<Cut> common; ///< sharding of all gradients; none: they differ, or one is not known
    bool known = true;         ///< whether the sharding of each is known
  };
  DenseMap<Value, Sum> sums;
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_AUTODIFF_GRADIENTCUTS_H
