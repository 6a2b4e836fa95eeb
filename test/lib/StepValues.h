// Numbers to run a step on.
#ifndef PPC_TEST_LIB_STEPVALUES_H
#define PPC_TEST_LIB_STEPVALUES_H

#include "RandomOperands.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <string>

namespace mlir::ppc::test {

/// Logical values by name: "parameter w", "m of w", "scalar step", "input ids". Numbers that f32 has.
using NamedTensors = std::map<std::string, ReferenceTensor>;

/// For the inputs of a logical step; states and scalars are positive, indices in range.
NamedTensors randomValues(func::FuncOp step, Random &random);
/// For what the buffers of a program say that it takes; integers are 0.
NamedTensors randomValues(ppcrt::ProgramOp program, Random &random);

/// Whether two lists of outputs have the same numbers but for the order of sums: each within `tolerance` of the larger
/// of `floor` and itself, and none that is NaN.
bool sameNumbers(ArrayRef<double> a, ArrayRef<double> b, double tolerance, double floor);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_STEPVALUES_H
