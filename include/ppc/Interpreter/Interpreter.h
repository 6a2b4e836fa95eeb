// Interpreter of programs of the ppc dialect, in f64 or rounded to f32, on one device or on all ranks of a mesh. The
// executable meaning of a program, for tests and for `--check`; slow, so for small tensors.
#ifndef PPC_INTERPRETER_INTERPRETER_H
#define PPC_INTERPRETER_INTERPRETER_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {

/// Arguments or results of a function on one rank.
using RankValues = SmallVector<ReferenceTensor>;

enum class Arithmetic {
  Exact,  ///< every number is f64
  Rounded ///< f32 results of ops are rounded to f32, which may give infinity or zero
};

/// Returns the results of `function` on one device. The program consists of ppc ops that have reference semantics,
/// ppc.accumulate, func.call and func.return. Errors are reported on the op at fault.
FailureOr<RankValues> interpret(func::FuncOp function, ArrayRef<ReferenceTensor> arguments);

/// Returns the results of each rank of the mesh `grid` when rank r runs `functions[r]` on `arguments[r]`,
/// communicating through collectives. A collective runs when every rank of its group has arrived at it; ranks that wait
/// for different collectives, or for a rank that has returned, are an error. Ranks are row-major over the axes of
/// `grid`, outermost first; the pipeline axis "pp" may be among them.
FailureOr<SmallVector<RankValues>> interpretRanks(GridAttr grid, ArrayRef<func::FuncOp> functions,
                                                  ArrayRef<RankValues> arguments,
                                                  Arithmetic arithmetic = Arithmetic::Exact);

/// Returns the results of one rank of `grid` for a function that does not communicate; the others need not run it.
FailureOr<RankValues> interpretAlone(GridAttr grid, int64_t rank, func::FuncOp function,
                                     ArrayRef<ReferenceTensor> arguments, Arithmetic arithmetic = Arithmetic::Exact);

/// Returns the results of each rank of `grid` when every rank runs `function`; see interpretRanks.
FailureOr<SmallVector<RankValues>> interpretSpmd(GridAttr grid, func::FuncOp function, ArrayRef<RankValues> arguments);

} // namespace mlir::ppc

#endif // PPC_INTERPRETER_INTERPRETER_H
