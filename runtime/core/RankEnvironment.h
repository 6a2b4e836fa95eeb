// Who started this process: alone, or as one of several by a launcher, which says so in environment variables.
#pragma once

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
// WORLD_SIZE with MASTER_ADDR (torchrun). Empty: nobody. Values that are no numbers count as absent.
std::optional<RankEnvironment> readRankEnvironment();

} // namespace ppcrt
