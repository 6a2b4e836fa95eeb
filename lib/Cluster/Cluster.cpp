// Clusters by name, by file, and parts of them.
#include "ppc/Cluster/Cluster.h"
#include "ppc/Support/InputFile.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/Spelling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace mlir::ppc;

namespace {
struct PresetText {
  llvm::StringLiteral name, text;
};
} // namespace

static constexpr PresetText presetTexts[] = {
#include "ClusterPresets.inc"
};

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

BytesPerSecond Cluster::hostBandwidth() const {
  // Share of servers' memory bandwidth that streams attain.
  constexpr double memoryEfficiency = 0.8;
  BytesPerSecond each = host.bandwidth / double(host.devicesPerLink);
  if (host.memoryBandwidth.value > 0)
    each = std::min(each, memoryEfficiency * host.memoryBandwidth / double(unitSize()));
  return each;
}

int64_t Cluster::deviceCount() const {
  int64_t count = 0;
  for (const DeviceGroup &group : groups)
    count += group.count;
  return count;
}

llvm::Expected<Cluster> mlir::ppc::readClusterFile(llvm::StringRef path) {
  auto buffer = readInputFile(path, limits::yamlBytes);
  if (!buffer)
    return makeError(path + ": error: " + llvm::toString(buffer.takeError()));
  return parseCluster(path, (*buffer)->getBuffer());
}

/// Widens or narrows a torus that changed its size.
static void resize(ClusterLevel &level, int64_t size) {
  level.size = size;
  if (level.extents.empty())
    return;
  for (size_t i = 0; i + 1 < level.extents.size(); ++i) { // keep the inner extents that still fit
    while (size % level.extents[i] != 0)
      --level.extents[i];
    size /= level.extents[i];
  }
  level.extents.back() = size;
}

/// Fills in the facts of this machine that need no measurement: its cores, and their shares of its memory.
static void describeThisMachine(DeviceGroup &group) {
  int64_t cores = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  group.count = cores;
  group.levels.back().size = cores;
  int64_t pages = sysconf(_SC_PHYS_PAGES), pageBytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && pageBytes > 0)
    group.device.memory = Bytes(double(pages) * double(pageBytes) / double(cores));
}

/// Another number of ranks on the cores of one machine. More of them take turns: each gets its share of everything.
/// Fewer multiply matrices on several cores each, as libppcrt does, and do everything else on one.
static void shareCores(DeviceGroup &group, int64_t ranks) {
  Device &device = group.device;
  ClusterLevel &level = group.levels.back();
  double cores = double(group.count), share = std::min(1.0, cores / double(ranks));
  double threads = std::max(1.0, std::floor(cores / double(ranks)));
  device.memory = device.memory * (cores / double(ranks));
  device.memoryBandwidth = device.memoryBandwidth * share;
  for (FlopsPerSecond &peak : device.peak)
    peak = peak * (share * threads);
  level.bandwidth = level.bandwidth * share;
  for (Seconds *time : {&device.launchFloor, &device.productFloor, &device.splitFloor, &device.collectiveMeeting,
                        &level.latency, &level.constants.floor})
    *time = *time / share;
  group.count = ranks;
  resize(level, ranks);
}

/// Makes `units` of the outermost level of its last group.
static llvm::Error setCount(Cluster &cluster, llvm::StringRef spelling, llvm::StringRef count) {
  DeviceGroup &group = cluster.groups.back();
  ClusterLevel &outermost = group.levels.back();
  int64_t units = 0, inner = 1;
  for (const ClusterLevel &level : llvm::ArrayRef(group.levels).drop_back())
    inner *= level.size;
  if (hasLeadingZero(count) || count.getAsInteger(10, units) || units < 1 || units > (int64_t(1) << 24) / inner)
    return makeError("cluster '" + spelling + "': expected a count of nodes from 1 to " +
                     llvm::Twine((int64_t(1) << 24) / inner) + " after the colon, found '" + count + "'");
  group.count = inner * units;
  resize(outermost, units);
  return llvm::Error::success();
}

static llvm::Expected<Cluster> makePreset(const PresetText &preset) {
  bool local = preset.name == "local";
  if (const char *path = local ? std::getenv("PPC_LOCAL_CLUSTER") : nullptr)
    return readClusterFile(path);
  llvm::Expected<Cluster> cluster = parseCluster(preset.name, preset.text);
  if (cluster && local) {
    describeThisMachine(cluster->groups.back());
    cluster->unmeasured = true;
  }
  return cluster;
}

llvm::Expected<Cluster> mlir::ppc::findCluster(llvm::StringRef spelling) {
  auto [name, count] = spelling.rsplit(':');
  for (const PresetText &preset : presetTexts) {
    if (preset.name != name)
      continue;
    llvm::Expected<Cluster> cluster = makePreset(preset);
    if (cluster && spelling != name && preset.name == "local") {
      int64_t ranks = 0;
      if (hasLeadingZero(count) || count.getAsInteger(10, ranks) || ranks < 1 || ranks > 1 << 16)
        return makeError("cluster '" + spelling +
                         "': expected a number of ranks from 1 to 65536 after the colon, found '" + count + "'");
      return clusterOfRanks(*cluster, ranks);
    }
    if (cluster && spelling != name)
      if (llvm::Error error = setCount(*cluster, spelling, count))
        return error;
    return cluster;
  }
  if (spelling.ends_with(".yaml") || spelling.ends_with(".yml") || llvm::sys::fs::exists(spelling))
    return readClusterFile(spelling);
  std::vector<llvm::StringRef> names;
  for (const PresetText &preset : presetTexts)
    names.push_back(preset.name);
  return makeError("unknown cluster '" + name + "'; expected a .yaml file or one of " + llvm::join(names, ", ") +
                   didYouMean(name, std::vector<std::string>(names.begin(), names.end())));
}

std::vector<ClusterPreset> mlir::ppc::clusterPresets() {
  static const std::vector<std::string> summaries = [] {
    std::vector<std::string> result;
    for (const PresetText &preset : presetTexts)
      result.push_back(llvm::cantFail(parseCluster(preset.name, preset.text)).summary);
    return result;
  }();
  std::vector<ClusterPreset> result;
  for (size_t i = 0; i < summaries.size(); ++i)
    result.push_back({presetTexts[i].name, summaries[i]});
  return result;
}

/// Shrinks the levels to `devices`; returns nothing when they already hold no more.
static void restrictLevels(DeviceGroup &group, int64_t devices) {
  group.count = devices;
  for (ClusterLevel &level : group.levels) {
    // Smallest number of units of this level that hold the remaining devices; equally many in each if that divides, or
    // all that fit.
    int64_t units = (devices + level.size - 1) / level.size, before = level.size;
    resize(level, devices % units == 0 ? devices / units : level.size);
    if (level.topology == TopologyKind::AllPairs && level.size > 1 &&
        level.size < before) // links to the others stay unused
      level.bandwidth = level.bandwidth * (double(level.size - 1) / double(before - 1));
    devices = units;
  }
}

llvm::Expected<Cluster> mlir::ppc::restrictCluster(const Cluster &cluster, int64_t devices) {
  if (devices < 1 || devices > cluster.deviceCount())
    return makeError("cluster '" + cluster.name + "' holds " + llvm::Twine(cluster.deviceCount()) +
                     " devices; expected 1 to that many, found " + llvm::Twine(devices));
  Cluster result = cluster;
  result.groups.clear();
  for (const DeviceGroup &group : cluster.groups) {
    if (devices == 0)
      break;
    result.groups.push_back(group);
    if (devices < group.count)
      restrictLevels(result.groups.back(), devices);
    devices -= std::min(devices, group.count);
  }
  if (result.groups.size() == 1)
    result.between.reset();
  else
    result.between->size = result.groups.size();
  return result;
}

llvm::Expected<Cluster> mlir::ppc::clusterOfRanks(const Cluster &cluster, int64_t ranks) {
  if (cluster.groups.size() > 1 || cluster.levels().size() > 1)
    return restrictCluster(cluster, ranks);
  if (ranks < 1)
    return makeError("cluster '" + cluster.name + "': expected at least one rank, found " + llvm::Twine(ranks));
  Cluster result = cluster;
  if (ranks != cluster.deviceCount())
    shareCores(result.groups.front(), ranks);
  return result;
}

std::vector<ClusterLevel> mlir::ppc::joinedLevels(const Cluster &cluster) {
  std::vector<ClusterLevel> levels = cluster.groups.front().levels;
  for (const DeviceGroup &group : llvm::ArrayRef(cluster.groups).drop_front())
    for (size_t l = 0; l < std::min(levels.size(), group.levels.size()); ++l)
      if (group.levels[l].bandwidth < levels[l].bandwidth) {
        int64_t size = levels[l].size;
        levels[l] = group.levels[l];
        resize(levels[l], size);
      }
  if (cluster.between)
    levels.push_back(*cluster.between);
  return levels;
}
