// When the members of a region run.
#ifndef PPC_LIB_TARGET_CUDA_ROWPHASES_H
#define PPC_LIB_TARGET_CUDA_ROWPHASES_H

#include "ppc/Transforms/Fusion/RowRegion.h"

namespace mlir::ppc::cuda {

/// The phase of each member. Phases follow each other; one begins with its numbers of rows, in order, goes on with what
/// is of elements, group by group, and ends with its reductions of rows, which the next may use. No member finds what a
/// later one has written, or misses what an earlier one has.
SmallVector<unsigned> phasesOf(const RowRegion &region);

} // namespace mlir::ppc::cuda

#endif // PPC_LIB_TARGET_CUDA_ROWPHASES_H
