#include "ppc/Planning/Chain/ChainComparison.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

bool mlir::ppc::isColumnsAndRows(const OpTemplate &layer, const TemplateOp &op, const OpStrategy &strategy) {
  if (!llvm::all_equal(strategy.axes))
    return false;
  if (op.kernel != TemplateKernel::Product)
    return true;
  int choice = strategy.axes.front();
  for (auto [operand, factors] : llvm::zip_equal(op.operands, op.operandFactors))
    if (layer.values[operand].kind == TemplateValueKind::Parameter)
      return choice >= 0 && llvm::is_contained(factors, choice);
  return true; // of activations
}

/// The constraints with what a layout decides pinned.
static PlanConstraints around(const PlanConstraints &asked, const ParallelLayout &layout) {
  PlanConstraints constraints = asked;
  for (PlanKey key :
       {PlanKey::Dp, PlanKey::Tp, PlanKey::Pp, PlanKey::Vp, PlanKey::Cp, PlanKey::Ep, PlanKey::Etp,
        PlanKey::SequenceParallel, PlanKey::Zero, PlanKey::ShardGroup, PlanKey::MicroBatch, PlanKey::Schedule,
        PlanKey::Recompute, PlanKey::RecomputedLayers, PlanKey::Context, PlanKey::Devices})
    constraints.relax(key);
  constraints.pin(PlanKey::Devices, layout.devices());
  constraints.pin(PlanKey::Tp, layout.tp * layout.cp);
  for (PlanKey key : {PlanKey::Dp, PlanKey::Pp, PlanKey::MicroBatch, PlanKey::Zero, PlanKey::Recompute})
    constraints.pin(key, planValue(layout, key));
  if (layout.dp == 1)
    constraints.pin(PlanKey::Zero, 0);
  if (layout.pp > 1) {
    constraints.pin(PlanKey::Schedule, planValue(layout, PlanKey::Schedule));
    constraints.pin(PlanKey::Vp, layout.vp);
  }
  constraints.stageLayers = layout.stageLayers;
  return constraints;
}

llvm::Expected<std::vector<ChainComparison>> mlir::ppc::compareOpCuts(const ChainRequest &request,
                                                                      llvm::ArrayRef<ParallelLayout> layouts) {
  std::vector<ChainComparison> comparisons;
  for (auto [number, layout] : llvm::enumerate(layouts)) {
    ChainComparison comparison;
    comparison.plan = number;
    if (layout.tp * layout.cp == 1)
      comparison.reason = "nothing is sharded";
    else if (layout.ep > 1 || layout.etp > 1)
      comparison.reason = "experts have a mesh of their own";
    if (!comparison.reason.empty()) {
      comparisons.push_back(std::move(comparison));
      continue;
    }
    ChainRequest one = request;
    one.constraints = around(request.constraints, layout);
    one.topK = 1;
    auto search = [&](std::optional<ChainPlan> &plan) -> llvm::Error {
      llvm::Expected<ChainSearchResult> result = searchChainPlan(one);
      if (!result)
        return result.takeError();
      if (result->plans.empty())
        comparison.reason = result->reason;
      else
        plan = std::move(result->plans.front());
      return llvm::Error::success();
    };
    if (llvm::Error error = search(comparison.free))
      return std::move(error);
    if (comparison.free) {
      one.mostAxes = 1;
      one.allowStrategy = isColumnsAndRows;
      if (llvm::Error error = search(comparison.menu))
        return std::move(error);
    }
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}
