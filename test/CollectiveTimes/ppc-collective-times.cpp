// Estimates collectives and messages that standard input lists, one per line, and prints `SECONDS ALGORITHM`, one per
// line:
//   all-reduce|all-gather|reduce-scatter|all-to-all|broadcast CLUSTER DEVICES STRIDE SIZE BYTES [no-in-network]
//   message CLUSTER DEVICES STRIDE SHARERS BYTES
// CLUSTER is an argument of findCluster, DEVICES how many of it (0: all). The first line that cannot be read ends it
// with exit status 1. `--benchmark`: prints the nanoseconds that one call of collectiveTime takes instead.
// tools/dev/collective-accuracy.py runs it.
#include "ppc/CostModel/CollectiveCost.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir::ppc;

static constexpr CollectiveKind kinds[] = {CollectiveKind::AllReduce, CollectiveKind::AllGather,
                                           CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
                                           CollectiveKind::Broadcast};

namespace {
class Pricer {
public:
  /// `SECONDS ALGORITHM` of one line, or what is wrong with it.
  llvm::Expected<std::string> price(llvm::StringRef line);

private:
  llvm::Expected<const Cluster *> cluster(llvm::StringRef name, int64_t devices, bool inNetwork);
  llvm::StringMap<Cluster> clusters;
};
} // namespace

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<const Cluster *> Pricer::cluster(llvm::StringRef name, int64_t devices, bool inNetwork) {
  std::string key = llvm::formatv("{0} {1} {2}", name, devices, inNetwork);
  auto found = clusters.find(key);
  if (found != clusters.end())
    return &found->second;
  llvm::Expected<Cluster> cluster = findCluster(name);
  if (cluster && devices > 0)
    cluster = restrictCluster(*cluster, devices);
  if (!cluster)
    return cluster.takeError();
  for (DeviceGroup &group : cluster->groups)
    for (ClusterLevel &level : group.levels)
      level.inNetworkReduction &= inNetwork;
  return &clusters.try_emplace(key, std::move(*cluster)).first->second;
}

llvm::Expected<std::string> Pricer::price(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(line, words);
  int64_t devices, stride, size, bytes;
  if (words.size() < 6 || words[2].getAsInteger(10, devices) || words[3].getAsInteger(10, stride) ||
      words[4].getAsInteger(10, size) || words[5].getAsInteger(10, bytes))
    return makeError("expected KIND CLUSTER DEVICES STRIDE SIZE BYTES");
  bool inNetwork = words.size() < 7 || words[6] != "no-in-network";
  llvm::Expected<const Cluster *> found = cluster(words[1], devices, inNetwork);
  if (!found)
    return found.takeError();
  if (words[0] == "message")
    return llvm::formatv("{0:e6} message", pointToPointTime(**found, Bytes(double(bytes)), stride, size).value).str();
  for (CollectiveKind kind : kinds)
    if (toString(kind) == words[0]) {
      GroupPlacement placement = placeGroup((*found)->levels(), stride, size);
      return llvm::formatv("{0:e6} {1}", collectiveTime(**found, kind, Bytes(double(bytes)), placement).value,
                           collectiveAlgorithm(**found, kind, Bytes(double(bytes)), placement))
          .str();
    }
  return makeError("unknown kind '" + words[0] + "'");
}

static void benchmark() {
  Cluster cluster = llvm::cantFail(findCluster("dgx-h100:128"));
  GroupPlacement placements[] = {placeGroup(cluster.levels(), 1, 8), placeGroup(cluster.levels(), 8, 128),
                                 placeGroup(cluster.levels(), 4, 256), placeGroup(cluster.levels(), 1, 1024)};
  constexpr int calls = 1000000;
  double sum = 0;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    sum += collectiveTime(cluster, kinds[i % 4], Bytes(1e6 + i), placements[(i >> 2) & 3]).value;
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  llvm::outs() << llvm::formatv("{0:f1} ns per collective, {1:f6} s in all\n", took.count() / calls, sum);
}

int main(int argc, char **argv) {
  if (argc > 1 && llvm::StringRef(argv[1]) == "--benchmark")
    return benchmark(), 0;
  auto input = llvm::MemoryBuffer::getSTDIN();
  if (!input) {
    llvm::errs() << "ppc-collective-times: " << input.getError().message() << "\n";
    return 1;
  }
  Pricer pricer;
  int number = 0;
  for (llvm::StringRef rest = (*input)->getBuffer(); !rest.empty();) {
    auto [line, tail] = rest.split('\n');
    rest = tail;
    ++number;
    if (line.trim().empty())
      continue;
    llvm::Expected<std::string> time = pricer.price(line.trim());
    if (!time) {
      llvm::errs() << "<stdin>:" << number << ": error: " << llvm::toString(time.takeError()) << "\n";
      return 1;
    }
    llvm::outs() << *time << "\n";
  }
  return 0;
}
