// Deciding where pending sums are reduced.
#include "ppc/Transforms/Sharding/PartialFlow.h"

namespace mlir::ppc {

static bool sameAxes(const Pending &a, const Pending &b) {
  return a.size() == b.size() && llvm::all_of(a, [&](auto &entry) { return b.contains(entry.first); });
}

static Pending common(const Pending &a, const Pending &b) {
  Pending both;
  for (auto &[axis, combiner] : a)
    if (b.contains(axis))
      both.insert({axis, combiner});
  return both;
}

LogicalResult PartialFlow::run() {
  WalkResult walk = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    FailureOr<OpSharding> sharding = OpSharding::read(op, grid);
    if (failed(sharding))
      return WalkResult::interrupt();
    // Both are linear in one operand, but the planner prices what they read as complete.
    if (isa<DivOp, SoftmaxBackwardOp>(op)) {
      sharding->rule.linearity = Linearity::None;
      sharding->rule.linearOperands.clear();
    }
    shardings.try_emplace(op, std::move(*sharding));
    return WalkResult::advance();
  });
  // An accumulate is visited after its region: its results are what the region yields.
  function.walk([&](Operation *op) { op != function ? order.push_back(op) : void(); });
  if (walk.wasInterrupted())
    return failure();
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : order)
      changed |= visit(op);
  }
  return success();
}

const Pending &PartialFlow::made(Value value) const {
  static const Pending nothing;
  auto it = pendingOf.find(value);
  return it == pendingOf.end() ? nothing : it->second;
}

Pending PartialFlow::used(Value value) const {
  Pending pending = made(value);
  auto it = reduced.find(value);
  if (it != reduced.end())
    for (StringAttr axis : it->second)
      pending.erase(axis);
  return pending;
}

bool PartialFlow::set(Value value, const Pending &pending) {
  Pending &current = pendingOf[value];
  if (sameAxes(current, pending))
    return false;
  current = pending;
  return true;
}

/// Reduces `value` over all it has pending but `keep`; returns whether that is new.
bool PartialFlow::reduce(Value value, const Pending &keep) {
  bool changed = false;
  for (auto &[axis, combiner] : used(value))
    if (!keep.contains(axis)) {
      reduced[value].push_back(axis);
      changed = true;
    }
  return changed;
}

// A sum over devices may be delayed past `op` when the op is linear in all its pending operands together, no operand
// that has to be pending is not, the axes do nothing else in it, and the later reduction is not larger.
bool PartialFlow::canFlow(Operation *op, const OpSharding &sharding) {
  if (sharding.rule.linearity == Linearity::Each)
    return canFlowOn(op, sharding);
  if (sharding.rule.linearity != Linearity::Joint)
    return false;
  int64_t operandElements = 0, resultElements = 0;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    Pending pending = used(operand);
    if (pending.empty())
      continue;
    if (!llvm::is_contained(sharding.rule.linearOperands, number))
      return false;
    for (auto &[axis, combiner] : pending)
      if (combiner != Combiner::Sum || sharding.uses(axis))
        return false;
    operandElements += tensorType(operand).getNumElements();
  }
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    resultElements += tensorType(result).getNumElements();
    for (auto [axis, combiner] : sharding.pending(number))
      if (combiner != Combiner::Sum)
        return false;
  }
  return resultElements <= operandElements;
}

/// Whether `value` is pending over `axis` whatever flows: its op sums over it.
static bool isBornPending(Value value, StringAttr axis,
                          llvm::function_ref<const OpSharding &(Operation *)> shardingOf) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || !isa<ShardingRuleOpInterface>(op) || isa<AccumulateOp, ReshardOp>(op))
    return false;
  auto pending = shardingOf(op).pending(cast<OpResult>(value).getResultNumber());
  return llvm::is_contained(pending, std::pair(axis, Combiner::Sum));
}

/// Whether the reshard of a gradient cuts it over ranks over which its op sums (ZeRO-2: those with other batches): it
/// is reduced there at its full size in any case, over more ranks at once.
bool PartialFlow::isReducedAnyway(Value gradient, ReshardOp reshard) const {
  auto found = shardings.find(gradient.getDefiningOp());
  return found != shardings.end() && !isa<AccumulateOp, ReshardOp>(gradient.getDefiningOp()) &&
         llvm::any_of(found->second.pending(cast<OpResult>(gradient).getResultNumber()), [&](auto &entry) {
           return entry.second == Combiner::Sum && llvm::any_of(reshard.getTo().getDims(), [&](ArrayAttr axes) {
                    return llvm::is_contained(axes, entry.first);
                  });
         });
}

/// Whether all that becomes of a `value` that is pending over `axis` needs no reduction of its own: through ops that
/// are linear in it, it ends in sums over micro-batches, is added to what is pending over the axis anyway, or is
/// reduced over other axes there.
bool PartialFlow::meetsPending(Value value, StringAttr axis) {
  auto [known, isNew] = meets.try_emplace({value, axis}, false);
  if (!isNew)
    return known->second;
  bool all = llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<YieldOp>(user))
      return true;
    if (auto reshard = dyn_cast<ReshardOp>(user))
      return isReducedAnyway(value, reshard);
    auto found = shardings.find(user);
    if (found == shardings.end() || isa<AccumulateOp, ReshardOp>(user) || user->getNumResults() != 1)
      return false;
    const OpSharding &sharding = found->second;
    if (sharding.uses(axis) || !llvm::is_contained(sharding.rule.linearOperands, use.getOperandNumber()))
      return false;
    if (isa<AddOp, SumOp>(user)) {
      auto born = [&](Value other) {
        return isBornPending(other, axis,
                             [&](Operation *op) -> const OpSharding & { return shardings.find(op)->second; });
      };
      return llvm::any_of(user->getOperands(), born) || meetsPending(user->getResult(0), axis);
    }
    bool alone = sharding.rule.linearity == Linearity::Each || user->getNumOperands() == 1;
    return alone && llvm::count(user->getOperands(), value) == 1 && meetsPending(user->getResult(0), axis);
  });
  return meets[{value, axis}] = all;
}

/// Whether all that is computed of `value` is linear in it alone and has fewer elements together, so that it is cheaper
/// to reduce what becomes of it (what experts give back, in slots, is combined to tokens).
bool PartialFlow::shrinks(Value value, StringAttr axis) {
  int64_t elements = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    auto found = shardings.find(user);
    if (found == shardings.end() || isa<AccumulateOp, ReshardOp>(user) || user->getNumResults() != 1)
      return false;
    const OpSharding &sharding = found->second;
    if (sharding.rule.linearity != Linearity::Each || sharding.uses(axis) ||
        !llvm::is_contained(sharding.rule.linearOperands, use.getOperandNumber()) ||
        llvm::count(user->getOperands(), value) != 1)
      return false;
    elements += tensorType(user->getResult(0)).getNumElements();
  }
  return elements < tensorType(value).getNumElements();
}

// Through a product, say, with one pending operand: where what comes out meets other sums that are reduced anyway.
bool PartialFlow::canFlowOn(Operation *op, const OpSharding &sharding) {
  std::optional<unsigned> flowing;
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (!used(operand).empty()) {
      if (flowing)
        return false;
      flowing = number;
    }
  if (!flowing || op->getNumResults() != 1 || !llvm::is_contained(sharding.rule.linearOperands, *flowing))
    return false;
  for (auto &[axis, combiner] : used(op->getOperand(*flowing)))
    if (combiner != Combiner::Sum || sharding.uses(axis) ||
        (!meetsPending(op->getResult(0), axis) && !shrinks(op->getOperand(*flowing), axis)))
      return false;
  return llvm::all_of(sharding.pending(0), [](auto &entry) { return entry.second == Combiner::Sum; });
}

bool PartialFlow::visit(Operation *op) {
  bool changed = false;
  const OpSharding &sharding = shardings.find(op)->second;
  auto reduceAll = [&] {
    for (Value operand : op->getOperands())
      changed |= reduce(operand, {});
  };
  if (isa<YieldOp>(op)) { // sums over micro-batches and sums over devices commute; nothing else does
    Operation *accumulate = op->getParentOp();
    for (auto [value, result] : llvm::zip(op->getOperands(), accumulate->getResults())) {
      Pending sums;
      for (auto &[axis, combiner] : used(value))
        if (combiner == Combiner::Sum)
          sums.insert({axis, combiner});
      changed |= reduce(value, sums);
      changed |= set(result, sums);
    }
    return changed;
  }
  if (auto reshard = dyn_cast<ReshardOp>(op)) { // takes anything and says what it gives: what may stay pending
    Pending pending, taken = used(reshard.getX());
    for (auto [axis, combiner] : llvm::zip(reshard.getTo().getPartialAxes(), reshard.getTo().getPartialCombiners()))
      if (taken.contains(axis))
        pending.insert({axis, combiner});
    return set(reshard, pending);
  }
  if (isa<AccumulateOp>(op)) { // its results were set by its yield
    reduceAll();
    return changed;
  }

  for (Value operand : op->getOperands()) { // over axes that cut the op nothing is pending; over others it may stay
    Pending keep = used(operand);
    for (StringAttr axis : llvm::to_vector(llvm::make_first_range(keep)))
      if (sharding.uses(axis))
        keep.erase(axis);
    changed |= reduce(operand, keep);
  }
  Pending flowing;
  if (canFlow(op, sharding) && sharding.rule.linearity == Linearity::Each) {
    for (Value operand : op->getOperands()) // the one that is pending
      if (Pending pending = used(operand); !pending.empty())
        flowing = pending;
  } else if (canFlow(op, sharding)) {
    ArrayRef<unsigned> linear = sharding.rule.linearOperands;
    flowing = used(op->getOperand(linear.front()));
    for (unsigned number : linear.drop_front())
      flowing = common(flowing, used(op->getOperand(number)));
    bool differ =
        llvm::any_of(linear, [&](unsigned number) { return !sameAxes(used(op->getOperand(number)), flowing); });
    regrouped.erase(op);
    if (differ && isa<SumOp>(op))
      regrouped.insert(op);
    else
      for (unsigned number : linear)
        changed |= reduce(op->getOperand(number), flowing);
  } else {
    regrouped.erase(op);
    reduceAll();
  }
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    Pending pending = flowing;
    for (auto [axis, combiner] : sharding.pending(number))
      pending.insert({axis, combiner});
    changed |= set(result, pending);
  }
  return changed;
}

} // namespace mlir::ppc
