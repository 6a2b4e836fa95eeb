// Semantics of an op along each of its loops, written down from the definitions of the ops (dialects/ppc/IR) and
// from nothing else: the sharding rules by which programs are partitioned are not used, so that an error in one is
// found by the other.
#ifndef PPC_LIB_EQUIVALENCE_OPLOOPS_H
#define PPC_LIB_EQUIVALENCE_OPLOOPS_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// Loops are einsum indices; a tensor has one index per dimension. '?' is a new dimension along which the result is
/// constant.
struct OpLoops {
  SmallVector<std::string> operands, results;

  /// Loops whose iterations add up in results that lack them. The padding of operands must be zero there.
  std::string summed;
  /// Loops whose iterations belong together: an op needs all of them.
  std::string whole;
  /// The loop that uses its index or global position, 0 for none: a part of it can be computed only by an op whose
  /// `block` names the part. Results that lack it combine by `combiner`.
  char indexed = 0;
  BlockAttr block = {};
  Combiner combiner = Combiner::Sum;
  /// Results have zeros in the padding of the indexed loop.
  bool indexedPaddingIsZero = false;

  /// Operands through which partial sums may pass: in all `linear` operands together, all or none partial
  /// (`jointly`), or in any one, the others being complete.
  SmallVector<unsigned, 4> linear;
  bool jointly = false;

  /// Per result: if all operands have zeros along a loop, it has zeros. Empty: for no result.
  SmallVector<bool, 3> keepsZero;
  std::string losesZero; ///< loops along which it does not, all the same
};

/// Names of `count` loops, at most limits::dimensions, none of which an op uses for a loop of its own.
std::string loopLetters(int64_t count);

/// The loops of `op`; nothing for an op that this file does not know.
std::optional<OpLoops> loopsOf(Operation *op);

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_OPLOOPS_H
