// Which numbers an op looks things up by, how many things there are, and which numbers a program can come with.
#ifndef PPC_ANALYSIS_IDRANGE_H
#define PPC_ANALYSIS_IDRANGE_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// An operand of `op` whose elements must be from 0 to `count` - 1, where `count` things called `things` are.
struct IdUse {
  unsigned operand = 0;
  int64_t count = 0;
  StringRef things;
};

/// The look-up of `op`, if it is one (tables, classes, experts).
std::optional<IdUse> idUseOf(Operation *op);

/// Bounds on the elements of an integer value, as far as constants and shapes imply them: the elements of a constant,
/// positions in a row for `top_k`. Elements of an input are unknown.
std::optional<std::pair<int64_t, int64_t>> knownIds(Value value);

/// Number of different ids that the inputs of `function` may have, which all look-ups with them support, and the
/// look-up with the smallest table; empty if no look-up reads them.
struct InputIds {
  int64_t count = 0;
  Operation *by = nullptr;
  StringRef things;
};
std::optional<InputIds> inputIds(func::FuncOp function);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_IDRANGE_H
