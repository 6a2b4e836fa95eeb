// ppc-bench: measures this machine as compiled programs use it, and writes the planner's constants as a cluster file.
// The subcommand `step` is in Step.cpp, `roofline` in RooflineCommand.cpp, `kernels` in KernelsCommand.cpp.
#include "Gpu.h"
#include "KernelTables.h"
#include "Kernels.h"
#include "Roofline.h"
#include "Step.h"

#include "ppc/Cluster/Cluster.h"
#include "ppc/Reporting/TextTable.h"
#include "ppc/Support/CheckedOptions.h"
#include "ppc/Support/CommandLine.h"
#include "ppc/Support/Limits.h"
#include "ppc/Support/OutputFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"

#include <algorithm>

using namespace mlir::ppc;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("ppc-bench");
cl::list<std::string> subjects(cl::Positional, cl::desc("device|network ..."), cl::cat(category));
IntegerOption ranks("ranks", within(1, limits::benchRanks),
                    cl::desc("Ranks that run at the same time; default: one per core"), cl::value_desc("N"),
                    cl::cat(category));
RealOption seconds("seconds", withinReals(0, limits::benchSeconds).above(),
                   cl::desc("About how long each measurement takes (0.25)"), cl::value_desc("s"), cl::init(0.25),
                   cl::cat(category));
cl::opt<bool> gpu("gpu", cl::desc("Measure the first GPU instead, and print what it does; no file is written"),
                  cl::cat(category));
cl::opt<std::string> output("o", cl::desc("Cluster file to write; default: standard output"),
                            cl::value_desc("file.yaml"), cl::init("-"), cl::cat(category));

constexpr int64_t megabyte = int64_t(1) << 20;

std::string rateText(double perSecond, const char *unit) { return fixedText(perSecond * 1e-9, 2) + " G" + unit + "/s"; }

/// Measurements by name, in order, with their printed text.
class Measurements {
public:
  void add(Benchmark benchmark, double work, const char *unit) {
    benchmarks.push_back(std::move(benchmark));
    works.push_back({work, unit});
  }
  bool run(int count) {
    times = runBenchmarks(benchmarks, count, seconds);
    return !times.empty();
  }
  TurnTime time(llvm::StringRef name) const {
    for (size_t i = 0; i < benchmarks.size(); ++i)
      if (benchmarks[i].name == name)
        return times[i];
    return {};
  }
  /// Work of a turn per second of a core.
  double rate(llvm::StringRef name) const {
    for (size_t i = 0; i < benchmarks.size(); ++i)
      if (benchmarks[i].name == name)
        return works[i].first / times[i].processor;
    return 0;
  }
  void print(llvm::raw_ostream &out) const {
    TextTable table({"on each rank", "time", "of a core", "rate of a core"});
    for (size_t i = 0; i < benchmarks.size(); ++i)
      table.row({benchmarks[i].name, toString(Seconds(times[i].seconds)), toString(Seconds(times[i].processor)),
                 rateText(works[i].first / times[i].processor, works[i].second)});
    table.print(out);
  }

private:
  std::vector<Benchmark> benchmarks;
  std::vector<std::pair<double, const char *>> works;
  std::vector<TurnTime> times;
};

void addDevice(Measurements &all) {
  for (int64_t size : {4, 64, 128, 256, 512, 1024})
    for (bool bf16 : {false, true})
      all.add(productBenchmark(size, size, size, bf16), 2.0 * double(size) * double(size) * double(size), "FLOP");
  for (int64_t bytes : {megabyte / 4, 4 * megabyte, 64 * megabyte})
    all.add(streamBenchmark(bytes), double(bytes), "B");
}

void addNetwork(Measurements &all, int64_t count) {
  for (int64_t bytes : {int64_t(64), megabyte / 64, 8 * megabyte}) {
    if (count > 1)
      all.add(allReduceBenchmark(bytes), double(bytes), "B");
  }
  for (int64_t bytes : {int64_t(64), 4 * megabyte})
    if (count > 1)
      all.add(messageBenchmark(bytes), double(bytes), "B");
}

/// Rates of one core while all others work too; nothing is left to derive efficiencies from.
void setDevice(Device &device, const Measurements &all) {
  device.peak.fill(FlopsPerSecond(0));
  for (auto [precision, name] :
       {std::pair(Precision::F32, std::string("matmul ")), std::pair(Precision::Bf16, std::string("bf16 matmul "))}) {
    device.peak[int(precision)] =
        FlopsPerSecond(std::max(all.rate(name + "512 x 512 x 512"), all.rate(name + "1024 x 1024 x 1024")));
    device.products[int(precision)] = {1, 1, 1};
  }
  device.productFloor = Seconds(all.time("matmul 4 x 4 x 4").processor);
  // Arenas of models worth planning do not fit in caches.
  device.memoryBandwidth = BytesPerSecond(all.rate("stream 65536 KiB"));
  device.memoryEfficiency = 1;
}

/// `turns`: ranks that share a core. Ranks communicate by copies and sums that they do themselves; the shorter of the
/// two measures contains less of other programs' work.
void setNetwork(ClusterLevel &level, const Measurements &all, double count, double turns) {
  auto time = [&](llvm::StringRef name) { return std::min(all.time(name).seconds, all.time(name).processor * turns); };
  // Share of a ring's work that remains with this many ranks (docs/internals/CostModel.md), and its two rounds.
  double share = 1 - 0.54 / count, wire = 2 * (count - 1) / count;
  double small = time("all-reduce 64 B"), large = time("all-reduce 8388608 B");
  level.constants.floor = Seconds(small / 2);
  level.latency = Seconds(small / 2 / (2 * (count - 1)));
  level.bandwidth = BytesPerSecond(8.0 * double(megabyte) * wire / std::max(large - small, 0.5 * large) / share);
  level.constants.ring = {1, Bytes(0)};
  level.constants.allToAll = {1, Bytes(0)};
  double rate = 4.0 * double(megabyte) / time("message 4194304 B");
  level.constants.pointToPoint = std::clamp(rate / level.bandwidth.value, 0.01, 1.0);
}

int printGpu() {
  llvm::Expected<GpuTimes> times = measureGpu(seconds);
  if (!times) {
    llvm::errs() << "error: " << llvm::toString(times.takeError()) << "\n";
    return 1;
  }
  TextTable table({times->name, "time", "rate"});
  for (const GpuTime &row : times->rows)
    table.row({row.name, toString(Seconds(row.seconds)), rateText(row.work / row.seconds, row.unit)});
  table.print(llvm::outs());
  return 0;
}

int usageError(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << "; see ppc-bench --help\n";
  return 2;
}

int fail(llvm::Error error) {
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "ppc-bench " PPC_VERSION "\n"; });
  if (!readCommandLine(argc, argv,
                       "Measures this machine as compiled programs use it, and writes a cluster file for ppc-plan and "
                       "ppc-compile.\nPrograms run on CPUs: the cores and the links between them are measured.\n\n"
                       "device: matmuls and memory. network: communication between ranks. Neither: both.\n"
                       "step: a subcommand that compares training steps; see ppc-bench step --help.\n"
                       "roofline: a subcommand that compares a profile with the peak rates of this machine.\n"
                       "kernels: a subcommand that reads machine code of kernels for GPUs; nothing is run.\n"))
    return 2;
  if (isStepRequested())
    return runStep(argv[0]);
  if (isRooflineRequested())
    return runRoofline();
  if (isKernelsRequested())
    return runKernels(argv[0]);
  bool device = subjects.empty(), network = subjects.empty();
  for (const std::string &subject : subjects) {
    if (subject != "device" && subject != "network")
      return usageError("'" + subject + "' cannot be measured; expected device or network");
    (subject == "device" ? device : network) = true;
  }
  if (gpu) {
    if (!subjects.empty() && !device)
      return usageError("--gpu measures a device, and no network");
    if (ranks.getNumOccurrences() || output.getNumOccurrences())
      return usageError("--gpu measures one GPU and writes no file: leave out --ranks and -o");
    return printGpu();
  }
  llvm::Expected<Cluster> cluster = findCluster("local");
  if (!cluster)
    return fail(cluster.takeError());
  int64_t count = ranks.getNumOccurrences() ? int64_t(ranks) : cluster->deviceCount();
  if (count < 1 || count > 1024)
    return usageError("--ranks is " + llvm::Twine(count) + ", expected 1 to 1024");
  CommandFiles files;
  files.needs("what the environment's PPC_LOCAL_CLUSTER names",
              llvm::sys::Process::GetEnv("PPC_LOCAL_CLUSTER").value_or(""));
  llvm::Expected<OutputFile> file = files.writes("-o", output);
  if (!file)
    return fail(file.takeError());
  Measurements all;
  if (device)
    addDevice(all);
  if (network)
    addNetwork(all, count);
  if (!all.run(int(count)))
    return 1;
  all.print(llvm::errs());
  if (device)
    setDevice(cluster->groups.front().device, all), cluster->groups.front().device.measured = true;
  double turns = std::max(1.0, double(count) / double(cluster->deviceCount()));
  if (count != cluster->deviceCount())
    cluster = clusterOfRanks(*cluster, count);
  if (network && count > 1)
    setNetwork(cluster->groups.front().levels.front(), all, double(count), turns);
  cluster->summary = "measured by ppc-bench";
  llvm::Error error = file->write([&](llvm::raw_ostream &out) {
    out << writeCluster(*cluster);
    return llvm::Error::success();
  });
  return error ? fail(std::move(error)) : 0;
}
