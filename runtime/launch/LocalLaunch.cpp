// Ranks forked by this process: everything that can be refused is checked before a rank exists.
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"
#include "runtime/base/Machine.h"
#include "runtime/cuda/CudaRank.h"
#include "runtime/host/HostMemory.h"
#include "runtime/host/Threads.h"
#include "runtime/launch/EmulatedWorld.h"
#include "runtime/launch/Launch.h"
#include "runtime/launch/Launcher.h"
#include "runtime/launch/Training.h"
#include "runtime/local/LocalTransport.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>
#include <sys/prctl.h>

namespace ppcrt {

LocalWorldShape worldShape(const Manifest &manifest) {
  LocalWorldShape shape;
  const Grid &grid = manifest.grid;
  for (int64_t rank = 0; rank < grid.rankCount(); ++rank) {
    const Device &device = manifest.deviceOf(rank);
    shape.arenaBytes.push_back(device.memoryBytes());
    device.forEachMessage([&](const MessageEnd &end, int64_t microBatch) {
      if (end.isSent)
        shape.messages.push_back({int(rank), int(grid.rankAtStage(rank, end.peer)), {end.tag, microBatch}});
    });
  }
  for (const GroupSpec &group : manifest.groups) {
    std::set<std::vector<int>> instances;
    for (int64_t rank = 0; rank < grid.rankCount(); ++rank)
      if (std::vector<int> members = groupMembers(grid, group, rank); !members.empty())
        instances.insert(members);
    shape.groups.emplace_back(instances.begin(), instances.end());
  }
  return shape;
}

namespace {

void checkMemory(const LocalWorldShape &shape) {
  double needed = std::accumulate(shape.arenaBytes.begin(), shape.arenaBytes.end(), 0.0);
  if (needed > double(machineMemoryBytes()))
    throw InputError(format("the %zu ranks need %s of memory, this machine has %s: compile for more machines, a "
                            "smaller micro-batch or a smaller model",
                            shape.arenaBytes.size(), formatBytes(needed).c_str(),
                            formatBytes(double(machineMemoryBytes())).c_str()));
}

int runRank(const ppcrt_program &program, const Manifest &manifest, Training &training, LocalWorld &world, int rank,
            int threads, const Options &options) {
  RankStatus &status = world.status(rank);
  setFatalMessageBuffer(status.message, sizeof status.message);
  try {
    setLibraryThreads(threads);
    if (training.isEmulated())
      prctl(PR_SET_TIMERSLACK, 1000UL); // nanoseconds: sleep until deadlines, and not 50 us longer
    LocalTransport transport(world, rank, world.rankCount() <= availableCores());
    if (manifest.target == Target::Cuda) {
      cuda::CudaRank gpu(program, manifest, transport, world.arena(rank), rank,
                         {options.shareDevices, options.makesGraphs(), options.hangTimeout});
      if (rank == 0 && !options.quiet)
        std::printf("%s\n", gpu.describeMemory().c_str());
      training.run(gpu.transport(), gpu.memory(), gpu.code(), status);
    } else {
      const Device &device = manifest.deviceOf(rank);
      HostMemory memory(world.arena(rank), device.memoryBytes(), device.arenaBytes);
      HostFunctions code(device, program);
      training.run(transport, memory, code, status);
    }
  } catch (const std::exception &error) {
    fatal("%s", error.what());
  }
  return 0;
}

// Names ranks that hold up the others, from the launcher.
class LocalWatch {
public:
  LocalWatch(const Manifest &manifest, const Options &options, const LocalWorld &world)
      : world(world), isOff(options.slowRank <= 0 || options.checkMachine), quiet(options.quiet),
        ranks(manifest, watchLimits(options), "its process is stopped", 1), lastSeenRunning(size_t(world.rankCount())) {
  }

  // "; stopped: rank 1 (dp=1)", or nothing.
  std::string stoppedRanks(const Manifest &manifest) const {
    std::string text;
    for (size_t rank = 0; rank < lastProcesses.size(); ++rank)
      if (lastProcesses[rank] && isStopped(lastProcesses[rank]))
        text += (text.empty() ? "; stopped: " : ", ") + manifest.grid.describe(int64_t(rank));
    return text;
  }

  // LaunchedRanks::look.
  bool look(const std::vector<int> &processes) {
    lastProcesses = processes;
    double time = now();
    bool someStopped = false;
    std::vector<RankWatch::Look> looks{processes.size()};
    for (size_t rank = 0; rank < processes.size(); ++rank) {
      bool isThere = processes[rank] != 0, stopped = isThere && isStopped(processes[rank]);
      someStopped |= stopped;
      if (!stopped)
        lastSeenRunning[rank] = time;
      looks[rank] = {snapshot(world.status(int(rank)), time), time - lastSeenRunning[rank], isThere};
    }
    if (!isOff)
      print(ranks.look(looks, time), quiet);
    return someStopped;
  }

private:
  const LocalWorld &world;
  bool isOff, quiet;
  RankWatch ranks;
  std::vector<double> lastSeenRunning; // [rank]: seconds
  std::vector<int> lastProcesses;      // [rank], of the last look
};

// In a process of its own, as a driver that is initialized here could not be used by ranks that are forked later.
void checkDevicesAside(const ppcrt_program &program, const Manifest &manifest, bool mayShare) {
  std::vector<int64_t> arenaBytes;
  for (int64_t rank = 0; rank < manifest.grid.rankCount(); ++rank)
    arenaBytes.push_back(manifest.deviceOf(rank).arenaBytes);
  if (std::string problem = problemInProcess([&] { cuda::checkDevices(program, arenaBytes, mayShare); });
      !problem.empty())
    throw InputError(problem);
}

} // namespace

int launchLocal(const ppcrt_program &program, const Manifest &manifest, const Options &options) {
  std::optional<Emulation> emulation;
  if (!options.emulate.empty())
    emulation = readEmulation(options.emulate, manifest);
  int threads = options.threads ? int(options.threads)
                : emulation     ? 1
                                : std::max(1, availableCores() / int(manifest.grid.rankCount()));
  std::optional<FolderLock> lock; // the ranks hold it with this process
  if (!options.checkpointDir.empty() && !options.checkMachine)
    lock.emplace(options.checkpointDir);
  LocalWorldShape shape = worldShape(manifest);
  if (manifest.target == Target::Cuda)
    checkDevicesAside(program, manifest, options.shareDevices);
  Training training(manifest, options, {"local", threads, lock ? &*lock : nullptr, emulation ? &*emulation : nullptr});
  training.createOutputs();
  if (emulation)
    shape.links = linkLayout(*emulation, manifest, shape);
  checkMemory(shape);
  LocalWorld world(shape);
  LaunchedRanks ranks;
  ranks.count = world.rankCount();
  ranks.body = [&](int rank) { return runRank(program, manifest, training, world, rank, threads, options); };
  ranks.describe = [&](int rank) {
    int64_t step = world.status(rank).step;
    return manifest.grid.describe(rank) + (step ? format(" in step %lld", (long long)step) : "");
  };
  LocalWatch watch(manifest, options, world);
  ranks.message = [&](int rank) {
    std::string message = world.status(rank).message;
    return message.empty() ? message : message + watch.stoppedRanks(manifest);
  };
  ranks.waits = [&](int rank) { return world.status(rank).waits.load(); };
  ranks.describeWait = [&](int rank) { return describeWait(snapshot(world.status(rank), now())); };
  ranks.look = [&](const std::vector<int> &processes) { return watch.look(processes); };
  int status = runRanks(ranks);
  if (status == 0) {
    training.commitOutputs();
    training.checkCheckpoints(world.status(0));
  }
  return status;
}

} // namespace ppcrt
