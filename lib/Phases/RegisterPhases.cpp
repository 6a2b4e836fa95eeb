// The phases by name, for ppc-opt.
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Phases/TargetPhases.h"
#include "ppc/Transforms/Memory/Passes.h"
#include "ppc/Transforms/Outline/Passes.h"
#include "ppc/Transforms/Profile/Passes.h"

namespace mlir::ppc {

using PassPipelineError = function_ref<LogicalResult(const Twine &)>;

namespace {
struct DevicePhaseOptions : PassPipelineOptions<DevicePhaseOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("device family whose programs are made"),
                             llvm::cl::init(defaultTarget().name.str())};
};
} // namespace

/// Registers a pipeline of passes on modules. Nested in another op it is an error of the pipeline's text, as a pass
/// would be: MLIR ends the process where a pipeline adds passes to a manager for other ops.
template <typename Options>
static void registerPhase(StringRef name, StringRef description,
                          std::function<LogicalResult(OpPassManager &, const Options &, PassPipelineError)> build) {
  registerPassPipeline(
      name, description,
      [=](OpPassManager &pm, StringRef text, PassPipelineError error) -> LogicalResult {
        StringRef within = pm.getOpAnchorName();
        if (within != ModuleOp::getOperationName())
          return error("'" + name + "' runs on 'builtin.module', so it cannot be nested in '" + within + "'");
        Options options;
        return failure(failed(options.parseFromString(text)) || failed(build(pm, options, error)));
      },
      [](function_ref<void(const ::mlir::detail::PassOptions &)> visit) { visit(Options()); });
}

/// Registers a phase without options.
static void registerPhase(StringRef name, StringRef description, std::function<void(OpPassManager &)> build) {
  registerPhase<EmptyPipelineOptions>(name, description,
                                      [=](OpPassManager &pm, const EmptyPipelineOptions &, PassPipelineError) {
                                        build(pm);
                                        return success();
                                      });
}

void registerPpcPhases() {
  registerPhase("ppc-phase-import", "Check that the module is a logical model",
                [](OpPassManager &pm) { buildImportPhase(pm); });
  registerPhase<TrainOptions>("ppc-phase-train", "A loss becomes a training step: gradients, micro-batches, optimizer",
                              [](OpPassManager &pm, const TrainOptions &options, PassPipelineError) {
                                buildTrainPhase(pm, options);
                                return success();
                              });
  registerPhase("ppc-phase-plan", "Apply ppc.plan: a sharding on every value, a stage on every op", buildPlanPhase);
  registerPhase("ppc-phase-partition", "One program per stage: local shapes, collectives, messages, schedule",
                [](OpPassManager &pm) { buildPartitionPhase(pm); });
}

void registerTargetPhases() {
  registerPpcMemoryPasses();
  registerPpcOutlinePasses();
  registerPpcProfilePasses();
  func::registerDuplicateFunctionEliminationPass();
  registerPhase<DevicePhaseOptions>(
      "ppc-phase-device",
      "partition -> device: compiled functions merged and lowered by the target, buffers at offsets",
      [](OpPassManager &pm, const DevicePhaseOptions &options, PassPipelineError error) -> LogicalResult {
        llvm::Expected<const Target *> target = findTarget(options.target);
        if (!target)
          return error(llvm::toString(target.takeError()));
        buildDevicePhase(pm, **target);
        return success();
      });
  static std::vector<std::string> names; // names of the registrations, which store only references to text
  names.reserve(targets().size());
  for (const Target *target : targets()) {
    target->registerPasses();
    names.push_back("ppc-phase-" + target->capabilities().name.str());
    registerPhase(names.back(), "device -> code of the target",
                  [target](OpPassManager &pm) { target->addCodePasses(pm); });
  }
}

void registerTargetDialects(DialectRegistry &registry) {
  for (const Target *target : targets())
    target->registerDialects(registry);
}

} // namespace mlir::ppc
