// Reading environment variables.
#include "runtime/transport/RankEnvironment.h"
#include "runtime/base/Error.h"

#include <cstdlib>
#include <cstring>

namespace ppcrt {
namespace {

std::optional<RankEnvironment> read(LauncherKind kind, const char *launcher, const char *rank, const char *size,
                                    const char *localSize) {
  std::optional<int64_t> number = numberInEnvironment(rank);
  if (!number)
    return std::nullopt;
  std::optional<int64_t> count = size ? numberInEnvironment(size) : 0;
  if (!count)
    throw InputError(format("%s is %lld and %s is not set: %s sets both", rank, (long long)*number, size, launcher));
  if (size && *number >= *count)
    throw InputError(format("%s is %lld and %s is %lld: ranks are numbers from 0 to %s - 1", rank, (long long)*number,
                            size, (long long)*count, size));
  std::optional<int64_t> local = localSize ? numberInEnvironment(localSize) : 0;
  if (local && count && *count > 0 && *local > *count)
    throw InputError(format("%s is %lld and %s is %lld: no more can be on this machine than there are", localSize,
                            (long long)*local, size, (long long)*count));
  return RankEnvironment{kind, launcher, int(*number), int(*count), int(local.value_or(0))};
}

} // namespace

std::optional<int64_t> numberInEnvironment(const char *name, int64_t most) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return std::nullopt;
  bool isPlain = std::strspn(text, "0123456789") == std::strlen(text) && (text[0] != '0' || !text[1]);
  int64_t value = isPlain ? std::strtoll(text, nullptr, 10) : -1; // the largest where it is longer
  if (value < 0 || value > most)
    throw InputError(
        format("environment variable %s: expected an integer from 0 to %lld, found \"%s\": the launcher sets "
               "it, or unset it",
               name, (long long)most, text));
  return value;
}

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
