// Cluster files, presets, parts of clusters, and where groups lie.
#include "ppc/Cluster/Cluster.h"

#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace mlir::ppc;

static std::string errorOf(llvm::Expected<Cluster> cluster) {
  return cluster ? "" : llvm::toString(cluster.takeError());
}
static std::vector<int64_t> listOf(llvm::ArrayRef<int64_t> list) { return {list.begin(), list.end()}; }
using List = std::vector<int64_t>;

TEST(Cluster, PresetsTakeACount) {
  Cluster cluster = llvm::cantFail(findCluster("dgx-a100:32"));
  EXPECT_EQ(cluster.deviceCount(), 256);
  EXPECT_EQ(cluster.unitSize(), 8);
  EXPECT_EQ(cluster.device().name, "A100-SXM-80GB");
  EXPECT_EQ(llvm::cantFail(findCluster("dgx-h100")).deviceCount(), 8);
  EXPECT_NE(errorOf(findCluster("dgx-a100:0")), "");
  EXPECT_NE(errorOf(findCluster("dgx-a100:x")), "");
  EXPECT_NE(errorOf(findCluster("dgx-z")).find("dgx-a100"), std::string::npos);
  EXPECT_NE(errorOf(findCluster("/nowhere.yaml")), "");
  for (const ClusterPreset &preset : clusterPresets()) {
    EXPECT_FALSE(preset.summary.empty()) << preset.name.str();
    EXPECT_EQ(errorOf(findCluster(preset.name.str() + ":3")), "");
  }
}

TEST(Cluster, RoundTripsThroughText) {
  for (const ClusterPreset &preset : clusterPresets()) {
    std::string text = writeCluster(llvm::cantFail(findCluster((preset.name + ":3").str())));
    llvm::Expected<Cluster> again = parseCluster("written.yaml", text);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError()) << text;
    EXPECT_EQ(writeCluster(*again), text);
  }
}

TEST(Cluster, RestrictsToWholeUnitsOrEvenOnes) {
  Cluster cluster = llvm::cantFail(findCluster("dgx-a100:32"));
  auto sizes = [&](int64_t devices) {
    Cluster part = llvm::cantFail(restrictCluster(cluster, devices));
    EXPECT_EQ(part.deviceCount(), devices);
    return List{part.levels()[0].size, part.levels()[1].size};
  };
  EXPECT_EQ(sizes(64), (List{8, 8}));
  EXPECT_EQ(sizes(3), (List{3, 1}));
  EXPECT_EQ(sizes(12), (List{6, 2}));
  EXPECT_EQ(sizes(100), (List{8, 13}));
  EXPECT_NE(errorOf(restrictCluster(cluster, 257)), "");
  EXPECT_NE(errorOf(restrictCluster(cluster, 0)), "");
}

TEST(Cluster, FewerDevicesLeaveTheLinksToTheOthersUnused) {
  Cluster four = llvm::cantFail(parseCluster("mesh.yaml", R"(
name: mesh
device: { kind: H100-SXM-80GB }
levels: [{ name: nvlink, kind: nvlink-4, topology: all-pairs, in_network_reduction: false, size: 4 }]
)"));
  Cluster two = llvm::cantFail(restrictCluster(four, 2));
  EXPECT_EQ(two.levels()[0].size, 2);
  EXPECT_DOUBLE_EQ(two.levels()[0].bandwidth.value, four.levels()[0].bandwidth.value / 3);
}

TEST(Cluster, PlacesGroups) {
  Cluster cluster = llvm::cantFail(findCluster("dgx-a100:4"));
  GroupPlacement inner = placeGroup(cluster.levels(), 1, 4);
  EXPECT_EQ(listOf(inner.members), (List{4, 4}));
  EXPECT_EQ(listOf(inner.spans), (List{4, 1}));
  EXPECT_EQ(listOf(inner.sharers), (List{1, 1}));
  GroupPlacement across = placeGroup(cluster.levels(), 4, 8); // ranks 0, 4, 8, ..., 28
  EXPECT_EQ(listOf(across.members), (List{2, 8}));
  EXPECT_EQ(listOf(across.spans), (List{2, 4}));
  EXPECT_EQ(listOf(across.sharers), (List{1, 4}));
  GroupPlacement rail = placeGroup(cluster.levels(), 8, 4);
  EXPECT_EQ(listOf(rail.members), (List{1, 4}));
  EXPECT_EQ(listOf(rail.sharers), (List{1, 8}));
}

TEST(Cluster, PlacesGroupsThatDoNotLineUp) {
  Cluster cluster = llvm::cantFail(findCluster("dgx-a100:3"));
  GroupPlacement three = placeGroup(cluster.levels(), 1, 3); // ranks 6, 7 | 8
  EXPECT_EQ(listOf(three.members), (List{2, 3}));
  EXPECT_EQ(listOf(three.fewest), (List{1, 3}));
  EXPECT_EQ(listOf(three.spans), (List{2, 2}));
  GroupPlacement strided = placeGroup(cluster.levels(), 3, 8); // ranks 0, 3, ..., 21
  EXPECT_EQ(listOf(strided.members), (List{3, 8}));
  EXPECT_EQ(listOf(strided.fewest), (List{2, 8}));
  EXPECT_EQ(listOf(strided.spans), (List{3, 3}));
}

TEST(Cluster, TheDocumentationNamesEveryPresetAndInterconnect) {
  auto page = llvm::MemoryBuffer::getFile(PPC_TEST_INPUTS "/../../docs/reference/Clusters.md");
  ASSERT_TRUE(bool(page));
  llvm::StringRef text = (*page)->getBuffer();
  for (const ClusterPreset &preset : clusterPresets())
    EXPECT_TRUE(text.contains(("| `" + preset.name + "` | " + preset.summary + " | ").str())) << preset.name.str();
  for (llvm::StringRef name : interconnectNames())
    EXPECT_TRUE(text.contains(("| `" + name + "` | ").str())) << name.str();
}

TEST(Cluster, LocalIsThisMachineOrItsFile) {
  Cluster cluster = llvm::cantFail(findCluster("local"));
  EXPECT_GE(cluster.deviceCount(), 1);
  EXPECT_GT(cluster.device().memory, Bytes(0));
  EXPECT_EQ(llvm::cantFail(findCluster("local:4")).deviceCount(), 4);
}
