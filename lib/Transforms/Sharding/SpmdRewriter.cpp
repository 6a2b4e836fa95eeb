// From logical tensors to one rank's blocks.
#include "ppc/Transforms/Sharding/SpmdRewriter.h"
#include "dialects/ppc/IR/FunctionAttrs.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "ppc/Analysis/ReshardCost.h"

namespace mlir::ppc {

LogicalResult SpmdRewriter::run() {
  if (failed(read()))
    return failure();
  MLIRContext *context = function.getContext();
  auto sharding = [&](Value value) -> Attribute {
    return values.contains(value) ? values[value].sharding : ShardingAttr();
  };
  auto logicalType = [&](Value value) {
    return values.contains(value) ? TypeAttr::get(values[value].type) : TypeAttr();
  };
  for (auto [name, of] : {std::pair<StringRef, function_ref<Attribute(Value)>>(attr::sharding, sharding),
                          {attr::logicalType, logicalType}}) {
    setArgAttrs(function, name, [&, of = of](unsigned number) { return of(function.getArgument(number)); });
    setResultAttrs(function, name,
                   [&, of = of](unsigned number) { return of(function.front().getTerminator()->getOperand(number)); });
  }
  for (BlockArgument argument : function.getArguments())
    if (values.contains(argument))
      localize(argument);
  if (failed(rewriteBlock(function.front())))
    return failure();
  function.walk([](Operation *op) {
    for (StringRef name : {attr::shardings, attr::factors, attr::operandShardings})
      op->removeAttr(name);
    if (auto chosen = dyn_cast<StrategyOpInterface>(op)) // what one rank computes, its types and blocks say
      (void)chosen.chooseStrategy(chosen.getStrategies().front());
  });
  function.setFunctionType(FunctionType::get(context, function.front().getArgumentTypes(),
                                             function.front().getTerminator()->getOperandTypes()));
  return success();
}

void SpmdRewriter::add(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return;
  ShardingAttr stated = statedSharding(value);
  LogicalValue &logical = values[value];
  logical.type = type;
  logical.sharding = stated ? stated : ShardingAttr::replicated(function.getContext(), type.getRank());
  logical.zeroPadding.assign(type.getRank(), true); // arguments are padded with zeros
}

LogicalResult SpmdRewriter::read() {
  for (BlockArgument argument : function.getArguments())
    add(argument);
  WalkResult walk = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function)
      return WalkResult::advance();
    for (Value result : op->getResults())
      add(result);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        add(argument);
    FailureOr<OpSharding> sharding = OpSharding::read(op, grid);
    if (failed(sharding))
      return WalkResult::interrupt();
    shardings.try_emplace(op, std::move(*sharding));
    return failed(check(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

static bool sameAxes(ArrayRef<StringAttr> a, ArrayRef<StringAttr> b) {
  return a.size() == b.size() && llvm::all_of(a, [&](StringAttr axis) { return llvm::is_contained(b, axis); });
}

/// Every operand is as its op needs it, and every result is stated as the op makes it.
LogicalResult SpmdRewriter::check(Operation *op) {
  if (isa<ReshardOp>(op))
    return success();
  const OpSharding &sharding = shardings.find(op)->second;
  std::optional<ShardingAttr> flowing; // of the operands that may be pending, all alike
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = values.find(operand.get());
    if (it == values.end())
      continue;
    unsigned number = operand.getOperandNumber();
    ShardingAttr found = it->second.sharding, needed = sharding.operand(op->getContext(), number);
    if (isa<YieldOp>(op))
      needed = values.find(op->getParentOp()->getResult(number))->second.sharding;
    else if (auto accumulate = dyn_cast<AccumulateOp>(op))
      needed = statedSharding(accumulate.getBody().getArgument(number));
    else if (isa<func::ReturnOp>(op))
      needed = function.getResultAttrOfType<ShardingAttr>(number, attr::sharding);
    if (needed && needed.getDims() != found.getDims())
      return op->emitOpError() << "needs operand " << number << " as " << needed << " but it is " << found
                               << ": run ppc-insert-reshards first";
    bool isLinear =
        sharding.rule.linearity != Linearity::None && llvm::is_contained(sharding.rule.linearOperands, number);
    bool isAlone = sharding.rule.linearity == Linearity::Each;
    if (isAlone && isLinear && !found.isPartial())
      continue; // it is what the pending operand is multiplied with
    if (isa<YieldOp>(op) ? !sameAxes(found.getPartialAxes(), needed.getPartialAxes()) : found.isPartial() && !isLinear)
      return op->emitOpError() << "cannot use operand " << number << ", which is partial: " << found
                               << ": run ppc-insert-reshards first";
    if (isLinear && flowing && isAlone)
      return op->emitOpError() << "multiplies two partial values, " << *flowing << " and " << found
                               << ": run ppc-insert-reshards first";
    if (isLinear && flowing && !sameAxes(flowing->getPartialAxes(), found.getPartialAxes()))
      return op->emitOpError() << "adds values that are partial over different axes, " << *flowing << " and " << found
                               << ": run ppc-insert-reshards first";
    if (isLinear)
      flowing = found;
  }
  if (isa<AccumulateOp>(op) || !isa<ShardingRuleOpInterface>(op))
    return success();
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    ShardingAttr made = sharding.result(op->getContext(), number), stated = values.find(result)->second.sharding;
    if (flowing)
      made = withPartial(made, flowing->getPartialAxes(), Combiner::Sum);
    if (made.getDims() != stated.getDims() || !sameAxes(made.getPartialAxes(), stated.getPartialAxes()))
      return op->emitOpError() << "states result " << number << " as " << stated << ", but makes it " << made
                               << ": run ppc-insert-reshards first";
  }
  return success();
}

bool SpmdRewriter::isUneven(const LogicalValue &value, unsigned dim) const {
  return value.type.getDimSize(dim) % grid.product(value.sharding.getDims()[dim]) != 0;
}

void SpmdRewriter::localize(Value value) {
  const LogicalValue &logical = values.find(value)->second;
  value.setType(logical.sharding.localType(logical.type, grid));
}

LogicalResult SpmdRewriter::rewriteBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (failed(rewrite(&op)))
      return failure();
  return success();
}

LogicalResult SpmdRewriter::rewrite(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return rewriteConstant(constant), success();
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return rewriteReshard(reshard);
  if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
    for (auto [operand, argument] : llvm::zip(accumulate.getInputs(), accumulate.getBody().getArguments())) {
      values[argument].zeroPadding = values[operand].zeroPadding;
      localize(argument);
    }
    Block &body = accumulate.getBody().front();
    if (failed(rewriteBlock(body)))
      return failure();
    for (auto [value, result] : llvm::zip(body.getTerminator()->getOperands(), op->getResults())) {
      values[result].zeroPadding = values[value].zeroPadding;
      localize(result);
    }
    return success();
  }
  if (isa<func::ReturnOp>(op)) { // padding stays zero from step to step
    for (OpOperand &operand : op->getOpOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.get().getType()))
        for (unsigned dim = 0; dim < type.getRank(); ++dim)
          if (!values[operand.get()].zeroPadding[dim])
            mask(operand, dim);
    return success();
  }
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  return rewriteOperation(op);
}

void SpmdRewriter::rewriteConstant(ConstantOp op) {
  LogicalValue &logical = values[op.getY()];
  RankedTensorType local = logical.sharding.localType(logical.type, grid);
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  bool isZero = matchPattern(op.getResult(), m_AnyZeroFloat()) || matchPattern(op.getResult(), m_Zero());
  if (local == logical.type || !value || !value.isSplat())
    return;
  op.setValueAttr(value.resizeSplat(local));
  for (unsigned dim = 0; dim < logical.zeroPadding.size(); ++dim)
    logical.zeroPadding[dim] = isZero || !isUneven(logical, dim);
  localize(op.getResult());
}

LogicalResult SpmdRewriter::rewriteOperation(Operation *op) {
  const OpSharding &sharding = shardings.find(op)->second;
  const ShardingRule &rule = sharding.rule;
  auto hasZeroPadding = [&](unsigned operand, unsigned factor) {
    auto it = values.find(op->getOperand(operand));
    for (auto [dim, factors] : llvm::enumerate(rule.operands[operand]))
      if (llvm::is_contained(factors, factor) && it != values.end() && !it->second.zeroPadding[dim])
        return false;
    return true;
  };
  SmallVector<bool> keepsZero(rule.factors.size(), true), isFed(rule.factors.size(), false),
      took(rule.factors.size(), false);
  for (auto [factor, axes] : llvm::enumerate(sharding.axes)) {
    for (unsigned number = 0; number < op->getNumOperands(); ++number)
      if (ShardingRule::contains(rule.operands[number], factor)) {
        isFed[factor] = true;
        keepsZero[factor] = keepsZero[factor] && hasZeroPadding(number, factor);
      }
    if (axes.empty())
      continue;
    ArrayAttr list = toArrayAttr(op->getContext(), axes);
    int64_t size = rule.factors[factor].size;
    if (auto interface = dyn_cast<ShardingRuleOpInterface>(op))
      took[factor] = interface.setFactorBlock(factor, BlockAttr::get(op->getContext(), list, size));
    if (rule.factors[factor].positional && !took[factor])
      return op->emitOpError() << "depends on the index along its loop '" << rule.factors[factor].name
                               << "' and cannot be told its block of it";
    bool isReduced = llvm::any_of(
        rule.results, [&, factor = factor](auto &result) { return !ShardingRule::contains(result, factor); });
    if (!isReduced || took[factor] || size % grid.product(list) == 0)
      continue;
    for (OpOperand &operand : op->getOpOperands()) // what is summed must be zero where nothing is
      for (auto [dim, factors] : llvm::enumerate(rule.operands[operand.getOperandNumber()]))
        if (llvm::is_contained(factors, factor) && !values[operand.get()].zeroPadding[dim])
          mask(operand, dim);
  }
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    auto it = values.find(result);
    if (it == values.end())
      continue;
    for (auto [dim, factors] : llvm::enumerate(rule.results[number])) {
      bool zero = llvm::all_of(factors, [&, number = number](unsigned factor) {
        return took[factor] || (rule.keepsZeroPadding[number] && isFed[factor] && keepsZero[factor]);
      });
      it->second.zeroPadding[dim] = zero || !isUneven(it->second, dim);
    }
    localize(result);
  }
  return success();
}

/// Puts zeros into the padding of an operand along `dim`.
void SpmdRewriter::mask(OpOperand &operand, unsigned dim) {
  Value value = operand.get();
  LogicalValue logical = values.find(value)->second;
  if (!isa<FloatType>(logical.type.getElementType()))
    return; // indices: what they select is masked
  Operation *user = operand.getOwner(), *def = value.getDefiningOp();
  Value &known = masked[{value, dim}];
  bool isLocal = def && def->getBlock() == user->getBlock();
  if (!known || !isLocal) {
    OpBuilder builder(user);
    if (isLocal)
      builder.setInsertionPointAfter(def);
    auto block = BlockAttr::get(user->getContext(), logical.sharding.getDims()[dim], logical.type.getDimSize(dim));
    auto op =
        MaskPaddingOp::create(builder, value.getLoc(), value.getType(), value, builder.getI64IntegerAttr(dim), block);
    Operation *owner = def && def->hasAttr(attr::part) ? def : user;
    for (StringRef name : {attr::part, attr::layer, attr::slice, attr::stage})
      if (Attribute attribute = owner->getAttr(name))
        op->setAttr(name, attribute);
    known = op;
    logical.zeroPadding[dim] = true;
    values[op] = logical;
  }
  operand.set(known);
}

} // namespace mlir::ppc
