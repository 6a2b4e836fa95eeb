// Lower bounds on the work of one execution of an operation on buffers, shown next to its time.
#ifndef PPC_TRANSFORMS_PROFILE_WORK_H
#define PPC_TRANSFORMS_PROFILE_WORK_H

#include "mlir/IR/Operation.h"

namespace mlir::ppc {

struct Work {
  /// Floating-point operations, where an exponential counts as one; of attention, those of the matmuls of queries
  /// and keys that see each other: two forward, five backward.
  int64_t flops = 0;
  /// Bytes read and written, if each buffer moves once.
  int64_t bytes = 0;
};

/// The work of loops, a matmul, attention, a launch (which declares its FLOPs), a collective or a copy on buffers
/// of static shapes; of a region of loops (`scf.execute_region`) the FLOPs alone.
Work workOf(Operation *op);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PROFILE_WORK_H
