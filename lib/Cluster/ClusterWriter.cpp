// Cluster to YAML that parseCluster reads back: every number is written, so that a file does not change its meaning
// with the built-in interconnects.
#include "ppc/Cluster/Cluster.h"

#include "llvm/Support/YAMLParser.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace mlir::ppc;

/// The fewest digits that read back as the same number.
static std::string number(double value) {
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}

static std::string quoted(llvm::StringRef text) { return '"' + llvm::yaml::escape(text) + '"'; }

static std::string rate(const LinkRate &rate) {
  return "{ efficiency: " + number(rate.efficiency) + ", ramp: " + number(rate.ramp.value);
}

static std::string triple(const std::array<double, 3> &values) {
  return "[" + number(values[0]) + ", " + number(values[1]) + ", " + number(values[2]) + "]";
}

static std::string triple(const std::array<Seconds, 3> &values) {
  return triple(std::array<double, 3>{values[0].value, values[1].value, values[2].value});
}

static void write(llvm::raw_ostream &os, const Device &device, llvm::StringRef indent) {
  static constexpr llvm::StringRef kernels[] = {"flash1", "flash2", "flash3", "cudnn", "flash1-triton"};
  os << indent << "name: " << quoted(device.name) << "\n"
     << indent << "architecture: " << quoted(device.architecture) << "\n"
     << indent << "measured: " << (device.measured ? "true" : "false") << "\n";
  os << indent << "memory: " << number(device.memory.value) << "\n";
  os << indent << "memory_bandwidth: " << number(device.memoryBandwidth.value) << "\n";
  os << indent << "memory_efficiency: " << number(device.memoryEfficiency) << "\n";
  os << indent << "multiprocessors: " << device.multiprocessors << "\n";
  os << indent << "launch_floor: " << number(device.launchFloor.value) << "\n";
  os << indent << "product_floor: " << number(device.productFloor.value) << "\n";
  os << indent << "split_floor: " << number(device.splitFloor.value) << "\n";
  os << indent << "tile_fill: " << number(device.tileFill.value) << "\n";
  os << indent << "exposed_stores: " << number(device.exposedStores) << "\n";
  os << indent << "elementwise_share: " << number(device.elementwiseShare) << "\n";
  os << indent << "collective_meeting: " << number(device.collectiveMeeting.value) << "\n";
  os << indent << "collective_share: " << number(device.collectiveShare) << "\n";
  os << indent << "host_issue_forward: " << number(device.hostIssueForward.value) << "\n";
  os << indent << "host_issue_backward: " << number(device.hostIssueBackward.value) << "\n";
  os << indent << "host_wait: " << number(device.hostWait.value) << "\n";
  os << indent << "communication_share: " << number(device.communicationShare) << "\n";
  os << indent << "communication_slowdown: " << number(device.communicationSlowdown) << "\n";
  os << indent << "framework_memory: " << number(device.frameworkMemory.value) << "\n" << indent << "peak:\n";
  for (int p = 0; p < precisionCount; ++p)
    os << indent << "  " << toString(Precision(p)) << ": " << number(device.peak[p].value) << "\n";
  os << indent << "products:\n";
  for (int p = 0; p < precisionCount; ++p)
    os << indent << "  " << toString(Precision(p)) << ": { tile_rate: " << number(device.products[p].tileRate)
       << ", sustained: " << number(device.products[p].sustained) << ", burst: " << number(device.products[p].burst)
       << " }\n";
  os << indent << "attention:\n";
  for (int k = 0; k < fusedAttentionCount; ++k) {
    const AttentionConstants &constants = device.attention[k];
    if (constants.forward[0] > 0)
      os << indent << "  " << kernels[k] << ": { forward: " << triple(constants.forward)
         << ", backward: " << triple(constants.backward) << ", forward_block: " << triple(constants.forwardBlock)
         << ", backward_block: " << triple(constants.backwardBlock) << " }\n";
  }
}

/// `first` starts the first line, `rest` the others.
static void write(llvm::raw_ostream &os, const ClusterLevel &level, bool innermost, llvm::StringRef first,
                  llvm::StringRef rest) {
  const LinkConstants &constants = level.constants;
  os << first << "name: " << quoted(level.name) << "\n";
  if (!level.kind.empty())
    os << rest << "kind: " << level.kind << "\n";
  os << rest << "size: " << level.size << "\n" << rest << "topology: " << toString(level.topology) << "\n";
  if (!level.extents.empty()) {
    os << rest << "extents: [";
    for (size_t i = 0; i < level.extents.size(); ++i)
      os << (i ? ", " : "") << level.extents[i];
    os << "]\n";
  }
  os << rest << "bandwidth: " << number(level.bandwidth.value) << "\n"
     << rest << "latency: " << number(level.latency.value) << "\n";
  os << rest << "oversubscription: " << number(level.oversubscription) << "\n";
  if (!innermost)
    os << rest << "nics_per_device: " << number(level.adaptersPerDevice) << "\n";
  os << rest << "in_network_reduction: " << (level.inNetworkReduction ? "true" : "false") << "\n";
  os << rest << "floor: " << number(constants.floor.value) << "\n";
  os << rest << "ring: " << rate(constants.ring) << " }\n"
     << rest << "all_to_all: " << rate(constants.allToAll) << " }\n";
  os << rest << "in_network: " << rate(constants.inNetwork) << ", latency: " << number(constants.inNetworkLatency.value)
     << " }\n";
  os << rest << "point_to_point: { efficiency: " << number(constants.pointToPoint)
     << ", stream: " << number(constants.stream.value) << ", split: " << number(constants.split.value) << " }\n";
}

static void write(llvm::raw_ostream &os, const DeviceGroup &group, llvm::StringRef first, llvm::StringRef rest) {
  os << first << "device:\n";
  write(os, group.device, (rest + "  ").str());
  os << rest << "count: " << group.count << "\n" << rest << "levels:\n";
  bool innermost = true;
  for (const ClusterLevel &level : group.levels) {
    write(os, level, innermost, (rest + "  - ").str(), (rest + "    ").str());
    innermost = false;
  }
}

std::string mlir::ppc::writeCluster(const Cluster &cluster) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "name: " << quoted(cluster.name) << "\n";
  if (!cluster.summary.empty())
    os << "summary: " << quoted(cluster.summary) << "\n";
  if (cluster.groups.size() == 1) {
    write(os, cluster.groups.front(), "", "");
  } else {
    os << "groups:\n";
    for (const DeviceGroup &group : cluster.groups)
      write(os, group, "  - ", "    ");
    os << "between:\n";
    write(os, *cluster.between, false, "  ", "  ");
  }
  os << "host: { memory: " << number(cluster.host.memory.value)
     << ", bandwidth: " << number(cluster.host.bandwidth.value) << ", devices_per_link: " << cluster.host.devicesPerLink
     << ", memory_bandwidth: " << number(cluster.host.memoryBandwidth.value)
     << ", nvme_bandwidth: " << number(cluster.host.nvmeBandwidth.value) << " }\n";
  if (cluster.stateExchangeDelay.value > 0)
    os << "state_exchange_delay: " << number(cluster.stateExchangeDelay.value) << "\n";
  return text;
}
