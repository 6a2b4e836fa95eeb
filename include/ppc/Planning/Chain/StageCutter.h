// Partitions the chain of layers into pipeline stages so that the slowest stage is as fast as possible. Exact dynamic
// programming, O(layers^2 x stages): milliseconds for hundreds of layers.
#ifndef PPC_PLANNING_CHAIN_STAGECUTTER_H
#define PPC_PLANNING_CHAIN_STAGECUTTER_H

#include "ppc/Support/Units.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace mlir::ppc {

struct LayerCost {
  Seconds time;
  Bytes memory;
};

struct StageCut {
  std::vector<int64_t> firstLayer; // per stage; stage s holds layers [firstLayer[s], firstLayer[s + 1]) or to the end
  Seconds slowest;                 // time of the slowest stage
};

/// Returns the partition into `stages` non-empty contiguous runs with the minimum of the slowest stage's time, such
/// that each stage's memory is within `memoryLimit` if given. Among equally fast ones, the most even one (minimum sum
/// of squared times); among those, the one whose early stages take fewer layers, since early stages save more
/// micro-batches. Errors: fewer layers than stages, stages < 1, no partition within the limit (names the lowest limit
/// that would do).
llvm::Expected<StageCut> cutStages(llvm::ArrayRef<LayerCost> layers, int64_t stages,
                                   std::optional<Bytes> memoryLimit = std::nullopt);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_STAGECUTTER_H
