// The fixpoint of sharding propagation.
#include "ppc/Transforms/Sharding/ShardingPropagation.h"

namespace mlir::ppc {

static int64_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

/// Whether `list` is `start` with more at its end.
static bool startsWith(ArrayRef<StringAttr> list, ArrayRef<StringAttr> start) {
  return list.size() >= start.size() && list.take_front(start.size()) == start;
}

static int64_t product(ArrayRef<StringAttr> axes, GridAttr grid) {
  int64_t parts = 1;
  for (StringAttr axis : axes)
    parts *= grid.size(axis);
  return parts;
}

ArrayRef<AxisList> ShardingPropagation::dims(Value value) const {
  auto it = axesOf.find(value);
  return it == axesOf.end() ? ArrayRef<AxisList>() : ArrayRef<AxisList>(it->second);
}

LogicalResult ShardingPropagation::run() {
  if (failed(readBody()) || failed(readArguments()))
    return failure();
  readResults();
  for (Operation *op : order) // what an argument says about an op goes before what is computed
    pull(op, op->getOperands(), shardings.find(op)->second.rule.operands, /*argumentsOnly=*/true);
  auto settle = [&](bool backward) {
    bool changed = false;
    while (sweep(backward))
      changed = true;
    return changed;
  };
  settle(/*backward=*/false);
  Operation *terminator = function.front().getTerminator();
  for (auto [value, demand] : llvm::zip(terminator->getOperands(), demands))
    if (demand)
      for (auto [dim, axes] : llvm::enumerate(demand.getDims()))
        extend(value, dim, toAxisList(axes));
  bool changed = true;
  while (changed) {
    changed = settle(/*backward=*/true);
    changed |= settle(/*backward=*/false);
  }
  exchangeCuts();
  cutActivations();
  return success();
}

void ShardingPropagation::exchangeCuts() {
  for (Operation *op : order) {
    auto chosen = dyn_cast<StrategyOpInterface>(op);
    std::optional<std::pair<unsigned, unsigned>> exchange = chosen ? chosen.getExchange() : std::nullopt;
    if (!exchange || decided.contains(op))
      continue;
    OpSharding &sharding = shardings.find(op)->second;
    AxisList &from = sharding.axes[exchange->first], &to = sharding.axes[exchange->second];
    // The longest start of the axes that the other loop may have.
    AxisList all = std::exchange(from, AxisList());
    for (ArrayRef<StringAttr> given = all; !given.empty(); given = given.drop_back()) {
      AxisList list(to);
      list.append(given.begin(), given.end());
      if (!sharding.canCut(exchange->second, list, grid))
        continue;
      to = list;
      all.erase(all.begin(), all.begin() + given.size());
      break;
    }
    from = all;
  }
}

LogicalResult ShardingPropagation::readBody() {
  WalkResult walk = function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      axesOf[result].resize(rankOf(result));
    if (auto reshard = dyn_cast<ReshardOp>(op)) { // made before: what is gathered of a parameter speaks as it would
      for (auto [dim, axes] : llvm::enumerate(reshard.getTo().getDims()))
        axesOf[reshard.getY()][dim] = severalDevices(axes);
      closed.insert(reshard.getY());
      same.emplace_back(reshard.getX(), reshard.getY());
    }
    if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
      for (Value argument : accumulate.getBody().getArguments())
        axesOf[argument].resize(rankOf(argument));
      Operation *yield = accumulate.getBody().front().getTerminator();
      for (auto [value, result] : llvm::zip(yield->getOperands(), accumulate.getResults()))
        same.emplace_back(value, result);
    } else if (op != function && !op->hasTrait<OpTrait::IsTerminator>()) {
      order.push_back(op);
      bool isStated = op->hasAttr(attr::shardings) && !op->hasAttr(attr::factors) && !isa<ReshardOp>(op);
      FailureOr<OpSharding> sharding = isStated ? OpSharding::readStated(op, grid) : OpSharding::read(op, grid);
      if (failed(sharding))
        return WalkResult::interrupt();
      shardings.try_emplace(op, std::move(*sharding));
      if (isStated || op->hasAttr(attr::factors))
        decided.insert(op);
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Axes of one device cut nothing.
AxisList ShardingPropagation::severalDevices(ArrayAttr axes) const {
  AxisList list = toAxisList(axes);
  llvm::erase_if(list, [&](StringAttr axis) { return grid.size(axis) < 2; });
  return list;
}

LogicalResult ShardingPropagation::readArguments() {
  for (BlockArgument argument : function.getArguments()) {
    SmallVector<AxisList> &axes = axesOf[argument];
    axes.resize(rankOf(argument));
    closed.insert(argument);
    ShardingAttr stated = statedSharding(argument);
    if (!stated)
      continue;
    if (stated.isPartial() || int64_t(stated.getDims().size()) != rankOf(argument))
      return function.emitError() << "argument " << argument.getArgNumber() << " of type " << argument.getType()
                                  << " cannot have the sharding " << stated;
    for (auto [dim, list] : llvm::enumerate(stated.getDims()))
      axes[dim] = severalDevices(list);
  }
  return readMicroBatches();
}

// All that ppc.accumulate takes is cut alike along the rows, for the rows of a device's micro-batch must be the same
// ones everywhere: those that the device has, in order. What is not an argument is not cut along them.
LogicalResult ShardingPropagation::readMicroBatches() {
  WalkResult walk = function.walk([&](AccumulateOp accumulate) {
    std::optional<AxisList> rows;
    for (auto [operand, argument] : llvm::zip(accumulate.getInputs(), accumulate.getBody().getArguments())) {
      AxisList axes = closed.contains(operand) ? dims(operand)[0] : AxisList();
      int64_t size = tensorType(argument).getDimSize(0);
      if (size % product(axes, grid)) {
        function.emitError() << "a micro-batch of " << size << " rows cannot be sharded evenly " << product(axes, grid)
                             << " ways over " << toArrayAttr(function.getContext(), axes);
        return WalkResult::interrupt();
      }
      if (!rows)
        rows = axes;
      while (!startsWith(axes, *rows)) // the longest common start
        rows->pop_back();
    }
    if (rows)
      inputAxes.insert(rows->begin(), rows->end());
    for (auto [operand, argument] : llvm::zip(accumulate.getInputs(), accumulate.getBody().getArguments())) {
      if (closed.contains(operand)) // slices of arguments lie like the arguments
        axesOf[argument] = SmallVector<AxisList>(dims(operand));
      axesOf[argument][0] = *rows;
      for (const AxisList &axes : axesOf[argument])
        inputAxes.insert(axes.begin(), axes.end());
      closed.insert(argument);
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

// Gradients and new values lie like what they belong to; a gradient like the state that is updated with it.
void ShardingPropagation::readResults() {
  demands.resize(function.getNumResults());
  DenseMap<Attribute, SmallVector<unsigned, 4>> argumentsOf; // by the name of the parameter that they are or belong to
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    for (StringRef kind : {attr::parameter, attr::of})
      if (Attribute name = function.getArgAttr(number, kind))
        argumentsOf[name].push_back(number);
  for (unsigned number = 0; number < function.getNumResults(); ++number) {
    if (auto stated = function.getResultAttrOfType<ShardingAttr>(number, attr::sharding)) {
      demands[number] =
          shardingOf(function.getContext(),
                     llvm::map_to_vector(stated.getDims(), [&](ArrayAttr axes) { return severalDevices(axes); }));
      continue;
    }
    auto kind = function.getResultAttrOfType<StringAttr>(number, attr::result);
    auto of = function.getResultAttrOfType<StringAttr>(number, attr::of);
    if (!kind || !of)
      continue;
    for (unsigned index : argumentsOf.lookup(of)) { // states stand behind parameters
      BlockArgument argument = function.getArgument(index);
      auto state = function.getArgAttrOfType<StringAttr>(index, attr::state);
      bool isState = state && (kind == "gradient" || state == kind) && function.getArgAttr(index, attr::of) == of;
      bool isParameter =
          (kind == "gradient" || kind == "parameter") && function.getArgAttr(index, attr::parameter) == of;
      if ((isState || isParameter) && function.getResultTypes()[number] == argument.getType())
        demands[number] = shardingOf(function.getContext(), dims(argument));
    }
  }
}

bool ShardingPropagation::sweep(bool backward) {
  bool changed = false;
  auto visit = [&](Operation *op) {
    OpSharding &sharding = shardings.find(op)->second;
    ArrayRef<TensorFactors> operands = sharding.rule.operands, results = sharding.rule.results;
    if (backward) {
      changed |= pull(op, op->getResults(), results);
      changed |= push(sharding, op->getOperands(), operands);
    } else {
      changed |= pull(op, op->getOperands(), operands);
      changed |= push(sharding, op->getResults(), results);
    }
  };
  auto unifyAll = [&] {
    for (auto [a, b] : same)
      changed |= unifyYielded(a, b);
  };
  unifyAll();
  if (backward)
    for (Operation *op : llvm::reverse(order))
      visit(op);
  else
    for (Operation *op : order)
      visit(op);
  unifyAll();
  return changed;
}

// Values to factors.
bool ShardingPropagation::pull(Operation *op, ValueRange values, ArrayRef<TensorFactors> tensors, bool argumentsOnly) {
  if (decided.contains(op))
    return false;
  OpSharding &sharding = shardings.find(op)->second;
  bool changed = false;
  for (auto [value, tensor] : llvm::zip(values, tensors)) {
    if (argumentsOnly && !closed.contains(value))
      continue;
    for (auto [factors, axes] : llvm::zip(tensor, dims(value))) {
      if (factors.size() != 1)
        continue;
      AxisList &current = sharding.axes[factors.front()];
      if (axes.size() <= current.size() || !startsWith(axes, current))
        continue;
      // The longest start of the axes that the factor may have.
      for (ArrayRef<StringAttr> list = axes; list.size() > current.size(); list = list.drop_back())
        if (sharding.canCut(factors.front(), list, grid)) {
          current.assign(list.begin(), list.end());
          changed = true;
          break;
        }
    }
  }
  return changed;
}

// Factors to values.
bool ShardingPropagation::push(const OpSharding &sharding, ValueRange values, ArrayRef<TensorFactors> tensors) {
  bool changed = false;
  for (auto [value, tensor] : llvm::zip(values, tensors))
    for (auto [dim, factors] : llvm::enumerate(tensor))
      if (factors.size() == 1)
        changed |= extend(value, dim, sharding.axes[factors.front()]);
  return changed;
}

bool ShardingPropagation::extend(Value value, unsigned dim, ArrayRef<StringAttr> axes) {
  if (closed.contains(value))
    return false;
  SmallVector<AxisList> &all = axesOf[value];
  if (axes.size() <= all[dim].size() || !startsWith(axes, all[dim]))
    return false;
  for (auto [other, list] : llvm::enumerate(all))
    if (other != dim && llvm::any_of(list, [&](StringAttr axis) { return llvm::is_contained(axes, axis); }))
      return false;
  if (product(axes, grid) > tensorType(value).getDimSize(dim))
    return false;
  all[dim].assign(axes.begin(), axes.end());
  return true;
}

// What a micro-batch yields over the axes that cut its inputs is pending: there it cannot be cut over them, only
// afterwards.
bool ShardingPropagation::unifyYielded(Value yielded, Value result) {
  bool changed = false;
  for (unsigned dim = 0; dim < dims(yielded).size(); ++dim) {
    changed |= extend(result, dim, AxisList(dims(yielded)[dim]));
    AxisList axes(dims(result)[dim]);
    axes.truncate(llvm::find_if(axes, [&](StringAttr axis) { return inputAxes.contains(axis); }) - axes.begin());
    changed |= extend(yielded, dim, axes);
  }
  return changed;
}

} // namespace mlir::ppc
