// ppc-verify-planned: every value has a sharding, and a legal one.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Analysis/OpSharding.h"
#include "ppc/Transforms/Contracts/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_VERIFYPLANNEDPASS
#include "ppc/Transforms/Contracts/Passes.h.inc"

namespace {

struct VerifyPlannedPass : impl::VerifyPlannedPassBase<VerifyPlannedPass> {
  void runOnOperation() override {
    plan = planOf(getOperation());
    bool valid = bool(plan);
    if (!plan)
      getOperation().emitError("has no ppc.plan: run ppc-make-plan first");
    else
      for (auto function : getOperation().getOps<func::FuncOp>())
        valid &= function.isExternal() || succeeded(verifyFunction(function));
    if (!valid)
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verifyFunction(func::FuncOp function) {
    bool valid = true;
    auto report = [&]() -> InFlightDiagnostic { return function.emitError(); };
    for (auto [number, type] : llvm::enumerate(function.getArgumentTypes()))
      valid &=
          succeeded(verifyPlace(report, "argument", number, type, function.getArgAttr(number, attr::sharding), false));
    for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
      valid &=
          succeeded(verifyPlace(report, "result", number, type, function.getResultAttr(number, attr::sharding), false));
    function.walk([&](Operation *op) { valid &= op == function || succeeded(verifyOp(op)); });
    return success(valid);
  }

  /// One statement of a sharding, for a value of type `type`.
  LogicalResult verifyPlace(function_ref<InFlightDiagnostic()> report, StringRef what, unsigned number, Type type,
                            Attribute stated, bool mayBePending) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return success();
    auto sharding = dyn_cast_or_null<ShardingAttr>(stated);
    if (!sharding)
      return report() << what << " " << number << " has no sharding: run ppc-propagate-shardings";
    if (int64_t(sharding.getDims().size()) != tensor.getRank())
      return report() << what << " " << number << " of type " << type << " cannot have the sharding " << sharding;
    if (sharding.isPartial() && !mayBePending)
      return report() << what << " " << number << " is partial: " << sharding;
    for (StringAttr axis : sharding.getPartialAxes())
      if (!plan.getGrid().has(axis))
        return report() << what << " " << number << " is partial over axis " << axis
                        << ", which the mesh does not have";
    for (auto [extent, axes] : llvm::zip(tensor.getShape(), sharding.getDims())) {
      for (StringRef axis : axisNames(axes))
        if (!plan.getGrid().has(axis))
          return report() << what << " " << number << " is sharded over axis \"" << axis
                          << "\", which the mesh does not have";
      if (plan.getGrid().product(axes) > extent)
        return report() << what << " " << number << " of type " << type << " cannot have the sharding " << sharding
                        << ": " << plan.getGrid().product(axes) << " devices for " << extent << " elements";
    }
    return success();
  }

  LogicalResult verifyOp(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return success();
    auto report = [&]() -> InFlightDiagnostic { return op->emitOpError(); };
    for (auto [number, result] : llvm::enumerate(op->getResults()))
      if (failed(verifyPlace(report, "result", number, result.getType(), statedSharding(result), true)))
        return failure();
    if (auto layer = op->getAttrOfType<IntegerAttr>(attr::layer)) {
      int64_t stage = std::distance(plan.getStages().begin(), llvm::upper_bound(plan.getStages(), layer.getInt())) - 1;
      auto stated = op->getAttrOfType<IntegerAttr>(attr::stage), slice = op->getAttrOfType<IntegerAttr>(attr::slice);
      if (slice)
        stage += slice.getInt() * int64_t(plan.getStages().size());
      if (!stated || stated.getInt() != stage)
        return op->emitOpError() << "is of layer " << layer.getInt() << " and belongs to stage " << stage
                                 << ": run ppc-apply-plan";
    }
    FailureOr<OpSharding> sharding = OpSharding::read(op, plan.getGrid());
    if (failed(sharding))
      return failure();
    if (!isa<ShardingRuleOpInterface>(op) || isa<AccumulateOp, ReshardOp>(op))
      return success();
    for (auto [number, result] : llvm::enumerate(op->getResults())) {
      ShardingAttr made = sharding->result(op->getContext(), number), stated = statedSharding(result);
      if (made.getDims() != stated.getDims())
        return op->emitOpError() << "states result " << number << " as " << stated << ", but its factors make it "
                                 << made;
    }
    return success();
  }

  PlanAttr plan;
};

} // namespace
} // namespace mlir::ppc
