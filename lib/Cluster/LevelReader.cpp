// Reads levels of cluster files: the links of a named interconnect, then keys of the file itself, then checks.
#include "LevelReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace mlir::ppc {

static constexpr llvm::StringRef topologyNames[] = {"switch",    "all-pairs", "pcie-tree", "cube-mesh",
                                                    "torus-2d",  "torus-3d",  "fat-tree",  "rail-optimized",
                                                    "rail-only", "dragonfly"};

llvm::StringRef toString(TopologyKind kind) { return topologyNames[static_cast<int>(kind)]; }

namespace {
struct InterconnectText {
  llvm::StringLiteral name, text;
};
} // namespace

static constexpr InterconnectText interconnectTexts[] = {
#include "Interconnects.inc"
};

std::vector<llvm::StringRef> interconnectNames() {
  std::vector<llvm::StringRef> names;
  for (const InterconnectText &entry : interconnectTexts)
    names.push_back(entry.name);
  return names;
}

static bool isTorus(TopologyKind kind) { return kind == TopologyKind::Torus2D || kind == TopologyKind::Torus3D; }

llvm::SmallVector<int64_t, 3> evenExtents(int64_t size, int dimensions) {
  llvm::SmallVector<int64_t, 3> extents;
  for (int left = dimensions; left > 1; --left) {
    int64_t root = std::max<int64_t>(int64_t(std::pow(double(size), 1.0 / left) + 1e-9), 1);
    while (size % root != 0)
      --root;
    extents.push_back(root);
    size /= root;
  }
  extents.push_back(size);
  return extents;
}

/// Constants of links without measurements: rates that a well-tuned library attains on most links.
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

static void readRate(YamlReader &reader, LinkRate &rate) {
  rate.efficiency = reader.number("efficiency", 0.01, 1, rate.efficiency);
  rate.ramp = Bytes(reader.number("ramp", 0, 1e12, rate.ramp.value));
}

static void readConstants(YamlReader &level, LinkConstants &constants) {
  constants.floor = Seconds(level.number("floor", 0, 1, constants.floor.value));
  if (std::optional<YamlReader> reader = level.mapping("ring")) {
    readRate(*reader, constants.ring);
    reader->finish();
  }
  if (std::optional<YamlReader> reader = level.mapping("all_to_all")) {
    readRate(*reader, constants.allToAll);
    reader->finish();
  }
  if (std::optional<YamlReader> reader = level.mapping("in_network")) {
    readRate(*reader, constants.inNetwork);
    constants.inNetworkLatency = Seconds(reader->number("latency", 0, 1, constants.inNetworkLatency.value));
    reader->finish();
  }
  if (std::optional<YamlReader> reader = level.mapping("point_to_point")) {
    constants.pointToPoint = reader->number("efficiency", 0.01, 1, constants.pointToPoint);
    constants.stream = BytesPerSecond(reader->number("stream", 0, 1e15, constants.stream.value));
    constants.split = Bytes(reader->number("split", 0, 1e15, constants.split.value));
    reader->finish();
  }
}

/// Reads the keys that an interconnect and a level have in common. Values in `level` are the fall-back if `known`.
static void readLinks(YamlReader &reader, ClusterLevel &level, bool known) {
  std::optional<size_t> topology;
  std::optional<double> bandwidth, latency;
  if (known) {
    topology = static_cast<size_t>(level.topology);
    bandwidth = level.bandwidth.value;
    latency = level.latency.value;
  }
  level.topology = static_cast<TopologyKind>(reader.choice("topology", topologyNames, topology));
  level.bandwidth = BytesPerSecond(reader.positive("bandwidth", bandwidth));
  level.latency = Seconds(reader.number("latency", 0, 1, latency));
  level.oversubscription = reader.number("oversubscription", 1, 1000, level.oversubscription);
  level.adaptersPerDevice = reader.number("nics_per_device", 1e-3, 64, level.adaptersPerDevice);
  level.inNetworkReduction = reader.boolean("in_network_reduction", level.inNetworkReduction);
  readConstants(reader, level.constants);
}

/// Fills in the interconnect that `kind` names.
static void readKind(YamlReader &reader, ClusterLevel &level) {
  level.kind = reader.string("kind");
  for (const InterconnectText &entry : interconnectTexts) {
    if (entry.name != level.kind)
      continue;
    YamlReader links = llvm::cantFail(YamlReader::fromText(entry.name, entry.text));
    readLinks(links, level, false);
    links.finish();
    return llvm::cantFail(links.takeError());
  }
  reader.fail("kind",
              "unknown interconnect \"" + level.kind + "\"; possible: " + llvm::join(interconnectNames(), ", "));
}

static void readExtents(YamlReader &reader, ClusterLevel &level) {
  int dimensions = level.topology == TopologyKind::Torus2D ? 2 : 3;
  if (!isTorus(level.topology)) {
    if (reader.has("extents"))
      reader.fail("extents", "only a torus-2d or torus-3d has extents, not a " + toString(level.topology));
    return;
  }
  std::vector<double> given = reader.numbers("extents");
  if (reader.failed())
    return;
  if (!reader.has("extents")) {
    level.extents = evenExtents(level.size, dimensions);
    return;
  }
  double product = 1;
  bool whole = true;
  for (double extent : given) {
    whole &= extent >= 1 && extent <= double(maximumDevices) && extent == std::floor(extent);
    product *= extent;
  }
  if (!whole || int(given.size()) != dimensions || product != double(level.size))
    return reader.fail("extents", llvm::Twine("expected ") + llvm::Twine(dimensions) +
                                      " integers that multiply to the level's size, " + llvm::Twine(level.size));
  for (double extent : given)
    level.extents.push_back(int64_t(extent));
}

static void checkLevel(YamlReader &reader, const ClusterLevel &level, bool innermost) {
  TopologyKind topology = level.topology;
  if (level.size > maximumDevices)
    reader.fail("size", "expected at most " + llvm::Twine(maximumDevices));
  if (topology == TopologyKind::CubeMesh && level.size > 8)
    reader.fail("size", "a cube-mesh joins at most 8 devices");
  if ((topology == TopologyKind::CubeMesh || topology == TopologyKind::PcieTree) && !innermost)
    reader.fail("topology", "a " + toString(topology) + " can only be the innermost level");
  if (level.inNetworkReduction && (topology == TopologyKind::AllPairs || topology == TopologyKind::PcieTree ||
                                   topology == TopologyKind::CubeMesh || isTorus(topology)))
    reader.fail("in_network_reduction",
                "links of topology " + toString(topology) + " have no switch that could reduce");
  if (innermost && level.adaptersPerDevice != 1)
    reader.fail("nics_per_device", "the innermost level has no network adapters");
}

ClusterLevel readLevel(YamlReader &reader, bool innermost, std::optional<int64_t> size) {
  ClusterLevel level;
  level.constants = defaultConstants(innermost);
  bool known = reader.has("kind");
  if (known)
    readKind(reader, level);
  if (!reader.lacksAtMost())
    return level;
  level.name = reader.string("name", known ? std::optional<std::string>(level.kind) : std::nullopt);
  level.size = reader.integer("size", 1, size);
  readLinks(reader, level, known);
  readExtents(reader, level);
  reader.string("kind", ""); // so that it counts as known where it is absent
  reader.finish();
  if (size && level.size != *size)
    reader.fail("size", "expected the number of groups, " + llvm::Twine(*size));
  checkLevel(reader, level, innermost);
  return level;
}

std::vector<ClusterLevel> readLevels(YamlReader &reader) {
  std::vector<ClusterLevel> levels;
  int64_t product = 1;
  std::vector<YamlReader> entries = reader.mappings("levels");
  std::string expected = "1 to " + std::to_string(maximumLevels) + " levels, from the inside out";
  if (!reader.has("levels"))
    reader.missing("levels", expected);
  else if (entries.empty() || entries.size() > maximumLevels)
    reader.fail("levels", "expected " + expected);
  for (YamlReader &entry : entries) {
    levels.push_back(readLevel(entry, levels.empty()));
    if (!reader.lacksAtMost())
      break;
    product *= levels.back().size;
    if (product > maximumDevices)
      return entry.fail("size", "the sizes multiply to more than " + llvm::Twine(maximumDevices) + " devices"), levels;
    for (size_t i = 0; i + 1 < levels.size(); ++i)
      if (levels[i].name == levels.back().name)
        entry.fail("name", "two levels are called \"" + llvm::Twine(levels[i].name) + "\"");
  }
  return levels;
}

} // namespace mlir::ppc
