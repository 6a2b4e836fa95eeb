// ppcrt_main: reads the command line and the manifest, then starts the ranks or becomes one.
#include "runtime/launch/Launch.h"
#include "runtime/core/Error.h"
#include "runtime/core/File.h"
#include "runtime/core/Machine.h"
#include "runtime/core/PlanExecutor.h"
#include "runtime/core/RunFiles.h"
#include "runtime/launch/Training.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace ppcrt {
namespace {

using Launcher = int (*)(const ppcrt_program &, const Manifest &, const Options &,
                         const std::optional<RankEnvironment> &, const Preparation &);

// What connects ranks that were started apart; null: this process forks them. Without --transport, the environment
// decides. torchrun connects its processes to torch only: on one machine the first of them forks the ranks and the
// others have nothing to do; on several they connect themselves.
Launcher connectingLauncher(const Options &options, const std::optional<RankEnvironment> &environment) {
  bool areSeveralMachines = environment && environment->kind == LauncherKind::Torchrun &&
                            environment->localSize != environment->size && environment->size > 1;
  if (options.transport == "tcp" || (options.transport.empty() && areSeveralMachines))
    return launchStore;
  bool isOfLauncher = environment && environment->kind != LauncherKind::Torchrun;
  return options.transport == "mpi" || (options.transport.empty() && isOfLauncher) ? launchMpi : nullptr;
}

// The launcher through which a rank tells the others that its options cannot be used. Null if no rank waits for it:
// one process forked them all, or mpirun ends them all when this one ends.
Launcher tellingLauncher(const Options &options, const std::optional<RankEnvironment> &environment) {
  bool isUnsure = options.hidesTransport || options.guessesTransport;
  if (!environment || (options.hidesTransport && environment->size <= 1) ||
      (isUnsure && environment->kind == LauncherKind::OpenMpi))
    return nullptr;
  return options.hidesTransport ? launchStore : connectingLauncher(options, environment);
}

// Whether this process is the one that forks the ranks.
bool forksRanks(const std::optional<RankEnvironment> &environment) {
  if (!environment || environment->size <= 1)
    return true;
  if (environment->kind != LauncherKind::Torchrun)
    throw InputError(format("--transport local forks the ranks in one process, but %s started %d: start the program "
                            "alone, or leave the option out",
                            environment->launcher.c_str(), environment->size));
  if (environment->localSize != environment->size)
    throw InputError("torchrun started processes on several machines, which --transport local does not connect: leave "
                     "the option out");
  return environment->rank == 0;
}

void saveTokens(const Options &options, const Manifest &manifest) {
  DataRequest request = dataRequest(options, manifest);
  request.checkedBytes = INT64_MAX;
  TokenData tokens(request);
  if (!tokens.note().empty() && !options.quiet)
    std::fprintf(stderr, "note: %s\n", tokens.note().c_str());
  forOption("--save-tokens", [&] { tokens.save(options.saveTokens); });
  if (!options.quiet)
    std::printf("data: %s\nwritten to %s\n", tokens.describe().c_str(), options.saveTokens.c_str());
}

// Seconds for which a process of a launcher waits for others that may not come.
constexpr double patience = 5;

// Options that a program for GPUs does not have, or no other, and those that ranks on one machine have alone.
void checkTarget(const Manifest &manifest, const Options &options, bool isConnected) {
  if (isConnected && !options.emulate.empty())
    throw InputError(
        "--emulate knows ranks that share one machine: start the program alone, or with --transport local");
  if (manifest.target == Target::Cuda && !options.emulate.empty())
    throw InputError("--emulate holds the routines of processors to times, and this program is for GPUs");
  for (const char *name : {"--share-devices", "--launches"})
    if (manifest.target != Target::Cuda && options.isGiven(name))
      throw InputError(format("%s: this program is for no GPU: leave the option out", name));
}

// Whether something has started as many processes as the environment says; else they were started by hand, or this one
// alone has variables of others.
bool hasLauncher(const RankEnvironment &environment) {
  return environment.kind != LauncherKind::Torchrun || std::getenv("TORCHELASTIC_RUN_ID");
}

// What is said without ranks: the first process says it. Others of a launcher wait for each process all the same, so it
// comes to them, for a short time, and hears whether they were asked for the same. Where nobody comes, nothing is
// wrong.
int answer(const ppcrt_program &program, const Manifest &manifest, Options options,
           const std::optional<RankEnvironment> &environment, const std::string &text) {
  constexpr double patienceAlone = 1; // seconds
  if (!environment || environment->rank == 0)
    std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  Launcher connecting = connectingLauncher(options, environment);
  if (!connecting || !environment || environment->size <= 1)
    return 0;
  if (!options.isGiven("--join-timeout"))
    options.joinTimeout = hasLauncher(*environment) ? patience : patienceAlone;
  options.needsOthers = false;
  return connecting(program, manifest, options, environment, [] { return 0; });
}

int start(const ppcrt_program &program, int argc, char **argv, const std::optional<RankEnvironment> &environment) {
  Options options = readOptions(argc, argv);
  if (program.abi_version != PPCRT_ABI_VERSION)
    throw InputError(format("the program was compiled for ABI %u, this runtime has ABI %d: compile it again",
                            program.abi_version, PPCRT_ABI_VERSION));
  Manifest manifest = parseManifest({program.manifest, program.manifest_size});
  if (!options.problem.empty()) {
    Launcher telling = tellingLauncher(options, environment);
    if (!telling)
      checkWords(options);
    if (options.hidesTransport && hasLauncher(*environment)) // they may be elsewhere; this one ends them soon
      options.joinTimeout = std::min(options.joinTimeout, patience);
    return telling(program, manifest, options, environment, [] { return 0; });
  }
  Launcher connecting = connectingLauncher(options, environment);
  if (options.help)
    return answer(program, manifest, options, environment, helpText(argc ? argv[0] : "train"));
  if (options.version)
    return answer(program, manifest, options, environment,
                  format("ppc program: model %s, %lld ranks, ABI %d\n", manifest.model.c_str(),
                         (long long)manifest.grid.rankCount(), PPCRT_ABI_VERSION));
  if (options.showPlan)
    return answer(program, manifest, options, environment, manifest.plan);
  auto prepare = [&]() -> std::optional<int> {
    checkOptions(options);
    checkRunFiles(options);
    if (!options.saveTokens.empty()) {
      if (!environment || environment->rank == 0)
        saveTokens(options, manifest);
      return 0;
    }
    checkEntries(manifest, program);
    checkTarget(manifest, options, connecting != nullptr);
    return std::nullopt;
  };
  if (connecting)
    return connecting(program, manifest, options, environment, prepare);
  if (std::optional<int> status = prepare())
    return *status;
  return forksRanks(environment) ? launchLocal(program, manifest, options) : 0;
}

// Of several processes that find the same thing wrong before they are connected, the first says so at once; its end
// makes the launcher stop the others, which speak up only if that has not happened.
// Returns how the others name themselves.
std::string waitForTheFirst(const std::optional<RankEnvironment> &environment) {
  if (!environment || environment->rank == 0)
    return "";
  sleep(2);
  return format("rank %d on %s: ", environment->rank, hostName().c_str());
}

} // namespace

RankWatch::Limits watchLimits(const Options &options) {
  return {options.slowRank, std::max(options.slowRankAfter, 1.0)};
}

} // namespace ppcrt

int ppcrt_main(const ppcrt_program *program, int argc, char **argv) {
  ppcrt::reserveStandardStreams();
  int status = 1;
  std::optional<ppcrt::RankEnvironment> environment;
  std::signal(SIGXFSZ, SIG_IGN); // a file that may not grow is an error like a full disk
  try {
    environment = ppcrt::readRankEnvironment();
    status = ppcrt::start(*program, argc, argv, environment);
  } catch (const ppcrt::UsageError &error) {
    std::string who = ppcrt::waitForTheFirst(environment);
    std::fprintf(stderr, "error: %s%s\n", who.c_str(), error.what());
    status = 2;
  } catch (const std::exception &error) {
    std::string who = ppcrt::waitForTheFirst(environment);
    std::fprintf(stderr, "error: %s%s\n", who.c_str(), error.what());
  }
  std::fflush(nullptr);
  return status;
}
