// Cluster files: YAML to Cluster, with the possible values in every error.
#include "LevelReader.h"

using namespace mlir::ppc;

static DeviceGroup readGroup(YamlReader &reader) {
  DeviceGroup group;
  if (std::optional<YamlReader> device = reader.mapping("device"))
    group.device = readDevice(*device);
  else
    reader.missing("device", "{ kind: NAME } or every number");
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
  host.devicesPerLink = reader.integer("devices_per_link", 1, 1);
  host.memoryBandwidth = BytesPerSecond(reader.number("memory_bandwidth", 0, 1e18, 0.0));
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
    reader->missing("between", "the level that joins the groups");
  if (std::optional<YamlReader> host = reader->mapping("host"))
    cluster.host = readHost(*host);
  cluster.stateExchangeDelay = Seconds(reader->number("state_exchange_delay", 0, 1, 0.0));
  reader->finish();
  if (llvm::Error error = reader->takeError())
    return error;
  return cluster;
}
