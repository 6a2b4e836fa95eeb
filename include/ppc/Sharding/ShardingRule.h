// The sharding rule of an op as plain data: which loops ("factors") the op has, which dimension of which operand and
// result each loop walks, and what happens to the results when a loop is sharded over devices. One rule per op is the
// single source for propagation, partitioning, communication and cost (in the spirit of einsum and of Shardy's factor
// maps).
//
//   matmul "bsh,fh->bsf":   ([b, s, h], [f, h]) -> ([b, s, f])   {h: sum}
//
// Sharding factor f over k devices gives each device the block [i*c, (i+1)*c) of it, c = ceil(size / k). A result that
// has f among its dimensions is sharded likewise; a result that does not have it is partial, and the parts combine by
// f's combiner.
#ifndef PPC_SHARDING_SHARDINGRULE_H
#define PPC_SHARDING_SHARDINGRULE_H

#include "ppc/Sharding/Combiner.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir::ppc {

/// One loop of an op.
struct Factor {
  std::string name;
  int64_t size = 1;
  /// The loop cannot be sharded (its iterations depend on each other in a way that no combiner resolves).
  bool needsReplication = false;
  /// The op computes different values for an index depending on its position along the loop (a row of a table, an
  /// angle, a causal mask): on a block of the loop it computes other values than on the full loop, unless it is given
  /// its block (`setFactorBlock`, `setFactorStart`). Passes that split a loop, over devices or in time, check this.
  bool positional = false;
  /// How the parts of a result that lacks this factor combine.
  Combiner combiner = Combiner::Sum;
};

/// The factors of each dimension of one tensor, major to minor: usually one, several where a reshape merges
/// dimensions, none for a dimension of size one that no loop walks.
using TensorFactors = llvm::SmallVector<llvm::SmallVector<unsigned, 1>, 4>;

/// In which operands an op is linear, so that a partial sum may flow through it.
enum class Linearity {
  None,  ///< in none: partial operands must be reduced first
  Joint, ///< in all `linearOperands` together: they must be partial over the same axes (add, sub, one-operand ops)
  Each,  ///< in each of `linearOperands` alone, the others fixed (mul, matmul)
};

struct ShardingRule {
  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<TensorFactors, 4> operands; ///< one per operand; scalars have no dimensions
  llvm::SmallVector<TensorFactors, 2> results;  ///< one per result
  Linearity linearity = Linearity::None;
  llvm::SmallVector<unsigned, 4> linearOperands;
  /// Per result: if the padding of a sharded factor is zero in every operand that has it, it is zero in the result,
  /// too.
  llvm::SmallVector<bool, 2> keepsZeroPadding;
  /// Why the op has no rule ("" when it has one).
  std::string noneReason;

  static ShardingRule none(llvm::StringRef reason) {
    ShardingRule rule;
    rule.noneReason = reason.str();
    return rule;
  }
  bool isNone() const { return !noneReason.empty(); }

  /// The factor called `name`, if any.
  std::optional<unsigned> findFactor(llvm::StringRef name) const;
  /// True when `factor` walks a dimension of `tensor`.
  static bool contains(const TensorFactors &tensor, unsigned factor);

  /// Prints `([b, s, h], [f, h]) -> ([b, s, f]) {h: sum}`, of a positional loop that is reduced `{v: sum positional}`.
  void print(llvm::raw_ostream &os) const;
  std::string str() const;
};

} // namespace mlir::ppc

#endif // PPC_SHARDING_SHARDINGRULE_H
