// Conversion between a logical tensor and the local tensors of the ranks of a mesh.
#ifndef PPC_INTERPRETER_SHARDEDTENSORS_H
#define PPC_INTERPRETER_SHARDEDTENSORS_H

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {

/// Returns the local tensor of each rank: its block of the sharded dimensions, padded with zeros; of a partial
/// value the full tensor on coordinate 0 of the partial axes and the neutral element (0, or minus infinity) elsewhere.
/// Ranks are row-major over the axes of `grid`, which may have axes that `sharding` does not name (replicas).
SmallVector<ReferenceTensor> cutTensor(const ReferenceTensor &logical, ShardingAttr sharding, GridAttr grid);

struct AssembleOptions {
  /// Largest difference between replicas, relative to the larger of 1 and the value.
  double tolerance = 1e-9;
  /// Dimensions whose padding must be exactly zero (all of parameters and optimizer state).
  SmallVector<int64_t> zeroPadding = {};
};

/// Assembles the logical tensor of `shape` from the ranks' local tensors. Fails, with a message through `emitError`,
/// when the local shapes do not match `sharding`, when replicas differ, or when padding is not as required.
FailureOr<ReferenceTensor> assembleTensor(ArrayRef<ReferenceTensor> locals, ArrayRef<int64_t> shape,
                                          ShardingAttr sharding, GridAttr grid,
                                          function_ref<InFlightDiagnostic()> emitError,
                                          const AssembleOptions &options = {});

} // namespace mlir::ppc

#endif // PPC_INTERPRETER_SHARDEDTENSORS_H
