// Sharding rules of ops that rearrange elements.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

ShardingRule TransposeOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(getType().getRank()), permuted;
  for (int64_t dim : getPermutation())
    permuted.push_back(names[dim]);
  return ShardingRuleBuilder(*this)
      .operand(0, names)
      .result(0, permuted)
      .linear(Linearity::Joint, {0})
      .keepsZeroPadding(0)
      .build();
}

// Dimensions fall into groups of equal element count, [4, 8] -> [2, 2, 8] into {4 | 2, 2} and {8 | 8}. A group with
// one dimension on each side is a factor; in other groups only the major-most dimension can be sharded, since its
// blocks are contiguous on both sides, and only if it divides (`ppc-partition-to-spmd` would change the grouping
// otherwise). Such groups stay replicated for now.
ShardingRule ReshapeOp::getShardingRule() {
  RankedTensorType from = tensorType(getX()), to = getType();
  ShardingRule rule;
  rule.operands.emplace_back(from.getRank());
  rule.results.emplace_back(to.getRank());
  int64_t i = 0, j = 0;
  while (i < from.getRank() && j < to.getRank()) {
    // A dimension of size 1 on one side only is walked by no loop.
    bool unitI = from.getDimSize(i) == 1, unitJ = to.getDimSize(j) == 1;
    if (unitI != unitJ) {
      (unitI ? i : j) += 1;
      continue;
    }
    int64_t firstI = i, firstJ = j, sizeI = from.getDimSize(i++), sizeJ = to.getDimSize(j++);
    while (sizeI != sizeJ) {
      if (sizeI < sizeJ)
        sizeI *= from.getDimSize(i++);
      else
        sizeJ *= to.getDimSize(j++);
    }
    if (i - firstI == 1 && j - firstJ == 1) {
      Factor factor;
      factor.name = "d" + std::to_string(rule.factors.size());
      factor.size = sizeI;
      rule.operands[0][firstI].push_back(rule.factors.size());
      rule.results[0][firstJ].push_back(rule.factors.size());
      rule.factors.push_back(factor);
    }
  }
  rule.linearity = Linearity::Joint;
  rule.linearOperands = {0};
  rule.keepsZeroPadding = {true};
  return rule;
}

ShardingRule BroadcastOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(getType().getRank()), kept;
  for (auto [i, name] : llvm::enumerate(names))
    if (!llvm::is_contained(getDims(), int64_t(i)))
      kept.push_back(name);
  // Padding of a new dimension repeats real values, so zero padding is not kept.
  return ShardingRuleBuilder(*this).operand(0, kept).result(0, names).linear(Linearity::Joint, {0}).build();
}

// All dimensions may be sharded but the one that is split.
static ShardingRule partsRule(Operation *op, unsigned operands, unsigned results, int64_t rank, int64_t dim) {
  SmallVector<StringRef> names = dimensionNames(rank);
  ShardingRule rule;
  TensorFactors factors(rank);
  for (int64_t d = 0; d < rank; ++d) {
    if (d == dim)
      continue;
    factors[d].push_back(rule.factors.size());
    Factor factor;
    factor.name = names[d].str();
    factor.size = cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(d);
    rule.factors.push_back(factor);
  }
  rule.operands.assign(operands, factors);
  rule.results.assign(results, factors);
  rule.linearity = Linearity::Joint;
  rule.linearOperands = llvm::to_vector(llvm::seq<unsigned>(0, operands));
  rule.keepsZeroPadding.assign(results, true);
  return rule;
}

ShardingRule SplitOp::getShardingRule() {
  return partsRule(*this, 1, getNumResults(), tensorType(getX()).getRank(), getDim());
}
ShardingRule ConcatOp::getShardingRule() {
  return partsRule(*this, getNumOperands(), 1, getType().getRank(), getDim());
}
