// Who started this process: alone, or as one of several by a launcher, which says so in environment variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ppcrt {

enum class LauncherKind { OpenMpi, Slurm, Pmi, Torchrun };

struct RankEnvironment {
  LauncherKind kind;
  std::string launcher; // "mpirun", "srun", "torchrun", ...
  int rank = 0;
  int size = 0;      // processes; 0: the launcher does not say
  int localSize = 0; // of them on this machine; 0: the launcher does not say
};

// In this order: OMPI_COMM_WORLD_RANK and _SIZE (mpirun of Open MPI); SLURM_PROCID within a step of more than one task
// (srun; a batch script alone is no step); PMI_RANK and PMI_SIZE, or PMIX_RANK (other launchers of MPI); RANK and
// WORLD_SIZE with MASTER_ADDR (torchrun). Empty: nobody: the first variable of each is not set, or empty. Throws
// InputError naming variable and value where one of them is no number, or the numbers do not fit each other.
std::optional<RankEnvironment> readRankEnvironment();

// The number that an environment variable holds; none where it is not set or empty. Throws InputError naming it and its
// value where it is larger than `most`, or has a sign, leading zeros or other text.
std::optional<int64_t> numberInEnvironment(const char *name, int64_t most = INT32_MAX);

} // namespace ppcrt
