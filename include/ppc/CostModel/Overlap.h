// Compute and communication at the same time.
#ifndef PPC_COSTMODEL_OVERLAP_H
#define PPC_COSTMODEL_OVERLAP_H

#include "ppc/Cluster/Device.h"

namespace mlir::ppc {

/// Compute and communication that start together and slow each other down: from the start to the end of both.
/// Collective kernels take a share of the multiprocessors, compute takes memory bandwidth.
Seconds runTogether(const Device &device, Seconds compute, Seconds communication);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_OVERLAP_H
