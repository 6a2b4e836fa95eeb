// Properties that collective times must have on any cluster; rankings of layouts depend on them.
#include "ppc/CostModel/CollectiveCost.h"

#include "../Cluster/RandomClusters.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir::ppc;

static constexpr CollectiveKind kinds[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                           CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                           CollectiveKind::Broadcast};

static double seconds(const Cluster &cluster, CollectiveKind kind, double bytes, const GroupPlacement &placement) {
  return collectiveTime(cluster, kind, Bytes(bytes), placement).value;
}

/// Calls `check` with a random cluster, kind, placement and size, many times.
template <typename Check> static void forRandomCases(int count, Check check) {
  for (int seed = 0; seed < count; ++seed) {
    std::mt19937 random(seed);
    Cluster cluster = randomCluster(random);
    int64_t size = randomInteger(random, 2, cluster.deviceCount());
    int64_t stride = randomInteger(random, 1, std::max<int64_t>(cluster.deviceCount() / size, 1));
    SCOPED_TRACE("seed " + std::to_string(seed));
    check(random, cluster, kinds[seed % 5], placeGroup(cluster.levels(), stride, size),
          std::exp(randomNumber(random, 0, std::log(1e10))));
  }
}

TEST(CollectiveProperties, TakeTimeAndMoreForMoreBytes) {
  forRandomCases(2000, [](std::mt19937 &random, const Cluster &cluster, CollectiveKind kind,
                          const GroupPlacement &placement, double bytes) {
    double time = seconds(cluster, kind, bytes, placement);
    EXPECT_TRUE(std::isfinite(time) && time > 0) << time;
    EXPECT_GT(seconds(cluster, kind, bytes * randomNumber(random, 1.001, 4), placement), time);
    EXPECT_NE(collectiveAlgorithm(cluster, kind, Bytes(bytes), placement), "none");
  });
}

TEST(CollectiveProperties, NeverBeatTheLinks) {
  forRandomCases(2000, [](std::mt19937 &, const Cluster &cluster, CollectiveKind kind, const GroupPlacement &placement,
                          double bytes) {
    // Every rank must receive what it lacks: all but its part, or a whole result.
    double n = double(placement.size()), lacks = bytes * (n - 1) / n;
    double fastest = 0;
    for (const ClusterLevel &level : cluster.levels())
      fastest = std::max(fastest, level.bandwidth.value * std::max(1.0, 1 / level.adaptersPerDevice));
    EXPECT_GT(seconds(cluster, kind, bytes, placement), lacks / fastest);
  });
}

TEST(CollectiveProperties, GatherAndScatterAreTheHalvesOfAnAllReduce) {
  forRandomCases(
      1000, [](std::mt19937 &, Cluster cluster, CollectiveKind, const GroupPlacement &placement, double bytes) {
        double halves = seconds(cluster, CollectiveKind::AllGather, bytes, placement) +
                        seconds(cluster, CollectiveKind::ReduceScatter, bytes, placement);
        EXPECT_LE(seconds(cluster, CollectiveKind::AllReduce, bytes, placement), halves * (1 + 1e-9));
        for (ClusterLevel &level : cluster.groups.front().levels)
          level.inNetworkReduction = false;
        // Trees save hops and, between two or three units, a half or a quarter of the bytes.
        if (collectiveAlgorithm(cluster, CollectiveKind::AllReduce, Bytes(bytes), placement) == "ring") {
          double floor = 0;
          for (const ClusterLevel &level : cluster.levels())
            floor = std::max(floor, level.constants.floor.value);
          EXPECT_GE(seconds(cluster, CollectiveKind::AllReduce, bytes, placement) + floor, halves * (1 - 1e-9));
        }
      });
}

TEST(CollectiveProperties, MoreNodesAreNeverFaster) {
  for (int seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Cluster cluster = randomCluster(random);
    std::vector<ClusterLevel> &levels = cluster.groups.front().levels;
    levels.resize(1);
    levels.push_back(randomLevel(random, TopologyKind::FatTree, 1, 10));
    int64_t unit = levels[0].size, stride = randomInteger(random, 0, 1) ? unit : 1;
    double bytes = std::exp(randomNumber(random, std::log(1e3), std::log(1e10)));
    for (CollectiveKind kind : kinds) {
      double before = 0;
      for (int64_t nodes : {1, 2, 3, 4, 6, 8, 16, 64, 512}) {
        levels[1].size = nodes;
        double time = seconds(cluster, kind, bytes, placeGroup(levels, stride, nodes * unit / stride));
        EXPECT_GE(time, before * (1 - 1e-9)) << toString(kind).str() << " " << nodes << " nodes, " << bytes << " bytes";
        before = time;
      }
    }
  }
}

TEST(CollectiveProperties, FasterLinksAreNeverSlower) {
  forRandomCases(2000, [](std::mt19937 &random, Cluster cluster, CollectiveKind kind, const GroupPlacement &placement,
                          double bytes) {
    double time = seconds(cluster, kind, bytes, placement);
    ClusterLevel &level = cluster.groups.front().levels[randomInteger(random, 0, cluster.levels().size() - 1)];
    switch (randomInteger(random, 0, 3)) {
    case 0:
      level.bandwidth = level.bandwidth * 2;
      break;
    case 1:
      level.latency = level.latency * 0.5;
      break;
    case 2:
      level.constants.ring.ramp = level.constants.ring.ramp * 0.5;
      break;
    case 3:
      level.oversubscription = 1;
      break;
    }
    EXPECT_LE(seconds(cluster, kind, bytes, placement), time * (1 + 1e-9));
  });
}

TEST(CollectiveProperties, GroupsThatShareAdaptersAreSlower) {
  forRandomCases(
      1000, [](std::mt19937 &, const Cluster &cluster, CollectiveKind kind, GroupPlacement placement, double bytes) {
        double time = seconds(cluster, kind, bytes, placement);
        for (size_t l = 1; l < placement.sharers.size(); ++l)
          placement.sharers[l] *= 2;
        EXPECT_GE(seconds(cluster, kind, bytes, placement), time * (1 - 1e-9));
      });
}

TEST(CollectiveProperties, InnerGroupsAreFasterThanOuterOnes) {
  for (int seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    Cluster cluster;
    cluster.groups.resize(1);
    int64_t unit = randomInteger(random, 2, 8);
    cluster.groups[0].levels = {randomLevel(random, TopologyKind::Switch, unit, 1),
                                randomLevel(random, TopologyKind::RailOptimized, unit, 10)};
    cluster.groups[0].count = unit * unit;
    for (CollectiveKind kind : kinds)
      for (double bytes = 1e3; bytes < 1e11; bytes *= 10)
        EXPECT_LT(seconds(cluster, kind, bytes, placeGroup(cluster.levels(), 1, unit)),
                  seconds(cluster, kind, bytes, placeGroup(cluster.levels(), unit, unit)))
            << "seed " << seed << " " << toString(kind).str() << " " << bytes;
    EXPECT_LT(pointToPointTime(cluster, Bytes(1e6), 0, 1, 1), pointToPointTime(cluster, Bytes(1e6), 0, unit, 1));
  }
}

TEST(CollectiveProperties, EveryPresetRanksItsLevels) {
  for (const ClusterPreset &preset : clusterPresets()) {
    Cluster cluster = llvm::cantFail(findCluster((preset.name + ":8").str()));
    if (cluster.levels().size() < 2 || cluster.levels()[0].bandwidth <= cluster.levels()[1].bandwidth)
      continue; // one level, or a torus that goes on at the same rate
    int64_t unit = cluster.unitSize(), size = std::min<int64_t>(unit, 8);
    for (CollectiveKind kind : kinds)
      for (double bytes : {1e4, 1e6, 1e7, 1e8, 1e9})
        EXPECT_LE(seconds(cluster, kind, bytes, placeGroup(cluster.levels(), 1, size)),
                  seconds(cluster, kind, bytes, placeGroup(cluster.levels(), unit, size)))
            << preset.name.str() << " " << toString(kind).str() << " " << bytes;
  }
}
