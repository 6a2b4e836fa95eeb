// Clusters by name, by file, and parts of them.
#include "ppc/Cluster/Cluster.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

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

int64_t Cluster::deviceCount() const {
  int64_t count = 0;
  for (const DeviceGroup &group : groups)
    count += group.count;
  return count;
}

llvm::Expected<Cluster> mlir::ppc::readClusterFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return makeError(path + ": error: " + buffer.getError().message());
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

llvm::Expected<Cluster> mlir::ppc::findCluster(llvm::StringRef spelling) {
  auto [name, count] = spelling.rsplit(':');
  for (const PresetText &preset : presetTexts) {
    if (preset.name != name)
      continue;
    llvm::Expected<Cluster> cluster = parseCluster(preset.name, preset.text);
    if (!cluster || spelling == name)
      return cluster;
    int64_t units = 0;
    if (count.getAsInteger(10, units) || units < 1 || units > (1 << 20))
      return makeError("cluster '" + spelling + "': expected a count of nodes from 1 to 1048576 after the colon, found '" + count + "'");
    DeviceGroup &group = cluster->groups.back();
    ClusterLevel &outermost = group.levels.back();
    group.count = group.count / outermost.size * units;
    resize(outermost, units);
    return cluster;
  }
  if (spelling.ends_with(".yaml") || spelling.ends_with(".yml") || llvm::sys::fs::exists(spelling))
    return readClusterFile(spelling);
  std::vector<llvm::StringRef> names;
  for (const PresetText &preset : presetTexts)
    names.push_back(preset.name);
  return makeError("unknown cluster '" + name + "'; expected a .yaml file or one of " + llvm::join(names, ", "));
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
    // The fewest units of this level that hold what is left; as many in each as divides, or all that fit.
    int64_t units = (devices + level.size - 1) / level.size;
    resize(level, devices % units == 0 ? devices / units : level.size);
    devices = units;
  }
}

llvm::Expected<Cluster> mlir::ppc::restrictCluster(const Cluster &cluster, int64_t devices) {
  if (devices < 1 || devices > cluster.deviceCount())
    return makeError("cluster '" + cluster.name + "' holds " + llvm::Twine(cluster.deviceCount()) + " devices; expected 1 to that many, found " +
                     llvm::Twine(devices));
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
