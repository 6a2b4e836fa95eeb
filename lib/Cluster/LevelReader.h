// One level of a cluster file, and the built-in interconnects that a level may name.
#ifndef PPC_LIB_CLUSTER_LEVELREADER_H
#define PPC_LIB_CLUSTER_LEVELREADER_H

#include "ppc/Cluster/Cluster.h"
#include "ppc/Support/YamlReader.h"

namespace mlir::ppc {

constexpr int64_t maximumDevices = int64_t(1) << 24;
constexpr size_t maximumLevels = 6;

/// `kind: NAME` and what differs from it, or every number. `size`: the only one that fits. Errors are recorded in the
/// reader; what is returned then is not to be used.
ClusterLevel readLevel(YamlReader &reader, bool innermost, std::optional<int64_t> size = std::nullopt);
/// The `levels` of a mapping, from the inside out.
std::vector<ClusterLevel> readLevels(YamlReader &reader);
/// Extents of a torus of `dimensions` that multiply to `size` and are as even as its divisors allow.
llvm::SmallVector<int64_t, 3> evenExtents(int64_t size, int dimensions);

} // namespace mlir::ppc

#endif // PPC_LIB_CLUSTER_LEVELREADER_H
