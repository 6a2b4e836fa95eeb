// The machine that a plan is for: devices, the levels of links that join them, and the host. From a preset or a YAML
// file (docs/reference/Clusters.md).
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
  Switch,   // any to any at full rate (NVSwitch, one leaf switch)
  AllPairs, // a direct link per pair: a rate of bandwidth / (size - 1) to each peer
  PcieTree, // pairs share a switch, switches share the host bridge
  CubeMesh, // DGX-1 V100: hybrid cube mesh of 8
  Torus2D,
  Torus3D,       // links to the neighbours along each axis, with wraparound
  FatTree,       // oversubscription 1: full bisection
  RailOptimized, // device i of every unit joins leaf i; leaves join a spine
  RailOnly,      // rails without a spine: other rails are reached through the unit
  Dragonfly,
};
llvm::StringRef toString(TopologyKind kind);

/// How near the wire's rate one kind of traffic comes: `efficiency` of it for large messages; a message of `bytes`
/// takes 1 + (ramp / bytes)^rampExponent as long as at that rate (CollectiveCost).
struct LinkRate {
  double efficiency = 0.8;
  Bytes ramp;
};

/// Measured constants of a collective library on the links of one level: one set per interconnect, for all devices.
struct LinkConstants {
  Seconds floor;             // shortest collective whose outermost level this is
  LinkRate ring;             // rings and trees
  LinkRate allToAll;         // a message to each other rank
  LinkRate inNetwork;        // switches that reduce: share of the link bandwidth to the switch
  Seconds inNetworkLatency;  // added latency of a reduction in the switch
  double pointToPoint = 0.7; // attainable share of the bandwidth by one large message
  // One message uses one stream of at most this rate until it is `split` bytes long; 0: no such limit.
  BytesPerSecond stream;
  Bytes split;
};

/// One level, from the inside out: `size` units of the level below (devices at the innermost) make one unit of this.
struct ClusterLevel {
  std::string name; // "nvlink", "rail"
  std::string kind; // the built-in interconnect with defaults for missing keys: "nvlink-3"; "": none
  int64_t size = 1;
  TopologyKind topology = TopologyKind::Switch;
  BytesPerSecond bandwidth;              // link bandwidth per device and direction
  Seconds latency;                       // one hop, software included
  double oversubscription = 1;           // ratio for the uplinks: 2 halves the bisection bandwidth
  double adaptersPerDevice = 1;          // network adapters; 0.5: two devices share one
  bool inNetworkReduction = false;       // NVLS, SHARP
  llvm::SmallVector<int64_t, 3> extents; // sides of a torus; they multiply to `size`
  LinkConstants constants;
};

struct HostMemory {
  Bytes memory;                   // host memory of one innermost unit; 0: unknown, nothing can be offloaded
  BytesPerSecond bandwidth;       // device to host, per direction, while no other device copies
  int64_t devicesPerLink = 1;     // devices that share a link to the host: a PCIe switch
  BytesPerSecond memoryBandwidth; // datasheet, of the memory of one unit of the innermost level; 0: not known, no limit
  BytesPerSecond nvmeBandwidth;   // host to NVMe, of one unit of the innermost level; 0: none
};

/// Some devices of one kind; a cluster of one kind has one group.
struct DeviceGroup {
  Device device;
  int64_t count = 0;                // devices; at most as many as the sizes of the levels multiply to
  std::vector<ClusterLevel> levels; // inside the group; at least one
};

struct Cluster {
  std::string name, summary;
  std::vector<DeviceGroup> groups;     // at least one; rank numbers run through them in order
  std::optional<ClusterLevel> between; // joins the groups when there are several; its size is their number
  HostMemory host;
  // Extra time of the exchange of gradients and parameters, once a step, over its collectives on this machine, per
  // parameter of a rank. Measured on some large machines; the cause is unknown.
  Seconds stateExchangeDelay = Seconds(0);
  // Set for `local` without a file: nothing was measured on this machine, and times come from another one.
  bool unmeasured = false;

  int64_t deviceCount() const;
  const Device &device() const { return groups.front().device; }
  /// Levels of the first group, without `between`.
  llvm::ArrayRef<ClusterLevel> levels() const { return groups.front().levels; }
  /// Devices in one unit of the innermost level of the first group: a node, or a rack that is one NVLink domain.
  int64_t unitSize() const { return groups.front().levels.front().size; }
  /// Bandwidth per device and direction to the host while all devices of its unit copy.
  BytesPerSecond hostBandwidth() const;
};

/// Finds a cluster: `dgx-a100:32`, a preset and its number of nodes (1 without), or the path of a YAML file. `local`:
/// the file that the environment variable PPC_LOCAL_CLUSTER names, or one rank per core of this machine; `local:4`:
/// clusterOfRanks. Errors: unknown preset (lists them), count < 1, errors of readClusterFile.
llvm::Expected<Cluster> findCluster(llvm::StringRef spelling);
/// Errors: `FILE:LINE:COLUMN: error: ...` naming key, value and the expected values.
llvm::Expected<Cluster> readClusterFile(llvm::StringRef path);
llvm::Expected<Cluster> parseCluster(llvm::StringRef name, llvm::StringRef text);
/// Part of a cluster with `devices` devices: the fewest innermost units that hold them, filled evenly if that divides
/// and otherwise with the last one partly empty. Errors: more devices than the cluster has, fewer than one.
llvm::Expected<Cluster> restrictCluster(const Cluster &cluster, int64_t devices);

/// Cluster for ranks that are processes on a machine whose devices are cores: each has its share of the machine's
/// memory and, with more ranks than cores, of its time. A cluster of several levels is restricted instead. Errors: as
/// restrictCluster.
llvm::Expected<Cluster> clusterOfRanks(const Cluster &cluster, int64_t ranks);

/// YAML that parseCluster reads back as the same cluster, with every number of devices and links spelled out.
std::string writeCluster(const Cluster &cluster);
/// Names that a level may give as its `kind`.
std::vector<llvm::StringRef> interconnectNames();

/// Levels for communication groups that reach over several groups of devices: by position the slowest of the groups'
/// levels, then `between`. Those of the first group where there is one.
std::vector<ClusterLevel> joinedLevels(const Cluster &cluster);

struct ClusterPreset {
  llvm::StringRef name, summary;
};
std::vector<ClusterPreset> clusterPresets();

/// How the ranks of one communication group lie, for the slowest group of its kind. `members[l]`: most of its ranks in
/// one unit of level l (so members[0] share the innermost unit), cumulative: members.back() is the size of the group.
/// `fewest[l]`: the same for the unit that holds fewest (and any); differs from `members` only where groups do not line
/// up with units. `spans[l]`: units of level l - 1 (devices for l = 0) that the group touches within one unit of level
/// l. `sharers[l]`: groups of the same kind that communicate at the same time and share a unit of level l - 1 on the
/// way to level l (its adapters); 1 for l = 0.
struct GroupPlacement {
  llvm::SmallVector<int64_t, 4> members, fewest, spans, sharers;
  int64_t size() const { return members.empty() ? 1 : members.back(); }
};
/// Placement of the groups of `size` ranks that are `stride` apart (an axis of the mesh whose inner axes multiply to
/// `stride`). `stride * size` need not divide the units. Ranks beyond the levels count as in the last unit.
GroupPlacement placeGroup(llvm::ArrayRef<ClusterLevel> levels, int64_t stride, int64_t size);

} // namespace mlir::ppc

#endif // PPC_CLUSTER_CLUSTER_H
