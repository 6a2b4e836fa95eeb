// Random clusters for property tests: every topology, one to three levels, outer levels slower than inner ones.
#ifndef PPC_TEST_UNIT_CLUSTER_RANDOMCLUSTERS_H
#define PPC_TEST_UNIT_CLUSTER_RANDOMCLUSTERS_H

#include "ppc/Cluster/Cluster.h"

#include <random>

namespace mlir::ppc {

inline int64_t randomInteger(std::mt19937 &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}
inline double randomNumber(std::mt19937 &random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// A level with `slower` times less bandwidth and more latency than one that is not.
inline ClusterLevel randomLevel(std::mt19937 &random, TopologyKind topology, int64_t size, double slower) {
  ClusterLevel level;
  level.name = "level" + std::to_string(slower);
  level.size = size;
  level.topology = topology;
  level.bandwidth = BytesPerSecond(randomNumber(random, 100e9, 900e9) / slower);
  level.latency = Seconds(randomNumber(random, 1e-6, 2e-6) * slower);
  level.constants.floor = Seconds(randomNumber(random, 5e-6, 10e-6) * slower);
  level.constants.ring = {randomNumber(random, 0.7, 0.9), Bytes(randomNumber(random, 0, 10e6) * slower)};
  level.constants.allToAll = {randomNumber(random, 0.6, 0.8), Bytes(randomNumber(random, 0, 10e6) * slower)};
  level.constants.inNetwork = {randomNumber(random, 0.6, 0.8), Bytes(randomNumber(random, 0, 50e6) * slower)};
  level.constants.inNetworkLatency = Seconds(randomNumber(random, 5e-6, 20e-6));
  level.constants.pointToPoint = randomNumber(random, 0.6, 0.8);
  if (topology == TopologyKind::Torus2D || topology == TopologyKind::Torus3D) {
    level.extents.assign(topology == TopologyKind::Torus2D ? 1 : 2, 1);
    level.extents.push_back(size);
    for (size_t i = 0; i + 1 < level.extents.size(); ++i)
      if (level.extents.back() % 2 == 0)
        level.extents[i] = 2, level.extents.back() /= 2;
  }
  return level;
}

inline Cluster randomCluster(std::mt19937 &random) {
  static constexpr TopologyKind inner[] = {TopologyKind::Switch,   TopologyKind::AllPairs, TopologyKind::PcieTree,
                                           TopologyKind::CubeMesh, TopologyKind::Torus2D,  TopologyKind::Torus3D};
  static constexpr TopologyKind outer[] = {TopologyKind::Switch,   TopologyKind::FatTree,   TopologyKind::RailOptimized,
                                           TopologyKind::RailOnly, TopologyKind::Dragonfly, TopologyKind::Torus3D};
  Cluster cluster;
  cluster.name = "random";
  DeviceGroup group;
  group.device.name = "device";
  int64_t levels = randomInteger(random, 1, 3);
  double slower = 1;
  group.count = 1;
  for (int64_t l = 0; l < levels; ++l) {
    TopologyKind topology = l == 0 ? inner[randomInteger(random, 0, 5)] : outer[randomInteger(random, 0, 5)];
    ClusterLevel level = randomLevel(random, topology, randomInteger(random, l == 0 ? 2 : 1, 8), slower);
    if (l > 0) {
      level.adaptersPerDevice = 1.0 / double(randomInteger(random, 1, 2));
      level.oversubscription = double(randomInteger(random, 1, 2));
    }
    level.inNetworkReduction = topology == TopologyKind::Switch && randomInteger(random, 0, 1) == 1;
    group.count *= level.size;
    group.levels.push_back(level);
    slower *= randomNumber(random, 8, 12);
  }
  cluster.groups.push_back(group);
  return cluster;
}

} // namespace mlir::ppc

#endif // PPC_TEST_UNIT_CLUSTER_RANDOMCLUSTERS_H
