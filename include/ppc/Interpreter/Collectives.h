// Reference semantics of collectives, given the values of all devices of a group.
#ifndef PPC_INTERPRETER_COLLECTIVES_H
#define PPC_INTERPRETER_COLLECTIVES_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// Combines two summands of a partial value.
double combine(Combiner combiner, double a, double b);
/// The neutral element of `combine`: 0 or minus infinity.
double neutralValue(Combiner combiner);
/// Combines all summands, element by element and from left to right.
ReferenceTensor combine(Combiner combiner, ArrayRef<const ReferenceTensor *> parts);

/// Block `index` of blocks of `size` elements along `dim`, padded with zeros past the end.
ReferenceTensor blockOf(const ReferenceTensor &whole, int64_t dim, int64_t index, int64_t size);
/// Concatenates the blocks along `dim` and drops elements past `extent`.
ReferenceTensor concatenate(ArrayRef<const ReferenceTensor *> blocks, int64_t dim, int64_t extent);

/// The axes of a collective; a null attribute for any other op.
ArrayAttr collectiveAxes(Operation *op);

/// Appends the result of each device, `operands` being the operand of each device in group order. Fails, with an error
/// on `op`, when its types do not fit a group of this many devices.
LogicalResult evaluateCollective(Operation *op, ArrayRef<const ReferenceTensor *> operands,
                                 SmallVectorImpl<ReferenceTensor> &results);

} // namespace mlir::ppc

#endif // PPC_INTERPRETER_COLLECTIVES_H
