// What one execution of an operation on buffers does at least, beside which its time is shown.
#ifndef PPC_TRANSFORMS_PROFILE_WORK_H
#define PPC_TRANSFORMS_PROFILE_WORK_H

#include "mlir/IR/Operation.h"

namespace mlir::ppc {

struct Work {
  /// Floating-point operations, where an exponential counts as one; of attention, those of the products of queries and
  /// keys that see each other: two forward, five backward.
  int64_t flops = 0;
  /// Read and written, if each buffer moves once.
  int64_t bytes = 0;
};

/// Of loops, a product, attention, a launch (whose FLOPs it says itself), a collective or a copy on buffers of static
/// shapes; of a region of loops (`scf.execute_region`) the FLOPs alone.
Work workOf(Operation *op);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PROFILE_WORK_H
