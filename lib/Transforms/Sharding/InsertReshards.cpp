// ppc-insert-reshards: every use sees the sharding that it needs. Where pending sums are reduced is PartialFlow's
// decision; here it is carried out.
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ReshardCost.h"
#include "ppc/Transforms/Sharding/PartialFlow.h"
#include "ppc/Transforms/Sharding/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_INSERTRESHARDSPASS
#include "ppc/Transforms/Sharding/Passes.h.inc"

namespace {

/// Rewrites one function.
class ReshardInserter {
public:
  ReshardInserter(func::FuncOp function, GridAttr grid)
      : function(function), grid(grid), context(function.getContext()), flow(function, grid), plans(grid) {}

  LogicalResult run();

private:
  /// One form of a value. A form that was gathered after the forward pass is there from that part of the step on.
  struct Version {
    Value value;
    ShardingAttr sharding;
    Part from = Part::Forward;
  };

  LogicalResult rewriteBlock(Block &block);
  LogicalResult rewrite(Operation *op);
  LogicalResult rewriteOperand(OpOperand &operand, ShardingAttr dims);
  LogicalResult regroup(SumOp sum);
  FailureOr<Value> convert(Value value, ShardingAttr needed, Operation *user);
  Value repeat(Operation *op, ShardingAttr needed);
  bool isGatheredAgain(Value value, ShardingAttr sharding, Operation *user);
  void annotate(Operation *op);

  ShardingAttr replicated(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return ShardingAttr::replicated(context, type ? type.getRank() : 0);
  }
  /// `dims` with `pending`, axes in the order of the grid so that equal shardings are equal attributes.
  ShardingAttr with(ShardingAttr dims, const Pending &pending) {
    for (StringAttr axis : grid.getNames())
      if (auto it = pending.find(axis); it != pending.end())
        dims = withPartial(dims, axis, it->second);
    return dims;
  }

  func::FuncOp function;
  GridAttr grid;
  MLIRContext *context;
  PartialFlow flow;
  ReshardPlans plans;
  DenseMap<Value, ShardingAttr> shardings; ///< of every value as it is made
  DenseMap<std::pair<Value, Block *>, SmallVector<Version>> versions;
};

LogicalResult ReshardInserter::run() {
  if (failed(flow.run()))
    return failure();
  for (BlockArgument argument : function.getArguments()) {
    ShardingAttr stated = statedSharding(argument);
    shardings[argument] = stated ? stated : replicated(argument);
  }
  return rewriteBlock(function.front());
}

LogicalResult ReshardInserter::rewriteBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(rewrite(&op)))
      return failure();
  return success();
}

LogicalResult ReshardInserter::rewrite(Operation *op) {
  const OpSharding &sharding = flow.sharding(op);
  if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
    for (auto [operand, argument] : llvm::zip(op->getOpOperands(), accumulate.getBody().getArguments())) {
      ShardingAttr stated = statedSharding(argument);
      shardings[argument] = stated ? stated : replicated(argument);
      if (failed(rewriteOperand(operand, shardings[argument])))
        return failure();
    }
    Block &body = accumulate.getBody().front();
    if (failed(rewriteBlock(body)))
      return failure();
    for (auto [value, result] : llvm::zip(body.getTerminator()->getOperands(), op->getResults()))
      shardings[result] = ShardingAttr(shardings.lookup(value)); // a copy: the map may grow and move
  } else if (auto reshard = dyn_cast<ReshardOp>(op)) {           // made before; it takes its operand as it is
    reshard.setToAttr(with(reshard.getTo().withoutPartial(), flow.made(reshard)));
    shardings[reshard] = reshard.getTo();
    if (failed(rewriteOperand(op->getOpOperand(0), shardings[reshard.getX()].withoutPartial())))
      return failure();
  } else if (isa<YieldOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (failed(rewriteOperand(operand, shardings[operand.get()].withoutPartial())))
        return failure();
  } else if (isa<func::ReturnOp>(op)) {
    for (OpOperand &operand : op->getOpOperands()) {
      auto needed = function.getResultAttrOfType<ShardingAttr>(operand.getOperandNumber(), attr::sharding);
      if (!needed) {
        needed = shardings[operand.get()].withoutPartial();
        function.setResultAttr(operand.getOperandNumber(), attr::sharding, needed);
      }
      if (failed(rewriteOperand(operand, needed)))
        return failure();
    }
  } else {
    bool regroups = flow.isRegrouped(op);
    for (auto [number, result] : llvm::enumerate(op->getResults()))
      shardings[result] = with(sharding.result(context, number).withoutPartial(), flow.made(result));
    if (regroups)
      return regroup(cast<SumOp>(op));
    for (OpOperand &operand : op->getOpOperands())
      if (failed(rewriteOperand(operand, sharding.operand(context, operand.getOperandNumber()))))
        return failure();
  }
  annotate(op);
  return success();
}

void ReshardInserter::annotate(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return;
  SmallVector<Attribute> list =
      llvm::map_to_vector(op->getResults(), [&](Value value) -> Attribute { return shardings[value]; });
  op->setAttr(attr::shardings, ArrayAttr::get(context, list));
}

LogicalResult ReshardInserter::rewriteOperand(OpOperand &operand, ShardingAttr dims) {
  Value value = operand.get();
  if (!isa<RankedTensorType>(value.getType()))
    return success();
  FailureOr<Value> converted = convert(value, with(dims, flow.used(value)), operand.getOwner());
  if (failed(converted))
    return failure();
  operand.set(*converted);
  return success();
}

// Values that are pending over the same axes are added first; then each group is reduced once.
LogicalResult ReshardInserter::regroup(SumOp sum) {
  ShardingAttr dims = flow.sharding(sum).operand(context, 0), result = shardings[sum.getY()];
  llvm::MapVector<ShardingAttr, SmallVector<Value>> groups;
  for (Value operand : sum.getInputs()) {
    ShardingAttr needed = with(dims, flow.used(operand));
    FailureOr<Value> converted = convert(operand, needed, sum);
    if (failed(converted))
      return failure();
    groups[needed].push_back(*converted);
  }
  OpBuilder builder(sum);
  SmallVector<Value> reduced;
  for (auto &[sharding, values] : groups) {
    Value total = values.front();
    if (values.size() > 1) {
      auto group = SumOp::create(builder, sum.getLoc(), sum.getType(), values);
      group->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
      total = group;
      shardings[total] = sharding;
      annotate(group);
    }
    FailureOr<Value> converted = convert(total, result, sum);
    if (failed(converted))
      return failure();
    reduced.push_back(*converted);
  }
  sum.getInputsMutable().assign(reduced);
  annotate(sum);
  return success();
}

/// A constant, or a number in all elements.
static bool isWrittenAgain(Operation *op) {
  auto broadcast = dyn_cast_if_present<BroadcastOp>(op);
  bool isNumber = broadcast && tensorType(broadcast.getX()).getRank() == 0;
  return (isNumber || isa_and_present<ConstantOp>(op)) && !OpSharding::uncut(op).rule.factors.empty();
}

// What is cheaper to write again than to move; and a block of equal elements that is cut unevenly has them in its
// padding, where a slice has not.
Value ReshardInserter::repeat(Operation *op, ShardingAttr needed) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *copy = builder.clone(*op);
  OpSharding sharding = OpSharding::uncut(copy);
  for (auto [dim, axes] : llvm::enumerate(needed.getDims()))
    sharding.axes[sharding.rule.results[0][dim].front()] = toAxisList(axes);
  copy->setAttr(attr::factors, sharding.attribute(context));
  shardings[copy->getResult(0)] = needed;
  annotate(copy);
  return copy->getResult(0);
}

static Part partOf(Operation *op) {
  auto part = op ? op->getAttrOfType<PartAttr>(attr::part) : PartAttr();
  return part ? part.getValue() : Part::Forward;
}

/// Whether `user`, after the forward pass, gathers a form of a value of the forward pass for itself: what would be kept
/// until then would be larger than the value.
bool ReshardInserter::isGatheredAgain(Value value, ShardingAttr sharding, Operation *user) {
  if (partOf(user) == Part::Forward || partOf(user) == Part::Update || partOf(value.getDefiningOp()) != Part::Forward)
    return false;
  RankedTensorType type = tensorType(value);
  return sharding.localType(type, grid).getNumElements() > shardings[value].localType(type, grid).getNumElements();
}

/// The form of `value` with sharding `needed`, for `user`: one that exists, or the cheapest conversion of one that
/// does.
FailureOr<Value> ReshardInserter::convert(Value value, ShardingAttr needed, Operation *user) {
  // Forms made inside ppc.accumulate of a value from outside stay inside: their users are there.
  Block *block = user->getBlock();
  SmallVector<Version> &forms = versions[{value, block}];
  if (forms.empty())
    forms.push_back({value, shardings[value]});
  RankedTensorType type = tensorType(value);
  const ReshardPlan *best = nullptr;
  Version source;
  SmallVector<Version> usable = llvm::filter_to_vector(forms, [&](const Version &form) {
    return form.value == value ||
           (form.from <= partOf(user) && (form.from != Part::Forward || !isGatheredAgain(value, form.sharding, user)));
  });
  for (const Version &form : usable)
    if (form.sharding == needed)
      return form.value;
  for (const Version &form : usable) {
    llvm::Expected<const ReshardPlan *> plan = plans.find(type, form.sharding, needed);
    if (!plan) {
      llvm::consumeError(plan.takeError());
      continue;
    }
    if (!best || (*plan)->cost < best->cost) {
      best = *plan;
      source = form;
    }
  }
  if (!best)
    return user->emitOpError() << "needs " << needed << ", which cannot be made of " << shardings[value];
  if (isWrittenAgain(value.getDefiningOp()) && !needed.isPartial() && !shardings[value].isPartial()) {
    Value copy = repeat(value.getDefiningOp(), needed);
    forms.push_back({copy, needed});
    return copy;
  }

  bool late = isGatheredAgain(value, needed, user) || source.from != Part::Forward;
  OpBuilder builder(user);
  if (Operation *def = source.value.getDefiningOp(); !late && def && def->getBlock() == block)
    builder.setInsertionPointAfter(def);
  Operation *def = value.getDefiningOp();
  auto reshard = ReshardOp::create(builder, def ? def->getLoc() : user->getLoc(), type, source.value, needed);
  Operation *owner = !late && def && def->hasAttr(attr::part) ? def : user;
  for (StringRef name : {attr::part, attr::layer, attr::slice, attr::stage})
    if (Attribute attribute = owner->getAttr(name))
      reshard->setAttr(name, attribute);
  if (!reshard->hasAttr(attr::part) && isa_and_nonnull<AccumulateOp>(def)) // after the last micro-batch
    reshard->setAttr(attr::part, PartAttr::get(context, Part::Update));
  shardings[reshard] = needed;
  annotate(reshard);
  forms.push_back({reshard, needed, late ? partOf(user) : Part::Forward});

  std::string steps;
  std::vector<LayoutAxis> axes = layoutAxes(grid);
  for (const ReshardStep &step : best->steps)
    steps += (steps.empty() ? "" : ", ") + toString(step, axes);
  remark::passed(reshard.getLoc(), remark::RemarkOpts::name("reshard").category("ppc-sharding"))
      << remark::metric("Steps", steps) << remark::metric("Bytes", best->bytes);
  return reshard.getY();
}

struct InsertReshardsPass : impl::InsertReshardsPassBase<InsertReshardsPass> {
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
      ReshardInserter inserter(function, plan.getGrid());
      if (failed(inserter.run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace mlir::ppc
