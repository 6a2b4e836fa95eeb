// ppcrt_main: reads the command line and the manifest, then starts the ranks or becomes one.
#include "runtime/launch/Launch.h"
#include "runtime/core/Error.h"
#include "runtime/core/PlanExecutor.h"

#include <cstdio>

namespace ppcrt {
namespace {

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
  return launchLocal(program, manifest, options);
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
