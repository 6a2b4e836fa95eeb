// Reading environment variables.
#include "runtime/core/RankEnvironment.h"

#include <climits>
#include <cstdlib>

namespace ppcrt {
namespace {

// -1 when the variable is absent or no number.
int number(const char *name) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return -1;
  char *end;
  long value = std::strtol(text, &end, 10);
  return *end || value < 0 || value > INT_MAX ? -1 : int(value);
}

std::optional<RankEnvironment> read(LauncherKind kind, const char *launcher, const char *rank, const char *size,
                                    const char *localSize) {
  RankEnvironment found{kind, launcher, number(rank), size ? number(size) : 0, localSize ? number(localSize) : 0};
  if (found.rank < 0 || found.size < 0 || (found.size > 0 && found.rank >= found.size))
    return std::nullopt;
  if (found.localSize < 0)
    found.localSize = 0;
  return found;
}

} // namespace

std::optional<RankEnvironment> readRankEnvironment() {
  if (auto found = read(LauncherKind::OpenMpi, "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                        "OMPI_COMM_WORLD_LOCAL_SIZE"))
    return found;
  if (std::getenv("SLURM_STEP_ID"))
    if (auto found = read(LauncherKind::Slurm, "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr);
        found && found->size > 1)
      return found;
  if (auto found = read(LauncherKind::Pmi, "a launcher with PMI", "PMI_RANK", "PMI_SIZE", nullptr))
    return found;
  if (auto found = read(LauncherKind::Pmi, "a launcher with PMIx", "PMIX_RANK", nullptr, nullptr))
    return found;
  if (std::getenv("MASTER_ADDR"))
    return read(LauncherKind::Torchrun, "torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE");
  return std::nullopt;
}

} // namespace ppcrt
