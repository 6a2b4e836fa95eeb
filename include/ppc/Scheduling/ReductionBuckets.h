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
  Seconds ready; ///< when, from any beginning; pieces are in this order
  Bytes bytes;
};

struct ReductionBuckets {
  std::vector<size_t> ends; ///< of each bucket, in order, the piece after its last
  Seconds end;              ///< when the last one has been reduced
};

/// Buckets are runs of pieces. A bucket begins when its last piece is ready and the bucket before has been reduced, and
/// takes `time` of its bytes (latency and bandwidth). The fewest buckets of which the last ends at most `slack` later
/// than with any choice; with `count`, the best of as many (at most one for each piece). O(n^3) for n pieces; at least
/// one piece.
ReductionBuckets chooseReductionBuckets(llvm::ArrayRef<ReductionPiece> pieces, llvm::function_ref<Seconds(Bytes)> time,
                                        Seconds slack, std::optional<size_t> count = std::nullopt);

} // namespace mlir::ppc

#endif // PPC_SCHEDULING_REDUCTIONBUCKETS_H
