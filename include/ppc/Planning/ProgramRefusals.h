// Reasons why ppc-compile makes no program of a model, or of some layouts of it, whatever ops their plans shard.
#ifndef PPC_PLANNING_PROGRAMREFUSALS_H
#define PPC_PLANNING_PROGRAMREFUSALS_H

#include "ppc/CostModel/ParallelLayout.h"

#include <string>

namespace mlir::ppc {

/// First errors of the passes, `FILE:LINE:COLUMN: message`, or the reason in words; "" if nothing is refused.
struct ProgramRefusals {
  std::string model;        ///< under every plan
  std::string microBatches; ///< with more than one micro-batch
  std::string slices;       ///< under schedules that split sequences into slices
  std::string stages;       ///< with more than one pipeline stage
  std::string recompute;    ///< if full layers or attention are recomputed

  /// Keeps its own reasons where both have one.
  void addOf(const ProgramRefusals &other);
  /// Returns the first property of a plan with `batch` samples per step that is refused, as a part of a sentence:
  /// "several micro-batches (...)"; "" if there is none.
  std::string of(const ParallelLayout &layout, int64_t batch) const;
};

} // namespace mlir::ppc

#endif // PPC_PLANNING_PROGRAMREFUSALS_H
