// Results of routines, computed once for equal arguments.
#ifndef PPC_TEST_LIB_ROUTINENUMBERS_H
#define PPC_TEST_LIB_ROUTINENUMBERS_H

#include "ppc/Interpreter/Interpreter.h"
#include <map>

namespace mlir::ppc::test {

/// Remembers across interleavings, and across programs whose functions of one name are the same.
class RoutineNumbers {
public:
  RoutineNumbers(GridAttr grid, GridAttr deviceGrid, Arithmetic arithmetic)
      : grid(grid), deviceGrid(deviceGrid), arithmetic(arithmetic) {}

  Arithmetic getArithmetic() const { return arithmetic; }

  using Digest = std::pair<uint64_t, uint64_t>;

  /// The results of functions that are run together: by one rank of a device (`rank` among its ranks), by all ranks of
  /// a device, or by all ranks. `digest` tells apart what they are run on; `arguments` is asked where they have not
  /// been run on that before. Null when they cannot be run on these numbers (errors are reported).
  const SmallVector<RankValues> *run(ArrayRef<func::FuncOp> functions, int64_t rank, Digest digest,
                                     function_ref<SmallVector<RankValues>()> arguments);

private:
  using Results = std::optional<SmallVector<RankValues>>;
  GridAttr grid, deviceGrid;
  Arithmetic arithmetic;
  std::map<Digest, Results> known;
  int64_t numbers = 0; ///< that are remembered
};

/// Adds to what has been digested.
RoutineNumbers::Digest digest(RoutineNumbers::Digest before, ArrayRef<double> numbers);
RoutineNumbers::Digest digest(RoutineNumbers::Digest before, StringRef text);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_ROUTINENUMBERS_H
