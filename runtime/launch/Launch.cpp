// ppcrt_main: everything that can be refused is checked here, before a rank exists; then the ranks run.
#include "runtime/core/Error.h"
#include "runtime/core/LearningRate.h"
#include "runtime/core/Metrics.h"
#include "runtime/core/Options.h"
#include "runtime/core/PlanExecutor.h"
#include "runtime/core/TensorFile.h"
#include "runtime/host/Launcher.h"
#include "runtime/host/Library.h"
#include "runtime/host/LocalTransport.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <unistd.h>

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

// A training run: what the launcher prepares and every rank inherits.
class Run {
public:
  Run(const ppcrt_program &program, const Manifest &manifest, const Options &options)
      : program(program), manifest(manifest), options(options), log(options.log), losses(options.saveLosses) {
    if (options.synthetic) {
      tokens = std::make_unique<RandomTokens>(manifest.sequenceLength, manifest.vocabulary, options.seed);
    } else {
      auto text = std::make_unique<TextData>(options.data, manifest.sequenceLength, manifest.vocabulary, options.seed);
      if (!options.quiet)
        std::printf("data: %lld bytes, unigram entropy %.4f nats\n", (long long)text->size(), text->unigramEntropy());
      tokens = std::move(text);
    }
    if (!options.saveParameters.empty())
      saved.push_back(std::make_unique<TensorFile>(options.saveParameters, manifest, Role::Parameter));
    if (!options.saveGradients.empty())
      saved.push_back(std::make_unique<TensorFile>(options.saveGradients, manifest, Role::Gradient));
    LocalWorldShape shape = worldShape(manifest);
    double needed = std::accumulate(shape.arenaBytes.begin(), shape.arenaBytes.end(), 0.0);
    if (needed > double(machineMemoryBytes()))
      throw InputError(format(
          "the %zu ranks need %s of memory, this machine has %s: compile for more machines, a smaller "
          "micro-batch or a smaller model",
          shape.arenaBytes.size(), formatBytes(needed).c_str(), formatBytes(double(machineMemoryBytes())).c_str()));
    world = std::make_unique<LocalWorld>(shape);
  }

  int launch() {
    LaunchedRanks ranks;
    ranks.count = world->rankCount();
    ranks.body = [&](int rank) { return runRank(rank); };
    ranks.describe = [&](int rank) {
      int64_t step = world->status(rank).step;
      return manifest.grid.describe(rank) + (step ? format(" in step %lld", (long long)step) : "");
    };
    ranks.message = [&](int rank) { return std::string(world->status(rank).message); };
    ranks.waits = [&](int rank) { return world->status(rank).waits.load(); };
    ranks.describeWait = [&](int rank) { return describeWait(world->status(rank)); };
    int status = runRanks(ranks);
    if (status == 0)
      for (const auto &file : saved)
        file->commit();
    return status;
  }

private:
  int runRank(int rank) {
    RankStatus &status = world->status(rank);
    setFatalMessageBuffer(status.message, sizeof status.message);
    try {
      train(rank);
    } catch (const std::exception &error) {
      fatal("%s", error.what());
    }
    return 0;
  }

  void train(int rank) {
    int cores = availableCores(), count = world->rankCount();
    SharedWord::setSpinning(count <= cores);
    setLibraryThreads(options.threads ? int(options.threads) : std::max(1, cores / count));
    LocalTransport transport(*world, rank);
    RankContext context(transport);
    RankContext::current = &context;
    PlanExecutor executor(manifest, program, context, world->arena(rank), *tokens);
    executor.initializeParameters(options.seed);
    LearningRate schedule{options.learningRate, options.minimumLearningRate, options.warmup, options.steps};
    std::unique_ptr<Metrics> metrics;
    if (rank == 0)
      metrics = std::make_unique<Metrics>(manifest, options, log, losses);
    StepReport report{};
    transport.barrier(Transport::everyRank);
    for (int64_t step = 1; step <= options.steps; ++step) {
      world->status(rank).step = step;
      double start = now(), rate = schedule.at(step);
      StepResult result = executor.run(step, rate);
      double seconds = now() - start;
      measureMemory(rank, step == 1 || step == options.steps);
      if (step == options.steps)
        transport.barrier(Transport::everyRank); // so that all measurements are there
      if (!metrics)
        continue;
      report = {step,
                result.loss,
                result.gradNorm,
                rate,
                seconds,
                largest(&RankStatus::peakResident),
                largest(&RankStatus::arenaResident)};
      metrics->report(report, context.traffic);
    }
    for (const auto &file : saved)
      file->writeBlocks(manifest, rank, world->arena(rank));
    if (metrics)
      metrics->summarize(report);
  }

  void measureMemory(int rank, bool arena) {
    world->status(rank).peakResident = peakResidentBytes();
    if (arena)
      world->status(rank).arenaResident = residentBytes(world->arena(rank), manifest.stageOf(rank).arenaBytes);
  }

  double largest(std::atomic<int64_t> RankStatus::*field) const {
    int64_t result = 0;
    for (int rank = 0; rank < world->rankCount(); ++rank)
      result = std::max<int64_t>(result, world->status(rank).*field);
    return double(result);
  }

  const ppcrt_program &program;
  const Manifest &manifest;
  const Options &options;
  LineFile log, losses;
  std::unique_ptr<TokenSource> tokens;
  std::vector<std::unique_ptr<TensorFile>> saved;
  std::unique_ptr<LocalWorld> world;
};

int start(const ppcrt_program &program, int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  if (options.help) {
    std::fputs(helpText(argc ? argv[0] : "train").c_str(), stdout);
    return 0;
  }
  if (program.abi_version != PPCRT_ABI_VERSION)
    throw InputError(format("the program was compiled for ABI %u, this runtime has ABI %d: compile it again",
                            program.abi_version, PPCRT_ABI_VERSION));
  Manifest manifest = parseManifest({program.manifest, program.manifest_size});
  if (options.version) {
    std::printf("ppc program: model %s, %lld ranks, ABI %d\n", manifest.model.c_str(),
                (long long)manifest.grid.rankCount(), PPCRT_ABI_VERSION);
    return 0;
  }
  if (options.showPlan) {
    std::fputs(manifest.plan.c_str(), stdout);
    return 0;
  }
  checkEntries(manifest, program);
  return Run(program, manifest, options).launch();
}

} // namespace
} // namespace ppcrt

int ppcrt_main(const ppcrt_program *program, int argc, char **argv) {
  int status = 1;
  try {
    status = ppcrt::start(*program, argc, argv);
  } catch (const ppcrt::UsageError &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    status = 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  std::fflush(nullptr);
  return status;
}
