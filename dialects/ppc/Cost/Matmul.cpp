// Work of matmuls: one multiply-add per element of the loop nest.
#include "dialects/ppc/Cost/TensorTraffic.h"

using namespace mlir;
using namespace mlir::ppc;

// 2 * product of the sizes of all indices
OpCost MatmulOp::getCost() {
  double flops = 2 * double(elementsOf(getLhs())); // all indices of lhs, times those that only rhs has
  for (auto [letter, size] : llvm::zip(rhsLetters(), tensorType(getRhs()).getShape()))
    if (!lhsLetters().contains(letter))
      flops *= size;
  return costOf(*this, flops, Engine::Matrix);
}
