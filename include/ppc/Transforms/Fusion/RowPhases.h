//===- RowPhases.h - Execution phases of the members of a row region ----===//
//
// Reductions split the members of a region into phases. Values that live from one phase to another stay in registers.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TRANSFORMS_FUSION_ROWPHASES_H
#define PPC_TRANSFORMS_FUSION_ROWPHASES_H

#include "ppc/Transforms/Fusion/RowRegion.h"

namespace mlir::ppc {

/// The phase of each member. Phases follow each other; one begins with its per-row values, in order, continues with
/// elementwise members, group by group, and ends with its reductions of rows, which the next may use. No member reads
/// what a later one has written, or misses what an earlier one has.
SmallVector<unsigned> phasesOf(const RowRegion &region);

/// Upper bound on the 32-bit registers of a thread for elements of a row and sums of columns, by the lifetimes of
/// values: a phase reads its operands from outside before it writes, and iterates over them group by group. Two values
/// that follow each other in a buffer count as two values in buffers of their own would. Addresses, per-row values and
/// temporaries between the ops of one element come on top.
int64_t heldRegisters(const RowRegion &region);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_ROWPHASES_H
