// From degrees of parallelism to a plan: which axes the grid has, which logical dimensions they cut, where the stages
// begin.
#ifndef PPC_LIB_TRANSFORMS_PLAN_PLANBUILDER_H
#define PPC_LIB_TRANSFORMS_PLAN_PLANBUILDER_H

#include "dialects/ppc/Ppc.h"
#include "ppc/Target/TargetCapabilities.h"

#include <string>

namespace mlir::ppc {

struct PlanDegrees {
  int64_t dp = 1, tp = 1, pp = 1;
  int64_t vp = 0;         // virtual stages per pipeline device; 0: as many as the schedule needs
  int64_t microBatch = 1; // sequences per micro-batch and data-parallel rank
  std::string schedule = "1f1b";
  std::string recompute = "none"; // none, selective or full, of every layer
  /// With full: layers of each stage that are recomputed, its first ones; empty: all of them.
  SmallVector<int64_t> recomputedLayers;
  SmallVector<int64_t>
      layersPerStage;            // of each virtual stage, without embedding and head; empty: the least slowest by FLOPs
  bool sequenceParallel = false; // activations between tensor-parallel regions are cut along the sequence over tp
  int64_t zero = 0;              // 1: optimizer state and update are cut over dp and cp
  int64_t cp = 1;                // parts of each sequence
};

/// Errors, at the module: a degree below 1, a batch that does not divide, stages that do not fit the layers, an unknown
/// schedule, what programs of the target lack, a sequence shorter than tp with sequence parallelism, or that does not
/// divide by cp (then by cp x tp), cp with experts.
FailureOr<PlanAttr> buildPlan(ModuleOp module, const PlanDegrees &degrees, const TargetCapabilities &target);

/// Whether the batch divides into the plan's micro-batches.
LogicalResult checkBatch(ModuleOp module, PlanAttr plan);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_PLAN_PLANBUILDER_H
