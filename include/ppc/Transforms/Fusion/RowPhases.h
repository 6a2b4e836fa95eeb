//===- RowPhases.h - When the members of a row region run ---------------===//
//
// Reductions cut the members of a region into phases. What lives from one phase to another stays in registers.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_TRANSFORMS_FUSION_ROWPHASES_H
#define PPC_TRANSFORMS_FUSION_ROWPHASES_H

#include "ppc/Transforms/Fusion/RowRegion.h"

namespace mlir::ppc {

/// The phase of each member. Phases follow each other; one begins with its numbers of rows, in order, goes on with what
/// is of elements, group by group, and ends with its reductions of rows, which the next may use. No member finds what a
/// later one has written, or misses what an earlier one has.
SmallVector<unsigned> phasesOf(const RowRegion &region);

/// 32-bit registers of a thread that elements of a row and sums of columns take at most, by the lifetimes of values: a
/// phase reads what it takes from outside before it writes, and goes through it group by group. Two values that follow
/// each other in a buffer count as two values in buffers of their own would. Addresses, numbers of rows and what is
/// between the ops of one element come on top.
int64_t heldRegisters(const RowRegion &region);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_FUSION_ROWPHASES_H
