// What an op does along each of its loops, written down from the definitions of the ops (dialects/ppc/IR) and from
// nothing else: the sharding rules by which programs are partitioned are not used, so that an error in one is found by
// the other.
#ifndef PPC_LIB_EQUIVALENCE_OPLOOPS_H
#define PPC_LIB_EQUIVALENCE_OPLOOPS_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// Loops are letters; a tensor has one letter per dimension. '?' is a new dimension along which the result is constant.
struct OpLoops {
  SmallVector<std::string> operands, results;

  /// Loops whose iterations add up in results that lack them. The padding of operands must be zero there.
  std::string summed;
  /// Loops whose iterations belong together: nobody can do with a part of them.
  std::string whole;
  /// The loop that goes by index or global position, 0 for none: a part of it can be done only by an op whose `block`
  /// says which part. Results that lack it combine by `combiner`.
  char indexed = 0;
  BlockAttr block = {};
  Combiner combiner = Combiner::Sum;
  /// Results have zeros in the padding of the indexed loop.
  bool indexedPaddingIsZero = false;

  /// Parts of a sum may pass through: in all `linear` operands together, all or none pending (`jointly`), or in any
  /// one, the others being complete.
  SmallVector<unsigned, 4> linear;
  bool jointly = false;

  /// Per result: where all operands have zeros along a loop, it has zeros. Empty: nowhere.
  SmallVector<bool, 3> keepsZero;
  std::string losesZero; ///< loops along which it does not, all the same
};

/// Names of `count` loops, at most limits::dimensions, none of which an op uses for a loop of its own.
std::string loopLetters(int64_t count);

/// The loops of `op`; nothing for an op that this file does not know.
std::optional<OpLoops> loopsOf(Operation *op);

} // namespace mlir::ppc

#endif // PPC_LIB_EQUIVALENCE_OPLOOPS_H
