// What the planner must know besides the module: the machine, the software that runs the plan, what that software can
// run.
#ifndef PPC_LIB_TRANSFORMS_PLAN_PLANINPUTS_H
#define PPC_LIB_TRANSFORMS_PLAN_PLANINPUTS_H

#include "dialects/ppc/Ppc.h"
#include "ppc/Planning/PlanSearch.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

namespace mlir::ppc {

struct PlanInputs {
  ModelShape model;
  TrainingJob job;
  Cluster cluster; // as many devices as ranks
  Stack stack;
  const TargetCapabilities &target;
  ParallelLayout base; // the program's precision, no recomputation

  /// A request over these inputs, which must outlive it.
  PlanRequest request() const;
};

/// `cluster`: as findCluster takes it; empty: this machine. Errors: what modelShapeOf, findCluster and clusterOfRanks
/// say.
llvm::Expected<PlanInputs> planInputs(ModuleOp module, StringRef cluster, int64_t ranks,
                                      const TargetCapabilities &target);

/// `ranks` devices of that cluster.
llvm::Expected<Cluster> planMachine(StringRef cluster, int64_t ranks);

/// The layout that expands to a plan, as layoutOfPlan gives it. Errors: the plan is not of degrees of parallelism.
llvm::Expected<ParallelLayout> degreesOf(PlanAttr plan, const PlanInputs &inputs);

} // namespace mlir::ppc

#endif // PPC_LIB_TRANSFORMS_PLAN_PLANINPUTS_H
