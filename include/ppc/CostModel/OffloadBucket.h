// Part of offloaded state that is on a device at a time, for the planner and for programs.
#ifndef PPC_COSTMODEL_OFFLOADBUCKET_H
#define PPC_COSTMODEL_OFFLOADBUCKET_H

#include "ppc/Support/Units.h"
#include <algorithm>

namespace mlir::ppc {

/// Upper bound of bucket sizes: small compared with the offloaded state, large compared with the start of a copy.
/// `all`: optimizer state that a rank keeps on the host; `largest`: bytes of one tensor, which is never split.
inline Bytes offloadBucket(Bytes all, Bytes largest) { return std::max(all / 32, largest); }

/// Buckets on the device at a time: one is updated while the one before leaves and the one after comes, in its place.
inline constexpr int kOffloadBucketsAtOnce = 2;

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_OFFLOADBUCKET_H
