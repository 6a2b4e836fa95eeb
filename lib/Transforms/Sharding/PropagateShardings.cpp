// ppc-propagate-shardings: writes what the propagation decides onto the ops.
#include "dialects/ppc/IR/FunctionAttrs.h"
#include "ppc/Analysis/PlanCuts.h"
#include "ppc/Transforms/Sharding/Passes.h"
#include "ppc/Transforms/Sharding/ShardingPropagation.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PROPAGATESHARDINGSPASS
#include "ppc/Transforms/Sharding/Passes.h.inc"

namespace {

struct PropagateShardingsPass : impl::PropagateShardingsPassBase<PropagateShardingsPass> {
  void runOnOperation() override {
    PlanAttr plan = planOf(getOperation());
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-make-plan and ppc-apply-plan first");
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (failed(verifyStatedAxes(function, plan.getGrid())))
        return signalPassFailure();
      ShardingPropagation propagation(function, plan.getGrid(), activationCuts(plan));
      if (failed(propagation.run()))
        return signalPassFailure();
      annotate(function, propagation);
    }
  }

private:
  void annotate(func::FuncOp function, const ShardingPropagation &propagation) {
    MLIRContext *context = &getContext();
    setArgAttrs(function, attr::sharding, [&](unsigned number) -> Attribute {
      BlockArgument argument = function.getArgument(number);
      return isa<RankedTensorType>(argument.getType()) ? shardingOf(context, propagation.dims(argument))
                                                       : ShardingAttr();
    });
    for (Operation *op : propagation.ops()) {
      const OpSharding &sharding = propagation.sharding(op);
      DictionaryAttr factors = sharding.attribute(context);
      if (factors.empty())
        op->removeAttr(attr::factors);
      else
        op->setAttr(attr::factors, factors);
      SmallVector<Attribute> results;
      for (unsigned number = 0; number < op->getNumResults(); ++number)
        results.push_back(sharding.result(context, number));
      op->setAttr(attr::shardings, ArrayAttr::get(context, results));
    }
    function.walk([&](AccumulateOp accumulate) {
      SmallVector<Attribute> operands, results;
      for (Value argument : accumulate.getBody().getArguments())
        operands.push_back(shardingOf(context, propagation.dims(argument)));
      accumulate->setAttr(attr::operandShardings, ArrayAttr::get(context, operands));
      for (Value value : accumulate.getBody().front().getTerminator()->getOperands())
        results.push_back(stated(value));
      accumulate->setAttr(attr::shardings, ArrayAttr::get(context, results));
    });
    setResultAttrs(function, attr::sharding, [&](unsigned number) {
      ShardingAttr sharding = propagation.demanded(number);
      return sharding ? sharding : stated(function.front().getTerminator()->getOperand(number)).withoutPartial();
    });
  }

  ShardingAttr stated(Value value) {
    ShardingAttr sharding = statedSharding(value);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return sharding ? sharding : ShardingAttr::replicated(&getContext(), type ? type.getRank() : 0);
  }
};

} // namespace
} // namespace mlir::ppc
