// Collectives and messages over the levels that a group crosses. Per level: the rate at which one unit's share of the
// group can send, and how many hops follow each other; the algorithms differ in what each level carries and in the
// hops.
#include "ppc/CostModel/CollectiveCost.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

llvm::StringRef mlir::ppc::toString(CollectiveKind kind) {
  static constexpr llvm::StringRef names[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"};
  return names[static_cast<int>(kind)];
}

namespace {
/// One level that the group crosses.
struct Crossing {
  const ClusterLevel *level;
  double rate;    // bytes/s of the whole group out of one unit below, before any efficiency
  double members; // ranks of the group in one unit below
  int64_t spans;  // units below, within one unit of this level
  double hops;    // of a ring through all ranks that are on this level
  bool innermost; // among devices
};

struct Crossings {
  Crossing at[8];
  int count = 0;
  double size = 1;
};

struct Estimate {
  double seconds = 0;
  llvm::StringRef algorithm = "none";
};
} // namespace

namespace {
/// Levels from the inside out, with what joins several groups as the outermost.
struct Levels {
  llvm::ArrayRef<ClusterLevel> inside;
  const ClusterLevel *between;

  explicit Levels(llvm::ArrayRef<ClusterLevel> levels) : inside(levels), between(nullptr) {}
  explicit Levels(const Cluster &cluster, const DeviceGroup &group)
      : inside(group.levels), between(cluster.between ? &*cluster.between : nullptr) {}
  explicit Levels(const Cluster &cluster) : Levels(cluster, cluster.groups.front()) {}
  size_t size() const { return inside.size() + (between ? 1 : 0); }
  const ClusterLevel &operator[](size_t index) const {
    return index < inside.size() || !between ? inside[std::min(index, inside.size() - 1)] : *between;
  }
};
} // namespace

/// Share of a device's bandwidth that `spans` of the level's units can use among themselves.
static double usableShare(const ClusterLevel &level, int64_t spans) {
  switch (level.topology) {
  case TopologyKind::AllPairs:
    return spans >= level.size ? 1.0 : double(spans - 1) / double(level.size - 1);
  case TopologyKind::CubeMesh: // 6 links: 2 at most join a pair, 4 stay within a quad
    return spans <= 2 ? 2.0 / 6 : spans <= 4 ? 4.0 / 6 : 1.0;
  case TopologyKind::Torus2D:
  case TopologyKind::Torus3D: { // axes that the units, numbered from the innermost axis, spread over
    double dimensions = level.extents.size(), used = 1;
    int64_t covered = level.extents[0];
    while (covered < spans && used < dimensions)
      covered *= level.extents[int(used++)];
    return used / dimensions;
  }
  case TopologyKind::FatTree:
  case TopologyKind::Dragonfly:
    return 1 / level.oversubscription;
  case TopologyKind::Switch:
  case TopologyKind::PcieTree:
  case TopologyKind::RailOptimized:
  case TopologyKind::RailOnly:
    return 1;
  }
  return 1;
}

static Crossings crossingsOf(const Levels &levels, const GroupPlacement &placement) {
  Crossings crossings;
  crossings.size = double(placement.size());
  double unitsBelow = crossings.size, devicesBelow = 1;
  for (size_t l = 0; l < placement.members.size() && crossings.count < 8; ++l) {
    const ClusterLevel &level = levels[l];
    int64_t spans = placement.spans[l];
    if (spans > 1) {
      double members = l == 0 ? 1 : double(placement.fewest[l - 1]);
      double perDevice = level.bandwidth.value * usableShare(level, spans);
      double alone = l == 0 ? 1 : members * std::max(1.0, 1 / level.adaptersPerDevice);
      double rate = perDevice * std::min(alone, devicesBelow / double(placement.sharers[l]));
      double units = unitsBelow / double(spans);
      crossings.at[crossings.count++] = {&level, rate, members, spans, unitsBelow - units, l == 0};
      unitsBelow = units;
    }
    devicesBelow *= double(level.size);
  }
  return crossings;
}

// What rings, trees and exchanges of a collective library have in common on every interconnect that was measured;
// fitted together with the constants of the presets (docs/internals/CostModel.md).
constexpr double rampExponent = 0.66;   // of LinkRate::ramp
constexpr double lowLatencyHop = 0.87;  // hop of the low-latency protocol, in hops of the full-rate one
constexpr double lowLatencyRate = 0.52; // its rate; it has no ramp
constexpr double treeHop = 2.6;         // hop of a tree among devices, in hops of a ring
constexpr double treeRate = 0.85;       // rate of a tree, in rates of a ring
constexpr double exchangeHop = 0.34;    // what each further peer of an all-to-all adds, in hops of a ring
constexpr double smallRingLoss = 0.54;  // a ring of n devices reaches 1 - smallRingLoss / n of the rate of a long one

/// How much longer than at full rate `bytes` take.
static double rampFactor(const LinkRate &rate, double bytes) {
  return rate.ramp.value == 0 ? 1 : 1 + std::pow(rate.ramp.value / bytes, rampExponent);
}

/// Levels work at the same time on different parts of a message; the slowest counts, and the others get in its way when
/// they are nearly as slow: the fourth power mean.
static double together(double sum, double seconds) {
  if (sum == 0 || seconds == 0)
    return sum + seconds;
  double ratio = std::min(sum, seconds) / std::max(sum, seconds);
  ratio *= ratio;
  return std::max(sum, seconds) * std::sqrt(std::sqrt(1 + ratio * ratio));
}

static double floorOf(const Crossings &crossings) {
  double floor = 0;
  for (int i = 0; i < crossings.count; ++i)
    floor = std::max(floor, crossings.at[i].level->constants.floor.value);
  return floor;
}

static double log2Ceil(int64_t value) { return value <= 1 ? 0 : 64 - __builtin_clzll(uint64_t(value - 1)); }

/// Rate at which a ring sends over this level.
static double ringRate(const Crossing &crossing) {
  double rate = crossing.rate * crossing.level->constants.ring.efficiency;
  return crossing.innermost ? rate * (1 - smallRingLoss / double(crossing.spans)) : rate;
}

/// All ranks in one ring, each level's hops pipelined: every link carries `wire`. `rounds`: 2 for an all-reduce.
static Estimate ring(const Crossings &crossings, double bytes, double rounds) {
  double wire = rounds * bytes * (crossings.size - 1) / crossings.size;
  double full = 0, fast = 0, hops = 0;
  for (int i = 0; i < crossings.count; ++i) {
    const Crossing &crossing = crossings.at[i];
    double seconds = wire / ringRate(crossing);
    full = together(full, seconds * rampFactor(crossing.level->constants.ring, bytes));
    fast = together(fast, seconds / lowLatencyRate);
    hops += rounds * crossing.hops * crossing.level->latency.value;
  }
  return {floorOf(crossings) + std::min(hops + full, hops * lowLatencyHop + fast), "ring"};
}

/// What a unit sends in two binary trees over `spans` units, each tree for half of the bytes and the inner units of one
/// the leaves of the other: up and down once, and down to a second child from four units on.
static double treeWire(int64_t spans, double bytes, double rounds) {
  return (spans == 2 ? 0.5 : spans == 3 ? 0.75 : 1.0) * bytes * rounds;
}

static Estimate tree(const Crossings &crossings, double bytes, double rounds) {
  double full = 0, fast = 0, hops = 0;
  for (int i = 0; i < crossings.count; ++i) {
    const Crossing &crossing = crossings.at[i];
    double seconds = crossing.innermost ? rounds * bytes / (ringRate(crossing) * treeRate)
                                        : treeWire(crossing.spans, bytes, rounds) / ringRate(crossing);
    full = together(full, seconds * rampFactor(crossing.level->constants.ring, bytes));
    fast = together(fast, seconds / lowLatencyRate);
    hops += rounds * log2Ceil(crossing.spans) * crossing.level->latency.value * (crossing.innermost ? treeHop : 1);
  }
  return {floorOf(crossings) + std::min(hops + full, hops * lowLatencyHop + fast), "tree"};
}

static bool anyReduction(const Crossings &crossings) {
  for (int i = 0; i < crossings.count; ++i)
    if (crossings.at[i].level->inNetworkReduction)
      return true;
  return false;
}

/// An all-reduce by switches that reduce and multicast where there are any, and by two trees over the other levels.
static Estimate inNetwork(const Crossings &crossings, double bytes) {
  double slowest = 0, hops = 0;
  for (int i = 0; i < crossings.count; ++i) {
    const Crossing &crossing = crossings.at[i];
    const LinkConstants &constants = crossing.level->constants;
    double seconds;
    if (crossing.level->inNetworkReduction) {
      // Each gives all it has to the switch once. Devices write their part of the result for all; adapters only
      // receive.
      double wire = crossing.innermost ? bytes * (1 + 1.0 / double(crossing.spans)) : bytes;
      seconds = wire / (crossing.rate * constants.inNetwork.efficiency) * rampFactor(constants.inNetwork, bytes);
      hops += constants.inNetworkLatency.value;
    } else {
      seconds = treeWire(crossing.spans, bytes, 2) / ringRate(crossing) * rampFactor(constants.ring, bytes);
      hops += 2 * log2Ceil(crossing.spans) * crossing.level->latency.value;
    }
    slowest = together(slowest, seconds);
  }
  return {floorOf(crossings) + hops + slowest, "in-network"};
}

static bool isDirect(const ClusterLevel &level) {
  return level.topology == TopologyKind::AllPairs || !level.extents.empty();
}

static bool anyDirect(const Crossings &crossings) {
  for (int i = 0; i < crossings.count; ++i)
    if (isDirect(*crossings.at[i].level))
      return true;
  return false;
}

/// Hops that follow each other when a level's units exchange over direct links: one to every peer; around each axis of
/// a torus that the units spread over, both ways at once.
static double directHops(const Crossing &crossing) {
  const ClusterLevel &level = *crossing.level;
  if (level.topology == TopologyKind::AllPairs)
    return 1;
  if (level.extents.empty())
    return double(crossing.spans - 1);
  double hops = 0;
  int64_t covered = 1;
  for (int64_t extent : level.extents) {
    if (covered >= crossing.spans)
      break;
    hops += std::ceil(double(std::min(extent, (crossing.spans + covered - 1) / covered)) / 2);
    covered *= extent;
  }
  return hops;
}

/// Level by level: scattered inside, over the next level each with its part, and so on; the parts of a message at
/// different levels at the same time. What software for direct links does, where one ring through all devices would
/// have many hops.
static Estimate hierarchical(const Crossings &crossings, double bytes, double rounds) {
  double slowest = 0, hops = 0;
  for (int i = 0; i < crossings.count; ++i) {
    const Crossing &crossing = crossings.at[i];
    double units = crossings.size / crossing.members;
    double wire = rounds * bytes * (units - 1) / units;
    slowest = together(slowest, wire / ringRate(crossing) * rampFactor(crossing.level->constants.ring, bytes));
    hops += rounds * directHops(crossing) * crossing.level->latency.value;
  }
  return {floorOf(crossings) + hops + slowest, "hierarchical"};
}

/// A message from each rank to each other one. `leaving(units)`: bytes of one rank that leave its unit, when the
/// group's ranks lie in so many of them. What leaves a unit shares its way out. Without a spine, what is for another
/// rail goes through the unit first.
template <typename Leaving> static Estimate exchange(const Crossings &crossings, double bytes, Leaving leaving) {
  double slowest = 0, hops = 0, forwarded = 0;
  for (int i = crossings.count; i-- > 0;) {
    const Crossing &crossing = crossings.at[i];
    const ClusterLevel &level = *crossing.level;
    double wire = crossing.members * leaving(crossings.size / crossing.members);
    if (level.topology == TopologyKind::RailOnly)
      forwarded += wire / crossing.members * (1 - 1 / crossing.members);
    double rate = crossing.rate * level.constants.allToAll.efficiency;
    if (level.topology == TopologyKind::PcieTree || level.topology == TopologyKind::RailOptimized)
      rate /= level.oversubscription;
    slowest = together(slowest, (wire + crossing.members * (i == 0 ? forwarded : 0)) / rate *
                                    rampFactor(level.constants.allToAll, bytes));
    hops += double(crossing.spans - 1) * exchangeHop * level.latency.value;
  }
  return {floorOf(crossings) + hops + slowest, "direct"};
}

static Estimate allToAll(const Crossings &crossings, double bytes) {
  return exchange(crossings, bytes, [bytes](double units) { return bytes * (units - 1) / units; });
}

static Estimate estimate(const Levels &levels, CollectiveKind kind, Bytes bytes, const GroupPlacement &placement) {
  Crossings crossings = crossingsOf(levels, placement);
  if (crossings.count == 0 || bytes.value <= 0)
    return {};
  if (kind == CollectiveKind::AllToAll)
    return allToAll(crossings, bytes.value);
  Estimate best = ring(crossings, bytes.value, kind == CollectiveKind::AllReduce ? 2 : 1);
  auto consider = [&](Estimate other) {
    if (other.seconds < best.seconds)
      best = other;
  };
  if (kind == CollectiveKind::AllReduce) // libraries broadcast along a chain, not down a tree
    consider(tree(crossings, bytes.value, 2));
  if (anyDirect(crossings))
    consider(hierarchical(crossings, bytes.value, kind == CollectiveKind::AllReduce ? 2 : 1));
  if (kind == CollectiveKind::AllReduce && anyReduction(crossings))
    consider(inNetwork(crossings, bytes.value));
  return best;
}

Seconds mlir::ppc::collectiveTime(const Cluster &cluster, CollectiveKind kind, Bytes bytes,
                                  const GroupPlacement &placement) {
  return Seconds(estimate(Levels(cluster), kind, bytes, placement).seconds);
}

Seconds mlir::ppc::collectiveTime(llvm::ArrayRef<ClusterLevel> levels, CollectiveKind kind, Bytes bytes,
                                  const GroupPlacement &placement) {
  return Seconds(estimate(Levels(levels), kind, bytes, placement).seconds);
}

Seconds mlir::ppc::tokenExchangeTime(const Cluster &cluster, Bytes tokens, int64_t copies, bool oncePerUnit,
                                     const GroupPlacement &placement) {
  if (copies <= 0)
    return Seconds(0);
  double sent = tokens.value * double(copies);
  if (!oncePerUnit)
    return collectiveTime(cluster, CollectiveKind::AllToAll, Bytes(sent), placement);
  Crossings crossings = crossingsOf(Levels(cluster), placement);
  if (crossings.count == 0 || sent <= 0)
    return Seconds(0);
  // Of `units`, `copies` draws meet units (1 - (1 - 1/units)^copies) different ones; one in `units` of those is the
  // own.
  auto leaving = [&](double units) {
    return tokens.value * (units - 1) * (1 - std::pow(1 - 1 / units, double(copies)));
  };
  return Seconds(exchange(crossings, sent, leaving).seconds);
}

llvm::StringRef mlir::ppc::collectiveAlgorithm(const Cluster &cluster, CollectiveKind kind, Bytes bytes,
                                               const GroupPlacement &placement) {
  return estimate(Levels(cluster), kind, bytes, placement).algorithm;
}

llvm::SmallVector<double, 4> mlir::ppc::linkShares(const Cluster &cluster, CollectiveKind kind, Bytes bytes,
                                                   const GroupPlacement &placement) {
  Levels levels(cluster);
  llvm::SmallVector<double, 4> shares(placement.members.size(), 0.0);
  Estimate best = estimate(levels, kind, bytes, placement);
  if (best.seconds <= 0)
    return shares;
  Crossings crossings = crossingsOf(levels, placement);
  double rounds = kind == CollectiveKind::AllReduce ? 2 : 1, units = crossings.size;
  for (size_t l = 0, i = 0; l < shares.size() && int(i) < crossings.count; ++l) {
    if (placement.spans[l] <= 1)
      continue;
    const Crossing &crossing = crossings.at[i++];
    units = crossings.size / crossing.members;
    double wire = rounds * bytes.value * (crossings.size - 1) / crossings.size, rate = ringRate(crossing);
    if (best.algorithm == "direct") {
      wire = crossing.members * bytes.value * (units - 1) / units;
      rate = crossing.rate * crossing.level->constants.allToAll.efficiency;
    } else if (best.algorithm == "hierarchical") {
      wire = rounds * bytes.value * (units - 1) / units;
    } else if (best.algorithm == "in-network" && crossing.level->inNetworkReduction) {
      wire = crossing.innermost ? bytes.value * (1 + 1.0 / double(crossing.spans)) : bytes.value;
      rate = crossing.rate * crossing.level->constants.inNetwork.efficiency;
    }
    shares[l] = std::min(1.0, wire / rate / best.seconds);
  }
  return shares;
}

/// Share of a device's bandwidth that one message to another unit of the level can use.
static double messageShare(const ClusterLevel &level) {
  switch (level.topology) {
  case TopologyKind::AllPairs:
    return level.size > 1 ? 1.0 / double(level.size - 1) : 1.0;
  case TopologyKind::Torus2D:
  case TopologyKind::Torus3D:
    return 0.5 / double(level.extents.size()); // one direction of one axis
  default:
    return usableShare(level, 2);
  }
}

/// A message whose outermost level is `crossed`; `sameRail`: to the same device of another unit.
static double messageTime(const Levels &levels, double bytes, size_t crossed, int64_t sharers, bool sameRail) {
  const ClusterLevel &level = levels[crossed];
  const LinkConstants &constants = level.constants;
  double devicesBelow = 1;
  for (size_t l = 0; l < crossed; ++l)
    devicesBelow *= double(levels[l].size);
  double share = messageShare(level);
  if (level.topology == TopologyKind::RailOptimized && !sameRail)
    share /= level.oversubscription;
  double alone = crossed == 0 ? 1 : std::max(1.0, 1 / level.adaptersPerDevice);
  double rate = level.bandwidth.value * share * constants.pointToPoint *
                std::min(alone, crossed == 0 ? 1.0 : devicesBelow / double(std::max<int64_t>(sharers, 1)));
  double seconds = bytes / rate;
  if (constants.stream.value > 0)
    seconds = std::max(seconds, std::min(bytes, constants.split.value) / constants.stream.value);
  if (level.topology == TopologyKind::RailOnly && !sameRail && crossed > 0)
    seconds += messageTime(levels, bytes, crossed - 1, sharers, true);
  return constants.floor.value + level.latency.value + seconds;
}

/// The group that holds a rank, and the rank's number in it.
static std::pair<const DeviceGroup *, int64_t> groupOf(const Cluster &cluster, int64_t rank) {
  for (const DeviceGroup &group : cluster.groups) {
    if (rank < group.count)
      return {&group, rank};
    rank -= group.count;
  }
  return {&cluster.groups.back(), cluster.groups.back().count - 1};
}

Seconds mlir::ppc::pointToPointTime(const Cluster &cluster, Bytes bytes, int64_t from, int64_t to, int64_t sharers) {
  if (from == to || bytes.value <= 0)
    return Seconds(0);
  auto [group, first] = groupOf(cluster, from);
  auto [other, second] = groupOf(cluster, to);
  Levels levels(cluster, *group);
  int64_t unit = 1, inner = 1;
  size_t crossed = 0;
  for (; crossed < group->levels.size(); ++crossed) {
    inner = unit;
    unit *= group->levels[crossed].size;
    if (group == other && first / unit == second / unit)
      break;
  }
  return Seconds(messageTime(levels, bytes.value, crossed, sharers, (second - first) % inner == 0));
}

Seconds mlir::ppc::pointToPointTime(const Cluster &cluster, Bytes bytes, int64_t stride, int64_t sharers) {
  if (stride <= 0 || bytes.value <= 0)
    return Seconds(0);
  // Some pair of such ranks lies on both sides of the boundary of every level but the outermost.
  Levels levels(cluster);
  size_t crossed = levels.size() - 1;
  while (crossed > 0 && levels[crossed].size <= 1)
    --crossed;
  int64_t inner = 1;
  for (size_t l = 0; l < crossed; ++l)
    inner *= levels[l].size;
  return Seconds(messageTime(levels, bytes.value, crossed, sharers, stride % inner == 0));
}
