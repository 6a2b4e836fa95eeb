// Seconds that one device takes for one kernel, from the constants of its Device. Derivations:
// docs/internals/CostModel.md.
#ifndef PPC_COSTMODEL_KERNELCOST_H
#define PPC_COSTMODEL_KERNELCOST_H

#include "ppc/Cluster/Device.h"

namespace mlir::ppc {

/// Returns the precision that a matmul asked for in `precision` runs in: the next wider one that the device has a peak
/// for.
Precision productPrecision(const Device &device, Precision precision);

/// `batch` matmuls [m, k] x [k, n]. Rows are contiguous over k and n; `outerK`: over m and n, as in weight gradients,
/// where both operands are transposed.
struct GemmShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool outerK = false;
};
/// Time of a GEMM. Operands in `precision`, result in 16 bits (f32 for f32 and tf32). The maximum of the tiles' time,
/// quantized to full waves over the multiprocessors, the memory's and the power limit's, plus the time of a launch.
/// Contiguous dimensions that are not a multiple of 16 bytes are slower.
Seconds gemmTime(const Device &device, Precision precision, const GemmShape &shape);
/// `groups` matmuls of different row counts in one kernel: `rows` in all, spread evenly.
Seconds groupedGemmTime(const Device &device, Precision precision, int64_t groups, int64_t rows, int64_t n, int64_t k);

/// Lower bound on the time of a matmul of `flops`, whatever its shape.
Seconds leastProductTime(const Device &device, Precision precision, Flops flops);

/// Fused attention kernels; attention without one is batched matmuls and memory-bound passes, counted as such.
enum class AttentionKernel { Unfused, FusedSoftmax, Flash1, Flash2, Flash3, Cudnn, TritonFlash1 };
struct AttentionShape {
  int64_t batch = 1, heads = 1, kvHeads = 1, queries = 1, keys = 1;
  int64_t headDim = 1, valueDim = 1;
  bool causal = true;
  int64_t window = 0; // keys a query sees; 0: all (or all before it when causal)
};
/// The constants of that kernel, or of the nearest that the device has; null when it has none.
const AttentionConstants *attentionConstants(const Device &device, AttentionKernel kernel);
/// Flash1, Flash2, Flash3, Cudnn, TritonFlash1 only.
Seconds attentionForwardTime(const Device &device, AttentionKernel kernel, Precision precision,
                             const AttentionShape &shape);
Seconds attentionBackwardTime(const Device &device, AttentionKernel kernel, Precision precision,
                              const AttentionShape &shape);

/// A memory-bound kernel that reads and writes `bytes` in all: bytes over the attainable bandwidth at that size, at
/// least the launch floor.
Seconds streamTime(const Device &device, Bytes bytes);

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_KERNELCOST_H
