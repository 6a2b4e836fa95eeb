// Shardings of one op over the axes of a mesh, with the layouts that each needs of operands and makes of results,
// forwards and backwards.
#ifndef PPC_PLANNING_CHAIN_OPSTRATEGY_H
#define PPC_PLANNING_CHAIN_OPSTRATEGY_H

#include "ppc/Planning/Chain/OpTemplate.h"
#include "ppc/Target/TargetCapabilities.h"

namespace mlir::ppc {

/// Sharding strategy of an op. Per axis of the mesh: the factor that it shards, `uncut` (every rank along it does the
/// same work), or `pending` (a partial sum over the axis passes through the op, which is linear).
///
/// Attention has strategies beyond its loops, with a part of the sequence on every rank: `ring` (keys and values are
/// sharded like queries and rotate, one part after the other) and `gather` (every rank has all keys and values). Each
/// part consists of a leading and a trailing chunk, so that causal work is even. Ulysses (an all-to-all from the
/// sequence to heads) is a sharding of the heads between two reshardings.
struct OpStrategy {
  static constexpr int uncut = -1, pending = -2, ring = -3, gather = -4;
  std::vector<int> axes;
  bool operator==(const OpStrategy &other) const { return axes == other.axes; }
};

/// Returns whether programs of the target run an op with this sharding.
bool runs(const TargetCapabilities &target, const TemplateOp &op, const OpStrategy &strategy);

/// `{f: tp0, h: tp1}`, `{x: pending}`, `{ring: tp}`; `{}`: the same work everywhere.
std::string toString(const TemplateOp &op, const OpStrategy &strategy, llvm::ArrayRef<LayoutAxis> grid);

/// Returns all strategies. Several axes on one factor shard it in the order of the mesh, outermost first. A factor is
/// never sharded into more parts than it has elements, a maximum not into uneven ones; loops that combine a result in
/// different ways are not sharded together.
std::vector<OpStrategy> enumerateStrategies(const TemplateOp &op, llvm::ArrayRef<LayoutAxis> grid);

/// Returns all shardings of a tensor that are not partial, axes on one dimension in the order of the mesh.
std::vector<Layout> enumerateLayouts(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<LayoutAxis> grid);

/// Layout that the op needs of operand `number`; partial if the strategy is `pending` and the op is linear in it.
Layout operandLayout(const TemplateOp &op, const OpStrategy &strategy, int number);
/// Layout of result `number`: partial over the axes of the loops that the result lacks, and over the axes of partial
/// sums that passed through.
Layout resultLayout(const TemplateOp &op, const OpStrategy &strategy, int number);
/// Layout in which backward makes the gradient of operand `number`: sharded like the operand, partial over the axes of
/// the loops that the operand lacks. Backward needs the gradient of a result sharded like the result and not partial:
/// if the result itself is partial, each part has the full gradient.
Layout operandGradientLayout(const TemplateOp &op, const OpStrategy &strategy, int number);

/// ceil(size / parts) of each factor: the extents on the rank with the largest blocks.
std::vector<int64_t> localFactorSizes(const TemplateOp &op, const OpStrategy &strategy,
                                      llvm::ArrayRef<LayoutAxis> grid);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_OPSTRATEGY_H
