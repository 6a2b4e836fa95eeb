// Errors of cluster files: the position and the words of each; and random mutations of files, which must give an error
// or a usable cluster.
#include "ppc/CostModel/CollectiveCost.h"

#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>

using namespace mlir::ppc;

static const char *const simple =
    "name: small\n"                                                                      // 1
    "device: { kind: H100-SXM-80GB }\n"                                                  // 2
    "levels:\n"                                                                          // 3
    "  - { name: nvlink, size: 8, topology: switch, bandwidth: 450e9, latency: 2e-6 }\n" // 4
    "  - name: rail\n"                                                                   // 5
    "    size: 4\n"                                                                      // 6
    "    topology: fat-tree\n"                                                           // 7
    "    bandwidth: 50e9\n"                                                              // 8
    "    latency: 6e-6\n"                                                                // 9
    "host: { memory: 2e12, bandwidth: 50e9 }\n";                                         // 10

static std::string errorOfFile(const std::string &text) {
  llvm::Expected<Cluster> cluster = parseCluster("c.yaml", text);
  return cluster ? "" : llvm::toString(cluster.takeError());
}

/// The error of the simple file with one piece of text replaced.
static std::string errorWith(const std::string &from, const std::string &to) {
  std::string text = simple;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return errorOfFile(text.replace(at, from.size(), to));
}

TEST(ClusterErrors, ASimpleFileIsRead) { EXPECT_EQ(errorOfFile(simple), ""); }

TEST(ClusterErrors, UnknownKeysListKnownKeys) {
  EXPECT_EQ(errorWith("host: { memory", "host: { ram"),
            "c.yaml:10:9: error: unknown key \"ram\"; possible: memory, bandwidth, devices_per_link, memory_bandwidth, "
            "nvme_bandwidth");
  std::string error = errorWith("latency: 6e-6", "latancy: 6e-6");
  EXPECT_EQ(error, "c.yaml:5:5: error: key \"latency\": missing; expected a number from 0 to 1");
  error = errorWith("    latency: 6e-6\n", "    latency: 6e-6\n    colour: red\n");
  EXPECT_TRUE(llvm::StringRef(error).starts_with(
      "c.yaml:10:5: error: unknown key \"colour\"; possible: name, size, topology, bandwidth"))
      << error;
}

TEST(ClusterErrors, ImpossibleValuesListAllowedOnes) {
  EXPECT_EQ(errorWith("50e9\n", "-50e9\n"),
            "c.yaml:8:16: error: key \"bandwidth\": expected a number > 0, found \"-50e9\"");
  EXPECT_EQ(errorWith("size: 4", "size: 0"), "c.yaml:6:11: error: key \"size\": expected an integer >= 1, found \"0\"");
  EXPECT_EQ(errorWith("size: 4", "size: 2.5"),
            "c.yaml:6:11: error: key \"size\": expected an integer >= 1, found \"2.5\"");
  EXPECT_EQ(errorWith("fat-tree", "bush"), "c.yaml:7:15: error: key \"topology\": expected one of switch, all-pairs, "
                                           "pcie-tree, cube-mesh, torus-2d, torus-3d, fat-tree, "
                                           "rail-optimized, rail-only, dragonfly, found \"bush\"");
  EXPECT_EQ(errorWith("fat-tree", "cube-mesh"),
            "c.yaml:7:15: error: key \"topology\": a cube-mesh can only be the innermost level");
  EXPECT_EQ(errorWith("name: rail", "name: nvlink"),
            "c.yaml:5:11: error: key \"name\": two levels are called \"nvlink\"");
  EXPECT_EQ(errorWith("size: 4", "size: 4000000"),
            "c.yaml:6:11: error: key \"size\": the sizes multiply to more than 16777216 devices");
  EXPECT_EQ(errorWith("topology: fat-tree", "topology: torus-3d\n    extents: [2, 2]"),
            "c.yaml:8:14: error: key \"extents\": expected 3 integers that multiply to the level's size, 4");
  EXPECT_EQ(errorWith("topology: fat-tree", "topology: fat-tree\n    extents: [4]"),
            "c.yaml:8:14: error: key \"extents\": only a torus-2d or torus-3d has extents, not a fat-tree");
  EXPECT_EQ(
      errorWith("switch, ", "all-pairs, in_network_reduction: true, "),
      "c.yaml:4:73: error: key \"in_network_reduction\": links of topology all-pairs have no switch that could reduce");
  EXPECT_EQ(errorWith("levels:", "count: 33\nlevels:"),
            "c.yaml:3:8: error: key \"count\": the levels hold 32 devices at most");
  EXPECT_TRUE(llvm::StringRef(errorWith("topology: fat-tree", "kind: string"))
                  .starts_with("c.yaml:7:11: error: key \"kind\": unknown interconnect \"string\"; possible: "));
  EXPECT_NE(errorWith("H100-SXM-80GB", "H1").find("c.yaml:2:17: error: key \"kind\": unknown device \"H1\""),
            std::string::npos);
}

TEST(ClusterErrors, MissingParts) {
  EXPECT_EQ(errorWith("device: { kind: H100-SXM-80GB }\n", ""),
            "c.yaml:1:1: error: key \"device\": missing; expected { kind: NAME } or every number");
  EXPECT_EQ(errorOfFile("name: x\ndevice: { kind: H100-SXM-80GB }\n"),
            "c.yaml:1:1: error: key \"levels\": missing; expected 1 to 6 levels, from the inside out");
  EXPECT_EQ(errorOfFile("name: x\ndevice: { kind: H100-SXM-80GB }\nlevels: []\n"),
            "c.yaml:3:9: error: key \"levels\": expected 1 to 6 levels, from the inside out");
  EXPECT_EQ(errorWith("host:", "between: { name: x }\nhost:"),
            "c.yaml:10:10: error: `between` joins several `groups`, and there is one");
}

TEST(ClusterErrors, AllThatAFileLacksIsToldAtOnce) {
  EXPECT_EQ(errorOfFile("summary: x\n"),
            "c.yaml:1:1: error: key \"name\": missing; expected a name; also missing: device ({ kind: NAME } or every "
            "number), levels (1 to 6 levels, from the inside out)");
  EXPECT_EQ(
      errorOfFile("name: x\n"
                  "device:\n"
                  "  { memory: 8e9, memory_bandwidth: 1e12, launch_floor: 4e-6, peak: { bf16: 1e14 } }\n"
                  "levels:\n"
                  "  - { size: 4, topology: switch }\n"
                  "  - { kind: infiniband-ndr }\n"),
      "c.yaml:3:3: error: key \"multiprocessors\": missing; expected an integer >= 1; also missing: name at 5:5 (a "
      "name), bandwidth at 5:5 (a number > 0), latency at 5:5 (a number from 0 to 1), size at 6:5 (an integer >= 1)");
  // An invalid value is reported first and without the list of missing keys.
  EXPECT_EQ(
      errorOfFile("name: x\ndevice: { kind: H100-SXM-80GB }\nlevels: [ { kind: nvlink-9 } ]\n").find("also missing"),
      std::string::npos);
}

static const char *const mixed =
    "name: mixed\n"
    "groups:\n"
    "  - count: 16\n"
    "    device: { kind: H100-SXM-80GB }\n"
    "    levels: [ { kind: nvlink-4, size: 8 }, { name: rail, kind: infiniband-ndr, size: 2 } ]\n"
    "  - device:\n"
    "      name: mine\n"
    "      memory: 32e9\n"
    "      memory_bandwidth: 1e12\n"
    "      multiprocessors: 64\n"
    "      launch_floor: 4e-6\n"
    "      peak: { f32: 10e12, bf16: 100e12 }\n"
    "    levels: [ { kind: pcie-4, size: 4 } ]\n"
    "between: { name: ethernet, topology: fat-tree, bandwidth: 12.5e9, latency: 20e-6 }\n";

TEST(ClusterErrors, GroupsOfDifferentDevices) {
  Cluster cluster = llvm::cantFail(parseCluster("m.yaml", mixed));
  EXPECT_EQ(cluster.deviceCount(), 20);
  EXPECT_EQ(cluster.groups[1].device.name, "mine");
  EXPECT_EQ(cluster.between->size, 2);
  EXPECT_EQ(writeCluster(llvm::cantFail(parseCluster("w.yaml", writeCluster(cluster)))), writeCluster(cluster));
  EXPECT_EQ(llvm::cantFail(restrictCluster(cluster, 16)).groups.size(), 1u);
  EXPECT_EQ(llvm::cantFail(restrictCluster(cluster, 18)).groups[1].levels[0].size, 2);
  std::string alone = mixed;
  alone.resize(alone.find("between"));
  EXPECT_EQ(errorOfFile(alone),
            "c.yaml:1:1: error: key \"between\": missing; expected the level that joins the groups");
  EXPECT_EQ(errorOfFile(std::string(mixed) + "device: { kind: H100-SXM-80GB }\n"),
            "c.yaml:15:9: error: key \"device\": each of the `groups` has its own");
}

/// A file with some of its bytes, lines or words changed.
static std::string mutate(std::mt19937 &random, std::string text) {
  static constexpr llvm::StringRef pieces[] = {
      "-1",  "0",    "1e400", "nan", "[", "]",        "{",    "}",        ":",        "- ",     "\n",       "'",  "\"",
      "&a ", "*a ",  "!!x ",  "---", "|", "\t",       "null", "1e308",    "1e-308",   "#",      "true",     "? ", "%",
      ",",   "\xff", "\xe2",  ">",   "~", "16777217", "8",    "torus-3d", "torus-2d", "switch", "count: 3", "{}", "[]"};
  auto below = [&](size_t end) { return std::uniform_int_distribution<size_t>(0, end)(random); };
  for (size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
    size_t at = below(text.size() - 1), length = std::min(below(below(1) ? 4 : 40), text.size() - at);
    switch (below(5)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, text.substr(below(text.size() - 1), length));
      break;
    case 2:
      text.insert(at, pieces[below(std::size(pieces) - 1)].str());
      break;
    case 3:
      text[at] = char(below(255));
      break;
    case 4:
      text.replace(at, length, pieces[below(std::size(pieces) - 1)].str());
      break;
    case 5: { // a value in place of another
      size_t colon = text.find(": ", at);
      if (colon != std::string::npos)
        text.replace(colon + 2, std::min(text.find_first_of(",}\n", colon), text.size()) - colon - 2,
                     pieces[below(std::size(pieces) - 1)].str());
      break;
    }
    }
  }
  return text;
}

/// Whatever was read must be usable: parts of it, groups on it, times.
static void use(std::mt19937 &random, const Cluster &cluster) {
  ASSERT_GE(cluster.deviceCount(), 1);
  auto up = [&](int64_t limit) {
    return std::uniform_int_distribution<int64_t>(1, std::max<int64_t>(limit, 1))(random);
  };
  Cluster part = llvm::cantFail(restrictCluster(cluster, up(cluster.deviceCount())));
  for (const Cluster *each : {&cluster, static_cast<const Cluster *>(&part)}) {
    int64_t size = up(std::min<int64_t>(each->groups.front().count, 4096)),
            stride = up(each->groups.front().count / size);
    GroupPlacement placement = placeGroup(each->levels(), stride, size);
    double time = collectiveTime(*each, CollectiveKind(up(5) - 1), Bytes(1e6), placement).value;
    ASSERT_TRUE(time >= 0) << time << "\n" << writeCluster(*each);
    ASSERT_TRUE(pointToPointTime(*each, Bytes(1e6), stride).value >= 0);
  }
  llvm::Expected<Cluster> again = parseCluster("again.yaml", writeCluster(cluster));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError()) << "\n" << writeCluster(cluster);
}

// 2,000 mutations, however long they take, and more until PPC_FUZZ_SECONDS have passed.
TEST(ClusterErrors, MutatedFilesGiveErrorsOrClusters) {
  const char *limit = std::getenv("PPC_FUZZ_SECONDS"), *start = std::getenv("PPC_FUZZ_SEED");
  double seconds = limit ? std::atof(limit) : 0;
  unsigned seed = start ? std::atoi(start) : 1, accepted = 0, refused = 0;
  std::vector<std::string> texts = {simple, mixed};
  for (const char *name : {"dgx-h100:4", "gb200-nvl72:2", "tpu-v5p:3", "trn2:2", "a100-pcie:2"})
    texts.push_back(writeCluster(llvm::cantFail(findCluster(name))));
  auto begin = std::chrono::steady_clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  for (; accepted + refused < 2000 || elapsed() < seconds; ++seed) {
    std::mt19937 random(seed);
    std::string text = mutate(random, texts[seed % texts.size()]);
    llvm::Expected<Cluster> cluster = parseCluster("f.yaml", text);
    if (!cluster) {
      std::string error = llvm::toString(cluster.takeError());
      ASSERT_EQ(error.rfind("f.yaml:", 0), 0u) << "seed " << seed << ": " << error << "\n" << text;
      ASSERT_NE(error.find(": error: "), std::string::npos) << "seed " << seed << ": " << error;
      ++refused;
      continue;
    }
    ++accepted;
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(use(random, *cluster));
  }
  RecordProperty("accepted", int(accepted));
  RecordProperty("refused", int(refused));
  EXPECT_GT(accepted, 10u); // both kinds are reached
  EXPECT_GT(refused, 10u);
}
