// The phases by name, for ppc-opt.
#include "ppc/Phases/Phases.h"

namespace mlir::ppc {

void registerPpcPhases() {
  static PassPipelineRegistration<> import("ppc-phase-import", "Check that the module is a logical model",
                                           [](OpPassManager &pm) { buildImportPhase(pm); });
  static PassPipelineRegistration<TrainOptions> train(
      "ppc-phase-train", "A loss becomes a training step: gradients, micro-batches, optimizer", buildTrainPhase);
  static PassPipelineRegistration<> plan(
      "ppc-phase-plan", "Apply ppc.plan: a sharding on every value, a stage on every op", buildPlanPhase);
  static PassPipelineRegistration<> partition("ppc-phase-partition",
                                              "One program per stage: local shapes, collectives, messages, schedule",
                                              [](OpPassManager &pm) { buildPartitionPhase(pm); });
}

} // namespace mlir::ppc
