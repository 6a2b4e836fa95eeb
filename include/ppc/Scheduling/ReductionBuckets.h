// Which gradients are reduced between ranks together, while backward computes those that follow.
#ifndef PPC_SCHEDULING_REDUCTIONBUCKETS_H
#define PPC_SCHEDULING_REDUCTIONBUCKETS_H

#include "ppc/Support/Units.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <vector>

namespace mlir::ppc {

/// Gradients that are finished together.
struct ReductionPiece {
  Seconds ready; ///< time at which it can be reduced; gradients are sorted by it
  Bytes bytes;
};

struct ReductionBuckets {
  std::vector<size_t> ends; ///< index after the last gradient of each bucket, in order
  Seconds end;              ///< when the last one has been reduced
};

/// Assigns gradients to buckets, which are runs of `ReductionPiece`s. A bucket starts when its last gradient is ready
/// and the previous bucket is reduced, and takes `time` of its bytes (latency and bandwidth). Returns the fewest
/// buckets of which the last ends at most `slack` after the best choice; with `count`, the best choice of that many (at
/// most one per gradient). O(n^3) for n gradients; requires at least one.
ReductionBuckets chooseReductionBuckets(llvm::ArrayRef<ReductionPiece> pieces, llvm::function_ref<Seconds(Bytes)> time,
                                        Seconds slack, std::optional<size_t> count = std::nullopt);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_REDUCTIONBUCKETS_H
