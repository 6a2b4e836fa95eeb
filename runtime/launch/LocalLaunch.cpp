// Ranks forked by this process: everything that can be refused is checked before a rank exists.
#include "runtime/core/Error.h"
#include "runtime/host/Launcher.h"
#include "runtime/host/LocalTransport.h"
#include "runtime/host/Machine.h"
#include "runtime/host/Threads.h"
#include "runtime/launch/Launch.h"
#include "runtime/launch/Training.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace ppcrt {
namespace {

LocalWorldShape worldShape(const Manifest &manifest) {
  LocalWorldShape shape;
  const Grid &grid = manifest.grid;
  for (int64_t rank = 0; rank < grid.rankCount(); ++rank) {
    const Stage &stage = manifest.stageOf(rank);
    shape.arenaBytes.push_back(stage.arenaBytes);
    for (const Action &action : stage.actions)
      if (action.kind == ActionKind::Send)
        shape.messages.push_back(
            {int(rank), int(grid.rankAtStage(rank, action.stage)), {action.tag, action.microBatch}});
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

void checkMemory(const LocalWorldShape &shape) {
  double needed = std::accumulate(shape.arenaBytes.begin(), shape.arenaBytes.end(), 0.0);
  if (needed > double(machineMemoryBytes()))
    throw InputError(format("the %zu ranks need %s of memory, this machine has %s: compile for more machines, a "
                            "smaller micro-batch or a smaller model",
                            shape.arenaBytes.size(), formatBytes(needed).c_str(),
                            formatBytes(double(machineMemoryBytes())).c_str()));
}

int runRank(Training &training, LocalWorld &world, int rank, const Options &options) {
  RankStatus &status = world.status(rank);
  setFatalMessageBuffer(status.message, sizeof status.message);
  try {
    int cores = availableCores(), count = world.rankCount();
    SharedWord::setSpinning(count <= cores);
    setLibraryThreads(options.threads ? int(options.threads) : std::max(1, cores / count));
    LocalTransport transport(world, rank);
    training.run(transport, world.arena(rank), status.step);
  } catch (const std::exception &error) {
    fatal("%s", error.what());
  }
  return 0;
}

} // namespace

int launchLocal(const ppcrt_program &program, const Manifest &manifest, const Options &options) {
  Training training(program, manifest, options);
  training.createOutputs();
  LocalWorldShape shape = worldShape(manifest);
  checkMemory(shape);
  LocalWorld world(shape);
  LaunchedRanks ranks;
  ranks.count = world.rankCount();
  ranks.body = [&](int rank) { return runRank(training, world, rank, options); };
  ranks.describe = [&](int rank) {
    int64_t step = world.status(rank).step;
    return manifest.grid.describe(rank) + (step ? format(" in step %lld", (long long)step) : "");
  };
  ranks.message = [&](int rank) { return std::string(world.status(rank).message); };
  ranks.waits = [&](int rank) { return world.status(rank).waits.load(); };
  ranks.describeWait = [&](int rank) { return describeWait(world.status(rank)); };
  int status = runRanks(ranks);
  if (status == 0)
    training.commitOutputs();
  return status;
}

} // namespace ppcrt
