// The run of one rank that a launcher has started, whatever connects it with the others.
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/cuda/CudaRank.h"
#include "runtime/host/HostMemory.h"
#include "runtime/host/Threads.h"
#include "runtime/launch/Launch.h"
#include "runtime/launch/RankAgreement.h"
#include "runtime/launch/RankLink.h"
#include "runtime/launch/Training.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <sched.h>
#include <set>
#include <unistd.h>

namespace ppcrt {
namespace {

RankShape rankShape(const Manifest &manifest, int rank) {
  RankShape shape;
  for (const GroupSpec &group : manifest.groups)
    shape.groups.push_back(groupMembers(manifest.grid, group, rank));
  manifest.deviceOf(rank).forEachMessage([&](const MessageEnd &end, int64_t microBatch) {
    int peer = int(manifest.grid.rankAtStage(rank, end.peer));
    shape.messages.push_back({end.isSent ? rank : peer, end.isSent ? peer : rank, {end.tag, microBatch}});
  });
  return shape;
}

// The part of fatal() that knows of the others.
struct RunningRank {
  RankLink &link;
  std::string who;
  RankProgress progress{};
};

[[noreturn]] void endAllRanks(void *context, const char *message) {
  const RunningRank &rank = *static_cast<RunningRank *>(context);
  int64_t step = rank.progress.step;
  rank.link.abort(rank.who + (step ? format(" in step %lld", (long long)step) : "") + ": " + message);
}

class ConnectedRun {
public:
  ConnectedRun(const ppcrt_program &program, const Manifest &manifest, const Options &options, RankLink &link)
      : program(program), manifest(manifest), options(options), link(link), running{link, "", {}}, rank(link.rank()),
        size(link.size()) {}
  ~ConnectedRun() { setFatalHandler(nullptr, nullptr); }

  int run(const std::optional<RankEnvironment> &environment, const Preparation &prepare) {
    if (!agree([&] { checkWords(options); }))
      return status;
    std::vector<RunFact> facts = startFacts(link, program, manifest, options);
    std::optional<int> answer;
    if (!agree([&] { checkAlike(link, facts); }) || !agree([&] { answer = prepare(); }))
      return status;
    if (answer)
      return *answer;
    if (!agree([&] { checkRankCount(environment); }))
      return status;
    running.who = manifest.grid.describe(rank) + " on " + hostName();
    setFatalHandler(endAllRanks, &running);
    std::optional<FolderLock> lock;
    std::unique_ptr<Training> training;
    auto runNumber = uint64_t(link.ofFirst(int64_t(drawRunNumber())));
    if (!agree([&] {
          learnMachines();
          checkMemory();
          checkGpus();
          if (rank == 0 && !options.checkpointDir.empty() && !options.checkMachine)
            lock.emplace(options.checkpointDir);
        }) ||
        !agree([&] {
          training = std::make_unique<Training>(
              manifest, options, RunSetting{link.name(), threads(), lock ? &*lock : nullptr, nullptr, runNumber});
        }) ||
        !agree([&] { checkAlike(link, training->facts()); }) || !agree([&] {
          if (rank == 0)
            training->createOutputs();
        }) ||
        !agree([&] {
          if (rank != 0)
            training->joinOutputs();
        }))
      return status;
    if (rank == 0 && !options.quiet)
      std::printf("transport: %s, %d ranks on %d machine%s\n", link.describe().c_str(), size, machines,
                  machines == 1 ? "" : "s");
    if (rank == 0 && !options.quiet && !options.threads && fewestThreads != mostThreads)
      std::fprintf(stderr,
                   "note: the ranks have from %lld to %lld cores each: all use %lld threads, since sums are rounded by "
                   "their number; --threads N gives all another\n",
                   (long long)fewestThreads, (long long)mostThreads, (long long)fewestThreads);
    return agree([&] { train(*training); }) && agree([&] {
             if (rank == 0)
               training->commitOutputs();
           }) && agree([&] { training->checkCheckpoints(running.progress); })
               ? 0
               : status;
  }

private:
  // Does `work` in every rank; when it has thrown in some, the first of them says why. True when it was done in all.
  bool agree(const std::function<void()> &work) {
    std::string error;
    try {
      work();
    } catch (const UsageError &caught) {
      error = caught.what();
      status = 2;
    } catch (const std::exception &caught) {
      error = caught.what();
    }
    int64_t first = link.smallest(error.empty() ? size : rank);
    if (first == rank) {
      std::string who = rank == 0 ? "" : "rank " + std::to_string(rank) + " on " + hostName() + ": ";
      std::fprintf(stderr, "error: %s%s\n", who.c_str(), error.c_str());
      std::fflush(stderr);
    }
    return first == size;
  }

  void checkRankCount(const std::optional<RankEnvironment> &environment) const {
    if (int64_t needed = manifest.grid.rankCount(); needed != size)
      throw link.wrongCount(needed, environment);
  }

  // Which ranks are on this machine, and which of those share this rank's cores.
  void learnMachines() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof cores, &cores);
    std::string mask(reinterpret_cast<char *>(&cores), sizeof cores);
    int64_t machine = machineIdentity();
    std::vector<int64_t> mine = {machine, machine ^ int64_t(std::hash<std::string>()(mask))}, all = link.all(mine);
    std::set<int64_t> different;
    for (int other = 0; other < size; ++other) {
      different.insert(all[2 * other]);
      if (all[2 * other] == mine[0])
        neighbours.push_back(other);
      sharing += all[2 * other + 1] == mine[1];
    }
    machines = int(different.size());
    int64_t own = std::max(1, availableCores() / sharing);
    fewestThreads = link.smallest(own);
    mostThreads = -link.smallest(-own);
  }

  void checkMemory() const {
    double needed = 0;
    for (int neighbour : neighbours)
      needed += double(manifest.deviceOf(neighbour).memoryBytes());
    if (needed > double(machineMemoryBytes()))
      throw InputError(
          format("the %zu ranks on this machine need %s of memory, it has %s: use more machines, a smaller "
                 "micro-batch or a smaller model",
                 neighbours.size(), formatBytes(needed).c_str(), formatBytes(double(machineMemoryBytes())).c_str()));
  }

  // By one rank of each machine, which speaks for the others.
  void checkGpus() const {
    if (manifest.target != Target::Cuda || neighbours.front() != rank)
      return;
    std::vector<int64_t> arenaBytes;
    for (int neighbour : neighbours)
      arenaBytes.push_back(manifest.deviceOf(neighbour).arenaBytes);
    cuda::checkDevices(program, arenaBytes, options.shareDevices);
  }

  // The same in all ranks: into how many parts a sum is cut depends on it, and with it how the sum is rounded.
  int threads() const { return int(options.threads ? options.threads : fewestThreads); }

  void train(Training &training) {
    setLibraryThreads(threads());
    SharedRegion arena(manifest.deviceOf(rank).memoryBytes());
    arena.useLargePages(0, arena.size());
    const Device &device = manifest.deviceOf(rank);
    std::unique_ptr<Transport> transport = link.connect(rankShape(manifest, rank));
    if (options.slowRank > 0 && !options.checkMachine)
      link.watch(*transport, running.progress, manifest, options);
    try {
      if (manifest.target == Target::Cuda) {
        auto index = std::find(neighbours.begin(), neighbours.end(), rank) - neighbours.begin();
        cuda::CudaRank gpu(program, manifest, *transport, arena.data(), int(index),
                           {options.shareDevices, options.makesGraphs(), options.hangTimeout});
        if (rank == 0 && !options.quiet)
          std::printf("%s\n", gpu.describeMemory().c_str());
        training.run(gpu.transport(), gpu.memory(), gpu.code(), running.progress);
      } else {
        HostMemory memory(arena.data(), device.memoryBytes(), device.arenaBytes);
        HostFunctions code(device, program);
        training.run(*transport, memory, code, running.progress);
      }
    } catch (const std::exception &error) {
      fatal("%s", error.what()); // the others are in the middle of their work
    }
  }

  const ppcrt_program &program;
  const Manifest &manifest;
  const Options &options;
  RankLink &link;
  RunningRank running;
  int rank, size;
  int status = 1; // of a run that fails
  int machines = 1;
  int64_t fewestThreads = 1, mostThreads = 1; // that a rank may have, of all ranks
  int sharing = 0;                            // ranks that may run on exactly the cores on which this one may
  std::vector<int> neighbours;                // the ranks of this machine
};

} // namespace

int runConnected(const ppcrt_program &program, const Manifest &manifest, const Options &options, RankLink &link,
                 const std::optional<RankEnvironment> &environment, const Preparation &prepare) {
  return ConnectedRun(program, manifest, options, link).run(environment, prepare);
}

} // namespace ppcrt
