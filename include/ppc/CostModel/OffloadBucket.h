// How much of what is offloaded is on a device at a time: what the planner prices and programs do.
#ifndef PPC_COSTMODEL_OFFLOADBUCKET_H
#define PPC_COSTMODEL_OFFLOADBUCKET_H

#include "ppc/Support/Units.h"
#include <algorithm>

namespace mlir::ppc {

/// Buckets of this much or less: small beside what is offloaded, large beside what starting a copy takes. `all`: what a
/// rank keeps on the host of its optimizer; `largest`: what belongs to one tensor, which is never cut.
inline Bytes offloadBucket(Bytes all, Bytes largest) { return std::max(all / 32, largest); }

/// Buckets on the device at a time: one is updated while the one before leaves and the one after comes, in its place.
inline constexpr int kOffloadBucketsAtOnce = 2;

} // namespace mlir::ppc

#endif // PPC_COSTMODEL_OFFLOADBUCKET_H
