// The phases by name, for ppc-opt.
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Phases/TargetPhases.h"
#include "ppc/Transforms/Memory/Passes.h"
#include "ppc/Transforms/Outline/Passes.h"
#include "ppc/Transforms/Profile/Passes.h"
#include "llvm/Support/ErrorHandling.h"

namespace mlir::ppc {
namespace {
struct DevicePhaseOptions : PassPipelineOptions<DevicePhaseOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("device family whose programs are made"),
                             llvm::cl::init(defaultTarget().name.str())};
};
} // namespace

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

void registerTargetPhases() {
  registerPpcMemoryPasses();
  registerPpcOutlinePasses();
  registerPpcProfilePasses();
  func::registerDuplicateFunctionEliminationPass();
  static PassPipelineRegistration<DevicePhaseOptions> device(
      "ppc-phase-device", "partition -> device: bodies merged and lowered by the target, buffers at offsets",
      [](OpPassManager &pm, const DevicePhaseOptions &options) {
        llvm::Expected<const Target *> target = findTarget(options.target);
        if (!target) // a pipeline has no other way to say it
          llvm::report_fatal_error(target.takeError(), /*gen_crash_diag=*/false);
        buildDevicePhase(pm, **target);
      });
  static std::vector<std::string> names; // of the registrations, which keep no text
  names.reserve(targets().size());
  for (const Target *target : targets()) {
    target->registerPasses();
    names.push_back("ppc-phase-" + target->capabilities().name.str());
    PassPipelineRegistration<>(names.back(), "device -> code of the target",
                               [target](OpPassManager &pm) { target->addCodePasses(pm); });
  }
}

void registerTargetDialects(DialectRegistry &registry) {
  for (const Target *target : targets())
    target->registerDialects(registry);
}

} // namespace mlir::ppc
