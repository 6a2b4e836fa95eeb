// Placement of groups, against an enumeration of every group of the cluster.
#include "RandomClusters.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

using namespace mlir::ppc;

/// One group by counting its ranks per unit.
static GroupPlacement countGroup(llvm::ArrayRef<ClusterLevel> levels, int64_t first, int64_t stride, int64_t size) {
  GroupPlacement placement;
  int64_t unit = 1, inner = 1;
  for (size_t l = 0; l < levels.size(); ++l) {
    unit *= levels[l].size;
    std::map<int64_t, std::map<int64_t, int64_t>> ranks; // unit -> inner unit -> ranks
    for (int64_t i = 0; i < size; ++i) {
      int64_t rank = first + i * stride;
      ++ranks[l + 1 == levels.size() ? 0 : rank / unit][rank / inner];
    }
    int64_t most = 0, fewest = size, spans = 0;
    for (auto &[index, units] : ranks) {
      int64_t held = 0;
      for (auto &[innerIndex, count] : units)
        held += count;
      most = std::max(most, held), fewest = std::min(fewest, held), spans = std::max<int64_t>(spans, units.size());
    }
    placement.members.push_back(most), placement.fewest.push_back(fewest), placement.spans.push_back(spans);
    inner = unit;
  }
  return placement;
}

/// Properties that make a group slow, most important first.
static std::vector<int64_t> slowness(const GroupPlacement &placement) {
  std::vector<int64_t> key;
  for (size_t l = placement.spans.size(); l-- > 0;) {
    key.push_back(placement.spans[l]);
    if (l > 0)
      key.push_back(-placement.fewest[l - 1]);
  }
  return key;
}

TEST(Placement, FindsTheSlowestGroup) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    Cluster cluster = randomCluster(random);
    int64_t total = cluster.deviceCount(), size = randomInteger(random, 1, total),
            stride = randomInteger(random, 1, std::max<int64_t>(total / size, 1));
    std::vector<int64_t> slowest;
    for (int64_t block = 0; (block + 1) * stride * size <= total; ++block)
      for (int64_t offset = 0; offset < stride; ++offset)
        slowest =
            std::max(slowest, slowness(countGroup(cluster.levels(), block * stride * size + offset, stride, size)));
    GroupPlacement placement = placeGroup(cluster.levels(), stride, size);
    EXPECT_EQ(slowness(placement), slowest) << "seed " << seed << " stride " << stride << " size " << size;
    EXPECT_EQ(placement.size(), size);
    for (size_t l = 0; l < placement.members.size(); ++l) {
      EXPECT_LE(placement.fewest[l], placement.members[l]);
      EXPECT_GE(placement.sharers[l], 1);
    }
  }
}

TEST(Placement, SharersFillTheUnit) {
  Cluster cluster = llvm::cantFail(findCluster("dgx-h100:8"));
  for (int64_t stride = 1; stride <= 8; stride *= 2) {
    GroupPlacement placement = placeGroup(cluster.levels(), stride, 64 / stride);
    EXPECT_EQ(placement.sharers[1] * placement.members[0], 8) << stride;
  }
  EXPECT_EQ(placeGroup(cluster.levels(), 1, 8).sharers[1], 1); // does not leave the node
}

TEST(Placement, RacksCountAsUnits) {
  Cluster cluster = llvm::cantFail(findCluster("gb200-nvl72:2"));
  GroupPlacement whole = placeGroup(cluster.levels(), 1, 144);
  EXPECT_EQ(whole.members[0], 72);
  EXPECT_EQ(whole.spans[1], 2);
  GroupPlacement across = placeGroup(cluster.levels(), 1, 64); // ranks 64 .. 127 span both racks
  EXPECT_EQ(across.spans[1], 2);
  EXPECT_EQ(across.fewest[0], 8);
  Cluster part = llvm::cantFail(restrictCluster(cluster, 128));
  EXPECT_EQ(part.unitSize(), 64);
  EXPECT_EQ(placeGroup(part.levels(), 1, 64).spans[1], 1);
}
