// The machine that a plan is for: devices, the levels of links that join them, and the host. From a preset or a YAML file
// (docs/CostModel.md).
#ifndef PPC_CLUSTER_CLUSTER_H
#define PPC_CLUSTER_CLUSTER_H

#include "ppc/Cluster/Device.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <vector>

namespace mlir::ppc {

enum class TopologyKind {
  Switch,        // any to any at full rate (NVSwitch, one leaf switch)
  AllPairs,      // a direct link per pair: a rate of bandwidth / (size - 1) to each peer
  PcieTree,      // pairs share a switch, switches share the host bridge
  CubeMesh,      // DGX-1 V100: hybrid cube mesh of 8
  Torus2D, Torus3D,
  FatTree,       // oversubscription 1: full bisection
  RailOptimized, // device i of every unit joins leaf i; leaves join a spine
  RailOnly,      // the same without a spine: other rails are reached through the unit
  Dragonfly,
};
llvm::StringRef toString(TopologyKind kind);

/// One level, from the inside out: `size` units of the level below (devices at the innermost) make one unit of this.
struct ClusterLevel {
  std::string name; // "nvlink", "rail"
  int64_t size = 1;
  TopologyKind topology = TopologyKind::Switch;
  BytesPerSecond bandwidth; // per device and direction, what the wire carries
  Seconds latency;          // one hop, software included
  double oversubscription = 1; // of the uplinks: 2 halves what crosses the bisection
  double adaptersPerDevice = 1; // network adapters; 0.5: two devices share one
  bool inNetworkReduction = false; // NVLS, SHARP
  double efficiency = 1; // attainable share of `bandwidth` for large messages, measured
};

struct HostMemory {
  Bytes memory; // of a node
  BytesPerSecond bandwidth, nvmeBandwidth; // device to host, per device and direction; host to NVMe, per node
};

/// Some devices of one kind; a cluster of one kind has one group.
struct DeviceGroup {
  Device device;
  int64_t count = 0;                // devices
  std::vector<ClusterLevel> levels; // inside the group
};

struct Cluster {
  std::string name;
  std::vector<DeviceGroup> groups; // at least one; rank numbers run through them in order
  std::optional<ClusterLevel> between; // joins the groups when there are several
  HostMemory host;

  int64_t deviceCount() const;
  const Device &device() const { return groups.front().device; }
  llvm::ArrayRef<ClusterLevel> levels() const { return groups.front().levels; }
};

/// `dgx-a100:32`: a preset and how many nodes of it (1 without), or the path of a YAML file. Errors: unknown preset (lists
/// them), node count < 1, what readClusterFile says.
llvm::Expected<Cluster> findCluster(llvm::StringRef spelling);
/// Errors: `FILE:LINE:COLUMN: error: ...` naming key, value and what is possible.
llvm::Expected<Cluster> readClusterFile(llvm::StringRef path);
llvm::Expected<Cluster> parseCluster(llvm::StringRef name, llvm::StringRef text);
/// The same cluster with only the first `devices` of it (whole inner units where possible). Errors: more than it holds.
llvm::Expected<Cluster> restrictCluster(const Cluster &cluster, int64_t devices);

struct ClusterPreset {
  llvm::StringRef name, summary;
};
std::vector<ClusterPreset> clusterPresets();

/// How the ranks of one communication group lie: `members[l]` of them in one unit of level l that holds any (so
/// members[0] share the innermost unit), cumulative: members.back() is the size of the group. `sharers[l]`: groups of the
/// same kind that communicate at the same time and share a unit of level l - 1 on the way to level l (its adapters).
struct GroupPlacement {
  llvm::SmallVector<int64_t, 4> members;
  llvm::SmallVector<int64_t, 4> sharers;
  int64_t size() const { return members.empty() ? 1 : members.back(); }
};
/// The groups of `size` ranks that are `stride` apart (an axis of the grid whose inner axes multiply to `stride`).
GroupPlacement placeGroup(llvm::ArrayRef<ClusterLevel> levels, int64_t stride, int64_t size);

} // namespace mlir::ppc

#endif // PPC_CLUSTER_CLUSTER_H
