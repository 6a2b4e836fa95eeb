// How gradients are cut where the plan says how each op of the forward pass is.
#ifndef PPC_TRANSFORMS_AUTODIFF_GRADIENTCUTS_H
#define PPC_TRANSFORMS_AUTODIFF_GRADIENTCUTS_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// Writes `ppc.factors` onto gradient ops, as the planner prices them (lib/Planning/Chain/TemplateNetwork.cpp). What it
/// leaves open, propagation decides.
class GradientCuts {
public:
  /// Cuts the ops behind `before` as `op` is, whose derivative they are, where they walk the same loops.
  void inherit(Operation *before, Operation *op);

  /// Takes note of the gradient of an operand of `op`; they come in the order in which they are added up.
  void receive(Operation *op, unsigned operand);

  /// Cuts the op that adds the gradient noted last to those of `value` before: as all of them are while they are alike,
  /// then as `value` is made.
  void cutSum(Value value, Operation *sum);

private:
  /// Axes of the dimensions, and those over which a sum is left open.
  struct Cut {
    SmallVector<SmallVector<Attribute>> dims;
    SmallVector<Attribute> open;
    bool operator==(const Cut &other) const { return dims == other.dims && open == other.open; }
  };
  /// Of a tensor that `op` reads or writes; none: nobody says how the op is cut.
  static std::optional<Cut> cutOf(Operation *op, bool isResult, unsigned number);

  struct Sum {
    std::optional<Cut> common; ///< of all gradients; none: they differ, or one is not known
    bool known = true;         ///< how each is cut
  };
  DenseMap<Value, Sum> sums;
};

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_AUTODIFF_GRADIENTCUTS_H
