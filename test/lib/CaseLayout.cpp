// Layouts of random cases.
#include "CaseLayout.h"
#include "StepResults.h"
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

CaseLayout mlir::ppc::test::readLayout(const llvm::json::Object &layout) {
  CaseLayout result;
  MakePlanPassOptions &plan = result.plan;
  auto degree = [&](StringRef key, int64_t absent) { return layout.getInteger(key).value_or(absent); };
  auto word = [&](StringRef key, StringRef absent) { return layout.getString(key).value_or(absent).str(); };
  plan.planFile = word("plan-file", "");
  plan.dp = degree("dp", 1);
  plan.cp = degree("cp", 1);
  plan.context = word("context", "all-gather");
  plan.tp = degree("tp", 1);
  plan.ep = degree("ep", 1);
  plan.pp = degree("pp", 1);
  plan.vp = degree("vp", 0);
  plan.microBatch = degree("micro-batch", 1);
  plan.zero = degree("zero", 0);
  plan.tpRows = degree("tp-rows", 1), plan.tpDepth = degree("tp-depth", 1);
  plan.shardGroup = degree("shard-group", 0);
  plan.gradientGroup = degree("gradient-group", 0), plan.parameterGroup = degree("parameter-group", 0);
  plan.sequenceParallel = layout.getBoolean("sp").value_or(false);
  plan.schedule = word("schedule", "1f1b");
  plan.recompute = word("recompute", "none");
  plan.offload = word("offload", "none");
  result.rotate = layout.getBoolean("rotate").value_or(false);
  result.overlap = layout.getBoolean("overlap").value_or(false);
  result.pieces = degree("product-pieces", 0);
  return result;
}

std::string mlir::ppc::test::partition(ModuleOp module, const CaseLayout &layout, const TrainOptions &train,
                                       OwningOpRef<ModuleOp> &logical, std::string *unproved) {
  if (std::string error = runPasses(module, [&](OpPassManager &pm) { pm.addPass(createMakePlanPass(layout.plan)); });
      !error.empty())
    return "refused: " + oneLine(error);
  auto plan = module->getAttrOfType<PlanAttr>(attr::plan);
  if (layout.rotate && !plan.getStorage())
    return "refused: there are no blocks of parameters to rotate";
  if (layout.overlap)
    plan = plan.withOverlap(true).withPieces(layout.pieces);
  module->setAttr(attr::plan, layout.rotate ? plan.withRotation(true) : plan);
  if (std::string error = runPasses(module, [&](OpPassManager &pm) { buildTrainPhase(pm, train); }); !error.empty())
    return "failed: train: " + oneLine(error);
  logical = module.clone();
  if (std::string error = runPasses(module, [](OpPassManager &pm) { buildPlanPhase(pm); }); !error.empty())
    return (StringRef(error).contains("use fewer parallel ranks") ? "refused: " : "failed: plan: ") + oneLine(error);
  if (std::string error = runPasses(module, [&](OpPassManager &pm) { buildPartitionPhase(pm, {}, layout.overlap); });
      !error.empty())
    return "failed: partition: " + oneLine(error);
  std::string error = oneLine(proveEquivalence(*logical, module));
  if (unproved)
    *unproved = error;
  return error.empty() || unproved ? "" : "failed: " + error;
}
