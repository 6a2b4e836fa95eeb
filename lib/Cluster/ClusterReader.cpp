// Cluster files: YAML to Cluster, with the possible values in every error.
#include "ppc/Cluster/Cluster.h"
#include "ppc/Support/YamlReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir::ppc;

constexpr int64_t maximumDevices = int64_t(1) << 24;
constexpr size_t maximumLevels = 6;

static constexpr llvm::StringRef topologyNames[] = {"switch",         "all-pairs", "pcie-tree", "cube-mesh", "torus-2d", "torus-3d", "fat-tree",
                                                    "rail-optimized", "rail-only", "dragonfly"};

llvm::StringRef mlir::ppc::toString(TopologyKind kind) { return topologyNames[static_cast<int>(kind)]; }

static bool isTorus(TopologyKind kind) { return kind == TopologyKind::Torus2D || kind == TopologyKind::Torus3D; }

/// Extents of a torus that multiply to `size` and are as even as its divisors allow.
static llvm::SmallVector<int64_t, 3> evenExtents(int64_t size, int dimensions) {
  llvm::SmallVector<int64_t, 3> extents;
  for (int left = dimensions; left > 1; --left) {
    int64_t root = std::max<int64_t>(std::llround(std::floor(std::pow(double(size), 1.0 / left) + 1e-9)), 1);
    while (size % root != 0)
      --root;
    extents.push_back(root);
    size /= root;
  }
  extents.push_back(size);
  return extents;
}

/// For links that nothing is measured of: what a well-tuned library attains on most.
static LinkConstants defaultConstants(bool innermost) {
  LinkConstants constants;
  constants.floor = Seconds(innermost ? 15e-6 : 25e-6);
  constants.ring = innermost ? LinkRate{0.8, Bytes(8e6)} : LinkRate{0.9, Bytes(30e6)};
  constants.allToAll = innermost ? LinkRate{0.7, Bytes(15e6)} : LinkRate{0.75, Bytes(30e6)};
  constants.inNetwork = innermost ? LinkRate{0.6, Bytes(30e6)} : LinkRate{0.9, Bytes(30e6)};
  constants.inNetworkLatency = Seconds(10e-6);
  constants.pointToPoint = innermost ? 0.65 : 0.75;
  return constants;
}

static void readRate(YamlReader &level, llvm::StringRef key, LinkRate &rate) {
  if (std::optional<YamlReader> reader = level.mapping(key)) {
    rate.efficiency = reader->number("efficiency", 0.01, 1, rate.efficiency);
    rate.ramp = Bytes(reader->number("ramp", 0, 1e12, rate.ramp.value));
    reader->finish();
  }
}

static LinkConstants readConstants(YamlReader &level, bool innermost) {
  LinkConstants constants = defaultConstants(innermost);
  constants.floor = Seconds(level.number("floor", 0, 1, constants.floor.value));
  readRate(level, "ring", constants.ring);
  readRate(level, "all_to_all", constants.allToAll);
  if (std::optional<YamlReader> reader = level.mapping("in_network")) {
    constants.inNetwork.efficiency = reader->number("efficiency", 0.01, 1, constants.inNetwork.efficiency);
    constants.inNetwork.ramp = Bytes(reader->number("ramp", 0, 1e12, constants.inNetwork.ramp.value));
    constants.inNetworkLatency = Seconds(reader->number("latency", 0, 1, constants.inNetworkLatency.value));
    reader->finish();
  }
  if (std::optional<YamlReader> reader = level.mapping("point_to_point")) {
    constants.pointToPoint = reader->number("efficiency", 0.01, 1, constants.pointToPoint);
    constants.stream = BytesPerSecond(reader->number("stream", 0, 1e15, 0.0));
    constants.split = Bytes(reader->number("split", 0, 1e15, 0.0));
    reader->finish();
  }
  return constants;
}

static void readExtents(YamlReader &reader, ClusterLevel &level) {
  int dimensions = level.topology == TopologyKind::Torus2D ? 2 : 3;
  if (!isTorus(level.topology)) {
    if (reader.has("extents"))
      reader.fail("extents", "only a torus-2d or torus-3d has extents, not a " + toString(level.topology));
    return;
  }
  if (!reader.has("extents")) {
    level.extents = evenExtents(level.size, dimensions);
    return;
  }
  int64_t product = 1;
  for (double extent : reader.numbers("extents")) {
    if (extent < 1 || extent > double(maximumDevices) || extent != std::floor(extent))
      return reader.fail("extents", "expected integers >= 1");
    level.extents.push_back(int64_t(extent));
    product = std::min<int64_t>(product * int64_t(extent), maximumDevices + 1);
  }
  if (!reader.failed() && (int(level.extents.size()) != dimensions || product != level.size))
    reader.fail("extents", llvm::Twine("expected ") + llvm::Twine(dimensions) + " numbers whose product is the level's size " +
                               llvm::Twine(level.size));
}

static ClusterLevel readLevel(YamlReader &reader, bool innermost, std::optional<int64_t> size = std::nullopt) {
  ClusterLevel level;
  level.name = reader.string("name");
  level.size = reader.integer("size", 1, size);
  if (level.size > maximumDevices)
    reader.fail("size", "expected at most " + llvm::Twine(maximumDevices));
  level.topology = static_cast<TopologyKind>(reader.choice("topology", topologyNames));
  level.bandwidth = BytesPerSecond(reader.positive("bandwidth"));
  level.latency = Seconds(reader.number("latency", 0, 1));
  level.oversubscription = reader.number("oversubscription", 1, 1000, 1.0);
  level.adaptersPerDevice = reader.number("nics_per_device", 1e-3, 64, 1.0);
  level.inNetworkReduction = reader.boolean("in_network_reduction", false);
  readExtents(reader, level);
  level.constants = readConstants(reader, innermost);
  reader.finish();
  if (size && level.size != *size)
    reader.fail("size", "expected the number of groups, " + llvm::Twine(*size));
  if (level.topology == TopologyKind::CubeMesh && level.size > 8)
    reader.fail("size", "a cube-mesh joins at most 8 devices");
  if ((level.topology == TopologyKind::CubeMesh || level.topology == TopologyKind::PcieTree) && !innermost)
    reader.fail("topology", "a " + toString(level.topology) + " can only be the innermost level");
  bool switched = level.topology == TopologyKind::Switch || level.topology == TopologyKind::FatTree ||
                  level.topology == TopologyKind::RailOptimized || level.topology == TopologyKind::RailOnly ||
                  level.topology == TopologyKind::Dragonfly;
  if (level.inNetworkReduction && !switched)
    reader.fail("in_network_reduction", "a " + toString(level.topology) + " has no switch that could reduce");
  if (innermost && reader.has("nics_per_device"))
    reader.fail("nics_per_device", "the innermost level has no network adapters");
  return level;
}

static std::vector<ClusterLevel> readLevels(YamlReader &reader) {
  std::vector<ClusterLevel> levels;
  int64_t product = 1;
  std::vector<YamlReader> entries = reader.mappings("levels");
  if (entries.empty() || entries.size() > maximumLevels)
    reader.fail("levels", "expected 1 to " + llvm::Twine(maximumLevels) + " levels, from the inside out");
  for (YamlReader &entry : entries) {
    levels.push_back(readLevel(entry, levels.empty()));
    product *= levels.back().size;
    if (product > maximumDevices)
      entry.fail("size", "the sizes multiply to more than " + llvm::Twine(maximumDevices) + " devices");
    if (reader.failed())
      break;
    for (size_t i = 0; i + 1 < levels.size(); ++i)
      if (levels[i].name == levels.back().name)
        entry.fail("name", "two levels are called \"" + llvm::Twine(levels[i].name) + "\"");
  }
  return levels;
}

static DeviceGroup readGroup(YamlReader &reader) {
  DeviceGroup group;
  if (std::optional<YamlReader> device = reader.mapping("device"))
    group.device = readDevice(*device);
  else
    reader.fail("device", "missing; expected { kind: NAME } or every number");
  group.levels = readLevels(reader);
  int64_t product = 1;
  for (const ClusterLevel &level : group.levels)
    product = std::min(product * level.size, maximumDevices + 1);
  group.count = reader.integer("count", 1, product);
  if (group.count > product)
    reader.fail("count", "the levels hold " + llvm::Twine(product) + " devices at most");
  return group;
}

static HostMemory readHost(YamlReader &reader) {
  HostMemory host;
  host.memory = Bytes(reader.number("memory", 0, 1e18, 0.0));
  host.bandwidth = BytesPerSecond(reader.number("bandwidth", 0, 1e15, 0.0));
  host.nvmeBandwidth = BytesPerSecond(reader.number("nvme_bandwidth", 0, 1e15, 0.0));
  reader.finish();
  return host;
}

llvm::Expected<Cluster> mlir::ppc::parseCluster(llvm::StringRef name, llvm::StringRef text) {
  llvm::Expected<YamlReader> reader = YamlReader::fromText(name, text);
  if (!reader)
    return reader.takeError();
  Cluster cluster;
  cluster.name = reader->string("name");
  cluster.summary = reader->string("summary", "");
  std::vector<YamlReader> groups = reader->mappings("groups");
  if (groups.empty()) {
    cluster.groups.push_back(readGroup(*reader));
  } else {
    for (llvm::StringRef key : {"device", "levels"})
      if (reader->has(key))
        reader->fail(key, "each of the `groups` has its own");
    for (YamlReader &group : groups) {
      cluster.groups.push_back(readGroup(group));
      group.finish();
    }
    if (cluster.deviceCount() > maximumDevices)
      reader->fail("groups", "more than " + llvm::Twine(maximumDevices) + " devices");
  }
  std::optional<YamlReader> between = reader->mapping("between");
  if (between && groups.size() > 1)
    cluster.between = readLevel(*between, false, int64_t(groups.size()));
  else if (between)
    between->failHere("`between` joins several `groups`, and there is one");
  else if (groups.size() > 1)
    reader->fail("between", "missing; expected the level that joins the groups");
  if (std::optional<YamlReader> host = reader->mapping("host"))
    cluster.host = readHost(*host);
  reader->finish();
  if (llvm::Error error = reader->takeError())
    return error;
  return cluster;
}
