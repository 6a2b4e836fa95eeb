// The ways to cut one op over the axes of a grid, and what each asks of operands and gives for results, forwards and
// backwards.
#ifndef PPC_PLANNING_CHAIN_OPSTRATEGY_H
#define PPC_PLANNING_CHAIN_OPSTRATEGY_H

#include "ppc/Planning/Chain/OpTemplate.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

namespace mlir::ppc {

/// Per axis of the grid: the factor that it cuts, `uncut` (every rank along it does the same work), or `pending` (a sum
/// over the axis that is still to be done passes through the op, which is linear).
///
/// Attention has strategies that are more than its loops, of which every rank holds a part of the sequence: `ring`
/// (keys and values are cut like queries and passed around, one part after the other) and `gather` (every rank has all
/// keys and values). The parts are taken to be a leading and a trailing piece each, so that causal work is even. All
/// heads for a part of the sequence exchanged for a part of the heads (Ulysses) is a cut of the heads between two
/// reshardings.
struct OpStrategy {
  static constexpr int uncut = -1, pending = -2, ring = -3, gather = -4;
  std::vector<int> axes;
  bool operator==(const OpStrategy &other) const { return axes == other.axes; }
};

/// Whether programs of the target run an op that is cut so.
bool runs(const TargetCapabilities &target, const TemplateOp &op, const OpStrategy &strategy);

/// `{f: tp0, h: tp1}`, `{x: pending}`, `{ring: tp}`; `{}`: the same work everywhere.
std::string toString(const TemplateOp &op, const OpStrategy &strategy, llvm::ArrayRef<LayoutAxis> grid);

/// All of them. Several axes on one factor cut it in the order of the grid, outermost first. A factor is never cut into
/// more parts than it has elements, a maximum not into uneven ones; loops that combine a result in different ways are
/// not cut together.
std::vector<OpStrategy> enumerateStrategies(const TemplateOp &op, llvm::ArrayRef<LayoutAxis> grid);

/// All ways to cut a tensor, nothing pending, axes on one dimension in the order of the grid.
std::vector<Layout> enumerateLayouts(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<LayoutAxis> grid);

/// What the op needs of operand `number`; pending where the strategy says so and the op is linear in it.
Layout operandLayout(const TemplateOp &op, const OpStrategy &strategy, int number);
/// What the op gives for result `number`: pending over the axes of the loops that the result lacks, and over those that
/// passed through.
Layout resultLayout(const TemplateOp &op, const OpStrategy &strategy, int number);
/// What backward gives for the gradient of operand `number`: cut like the operand, pending over the axes of the loops
/// that the operand lacks. Backward wants the gradient of a result cut like the result, with nothing pending: also
/// where the result itself is pending, each part then has the whole gradient.
Layout operandGradientLayout(const TemplateOp &op, const OpStrategy &strategy, int number);

/// ceil(size / parts) of each factor: what the rank with most of everything does.
std::vector<int64_t> localFactorSizes(const TemplateOp &op, const OpStrategy &strategy,
                                      llvm::ArrayRef<LayoutAxis> grid);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_OPSTRATEGY_H
