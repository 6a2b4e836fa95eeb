#include "PlanInputs.h"

#include "PlanAttrSections.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Planning/Files/PlanPreset.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {

PlanRequest PlanInputs::request() const {
  PlanRequest request{model, job, cluster, stack, base, {}, Bytes(0)};
  request.refuse = [this](const ParallelLayout &layout) { return lackedBy(target, model, layout, job.sequence); };
  return request;
}

llvm::Expected<Cluster> planMachine(StringRef cluster, int64_t ranks) {
  llvm::Expected<Cluster> machine =
      findCluster(cluster.empty() ? llvm::formatv("local:{0}", ranks).str() : cluster.str());
  if (machine && !cluster.empty())
    machine = clusterOfRanks(*machine, ranks);
  return machine;
}

llvm::Expected<PlanInputs> planInputs(ModuleOp module, StringRef cluster, int64_t ranks,
                                      const TargetCapabilities &target) {
  llvm::Expected<ModelShape> model = modelShapeOf(module);
  if (!model)
    return model.takeError();
  llvm::Expected<TrainingJob> job = trainingJobOf(module);
  if (!job)
    return job.takeError();
  llvm::Expected<Cluster> machine = planMachine(cluster, ranks);
  if (!machine)
    return machine.takeError();
  if (machine->groups.size() > 1)
    return llvm::createStringError("cluster " + machine->name +
                                   " has groups of different devices; programs are built for one kind: ask for "
                                   "as many ranks as its first group has");
  llvm::Expected<Stack> stack = findStack(target.stack);
  if (!stack)
    return stack.takeError();
  PlanInputs inputs{std::move(*model), *job, std::move(*machine), std::move(*stack), target, {}};
  inputs.base.precision = precisionOf(module);
  inputs.base.attention = target.attention;
  return inputs;
}

llvm::Expected<ParallelLayout> degreesOf(PlanAttr plan, const PlanInputs &inputs) {
  return layoutOfPlan(planSections(plan), presetModel(inputs.model, inputs.job), inputs.base);
}

} // namespace mlir::ppc
