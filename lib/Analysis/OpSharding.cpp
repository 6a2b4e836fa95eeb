// How an op is cut: from the axes of its factors to the shardings of its operands and results.
#include "ppc/Analysis/OpSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc {

ArrayAttr toArrayAttr(MLIRContext *context, ArrayRef<StringAttr> axes) {
  return ArrayAttr::get(context, SmallVector<Attribute>(axes.begin(), axes.end()));
}

ShardingAttr shardingOf(MLIRContext *context, ArrayRef<AxisList> dims) {
  auto attributes = llvm::map_to_vector(dims, [&](const AxisList &axes) { return toArrayAttr(context, axes); });
  return ShardingAttr::get(context, attributes, {}, {});
}

ShardingAttr withPartial(ShardingAttr sharding, ArrayRef<StringAttr> axes, Combiner combiner) {
  SmallVector<StringAttr> names(sharding.getPartialAxes());
  SmallVector<Combiner> combiners(sharding.getPartialCombiners());
  for (StringAttr axis : axes)
    if (!llvm::is_contained(names, axis)) {
      names.push_back(axis);
      combiners.push_back(combiner);
    }
  return ShardingAttr::get(sharding.getContext(), sharding.getDims(), names, combiners);
}

OpSharding OpSharding::uncut(Operation *op) {
  OpSharding sharding;
  auto rule = dyn_cast<ShardingRuleOpInterface>(op);
  sharding.rule = rule ? rule.getShardingRule() : ShardingRule::none("it has no sharding rule");
  if (sharding.rule.isNone()) { // dimensions that no loop walks
    auto dimensions = [](Type type) {
      return TensorFactors(isa<RankedTensorType>(type) ? cast<RankedTensorType>(type).getRank() : 0);
    };
    sharding.rule.operands = llvm::map_to_vector<4>(op->getOperandTypes(), dimensions);
    sharding.rule.results = llvm::map_to_vector<2>(op->getResultTypes(), dimensions);
    sharding.rule.keepsZeroPadding.assign(op->getNumResults(), false);
  }
  sharding.axes.resize(sharding.rule.factors.size());
  return sharding;
}

static std::string axesOf(GridAttr grid) {
  std::string text;
  for (StringAttr axis : grid.getNames())
    text += (text.empty() ? "" : ", ") + axis.str();
  return text.empty() ? "none" : text;
}

FailureOr<OpSharding> OpSharding::read(Operation *op, GridAttr grid) {
  OpSharding sharding = uncut(op);
  auto factors = op->getAttrOfType<DictionaryAttr>(attr::factors);
  if (!factors)
    return sharding;
  for (NamedAttribute entry : factors) {
    std::optional<unsigned> factor = sharding.rule.findFactor(entry.getName());
    auto axes = dyn_cast<ArrayAttr>(entry.getValue());
    if (!factor)
      return op->emitOpError() << "ppc.factors names " << entry.getName() << ", but the rule is "
                               << sharding.rule.str();
    if (!axes || !llvm::all_of(axes, llvm::IsaPred<StringAttr>))
      return op->emitOpError() << "ppc.factors must give " << entry.getName() << " a list of axes, found "
                               << entry.getValue();
    for (StringRef axis : axisNames(axes))
      if (!grid.has(axis))
        return op->emitOpError() << "factor " << entry.getName() << " is sharded over axis \"" << axis
                                 << "\", which the mesh does not have; it has " << axesOf(grid);
    std::string why;
    if (!sharding.canCut(*factor, toAxisList(axes), grid, &why))
      return op->emitOpError() << "factor " << entry.getName() << " cannot be sharded over " << axes << ": " << why;
    sharding.axes[*factor] = toAxisList(axes);
  }
  return sharding;
}

/// What is stated for result `number`, without axes of one rank.
static ShardingAttr statedForSeveral(OpResult result, GridAttr grid) {
  ShardingAttr stated = statedSharding(result);
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!stated || !type || int64_t(stated.getDims().size()) != type.getRank())
    return {};
  auto isCut = [&](StringAttr axis) { return grid.size(axis) > 1; };
  SmallVector<AxisList> dims;
  for (ArrayAttr axes : stated.getDims())
    dims.push_back(llvm::filter_to_vector<2>(toAxisList(axes), isCut));
  ShardingAttr sharding = shardingOf(result.getContext(), dims);
  for (auto [axis, combiner] : llvm::zip(stated.getPartialAxes(), stated.getPartialCombiners()))
    if (isCut(axis))
      sharding = withPartial(sharding, axis, combiner);
  return sharding;
}

FailureOr<OpSharding> OpSharding::readStated(Operation *op, GridAttr grid) {
  OpSharding sharding = uncut(op);
  auto list = op->getAttrOfType<ArrayAttr>(attr::shardings);
  if (!list || list.size() != op->getNumResults() || !llvm::all_of(list, llvm::IsaPred<ShardingAttr>))
    return op->emitOpError() << "needs a sharding for each of its " << op->getNumResults() << " results, found "
                             << op->getAttr(attr::shardings);
  auto cut = [&](unsigned factor, ArrayRef<StringAttr> axes, Attribute stated) -> LogicalResult {
    std::string why;
    if (sharding.axes[factor] == axes)
      return success();
    if (!sharding.canCut(factor, axes, grid, &why))
      return op->emitOpError() << "has the sharding " << stated << ", but factor \""
                               << sharding.rule.factors[factor].name << "\" cannot be sharded over "
                               << toArrayAttr(op->getContext(), axes) << ": " << why;
    sharding.axes[factor].assign(axes.begin(), axes.end());
    return success();
  };
  for (OpResult result : op->getResults()) {
    ShardingAttr stated = statedForSeveral(result, grid);
    const TensorFactors &tensor = sharding.rule.results[result.getResultNumber()];
    if (!stated)
      continue; // the comparison below says what is wrong
    for (auto [factors, axes] : llvm::zip_equal(tensor, stated.getDims()))
      if (factors.size() == 1 && !axes.empty() && failed(cut(factors.front(), toAxisList(axes), stated)))
        return failure();
    SmallVector<unsigned> reduced;
    for (unsigned factor = 0; factor < sharding.axes.size(); ++factor)
      if (!ShardingRule::contains(tensor, factor) && !sharding.rule.factors[factor].needsReplication)
        reduced.push_back(factor);
    if (stated.isPartial() && reduced.size() > 1)
      return op->emitOpError() << "has the sharding " << stated << ", but several of its loops are reduced: name in "
                               << attr::factors << " the one that is sharded";
    if (stated.isPartial() && reduced.size() == 1 && failed(cut(reduced.front(), stated.getPartialAxes(), stated)))
      return failure();
  }
  for (OpResult result : op->getResults()) {
    ShardingAttr stated = statedForSeveral(result, grid),
                 given = sharding.result(op->getContext(), result.getResultNumber());
    if (isa<RankedTensorType>(result.getType()) && stated != given)
      return op->emitOpError() << "has the sharding " << list[result.getResultNumber()] << " for result "
                               << result.getResultNumber() << ", but its factors shard the result as " << given;
  }
  return sharding;
}

DictionaryAttr OpSharding::attribute(MLIRContext *context) const {
  SmallVector<NamedAttribute> entries;
  for (auto [factor, list] : llvm::zip_equal(rule.factors, axes))
    if (!list.empty())
      entries.emplace_back(StringAttr::get(context, factor.name), toArrayAttr(context, list));
  return DictionaryAttr::get(context, entries);
}

bool OpSharding::uses(StringAttr axis) const {
  return llvm::any_of(axes, [&](const AxisList &list) { return llvm::is_contained(list, axis); });
}

bool OpSharding::canCut(unsigned number, ArrayRef<StringAttr> list, GridAttr grid, std::string *why) const {
  const Factor &factor = rule.factors[number];
  std::string ignored;
  llvm::raw_string_ostream reason(why ? *why : ignored);
  if (list.empty())
    return true;
  if (factor.needsReplication)
    return reason << "its iterations depend on each other", false;
  int64_t parts = 1;
  for (StringAttr axis : list)
    parts *= grid.size(axis);
  if (parts > factor.size)
    return reason << factor.size << " elements cannot be sharded " << parts << " ways", false;
  for (auto [other, axesOfOther] : llvm::enumerate(axes))
    for (StringAttr axis : list)
      if (other != number && llvm::is_contained(axesOfOther, axis))
        return reason << "axis \"" << axis.getValue() << "\" shards factor \"" << rule.factors[other].name
                      << "\" already",
               false;
  auto isMerged = [&](const TensorFactors &tensor) { // one of several loops of a dimension: blocks are not contiguous
    return llvm::any_of(tensor, [&](const auto &dim) { return dim.size() > 1 && llvm::is_contained(dim, number); });
  };
  if (llvm::any_of(rule.operands, isMerged) || llvm::any_of(rule.results, isMerged))
    return reason << "it shares a dimension with another factor", false;
  bool isReduced =
      llvm::any_of(rule.results, [&](const TensorFactors &result) { return !ShardingRule::contains(result, number); });
  if (isReduced && factor.combiner == Combiner::Max && factor.size % parts)
    return reason << factor.size << " does not divide by " << parts << ", and the padding would spoil the maximum",
           false;
  // All that is pending on a result combines in one way, so that the order of the reductions does not matter.
  for (auto [other, axesOfOther] : llvm::enumerate(axes))
    if (isReduced && other != number && !axesOfOther.empty() && rule.factors[other].combiner != factor.combiner)
      for (const TensorFactors &result : rule.results)
        if (!ShardingRule::contains(result, number) && !ShardingRule::contains(result, other))
          return reason << "factor \"" << rule.factors[other].name << "\" is reduced in another way", false;
  return true;
}

ShardingAttr OpSharding::ofTensor(MLIRContext *context, const TensorFactors &tensor) const {
  auto dims = llvm::map_to_vector(tensor, [&](const auto &dim) {
    AxisList list;
    for (unsigned factor : dim)
      list.append(axes[factor]);
    return list;
  });
  return shardingOf(context, dims);
}

ShardingAttr OpSharding::operand(MLIRContext *context, unsigned number) const {
  return ofTensor(context, rule.operands[number]);
}

SmallVector<std::pair<StringAttr, Combiner>> OpSharding::pending(unsigned result) const {
  SmallVector<std::pair<StringAttr, Combiner>> list;
  for (auto [number, factor] : llvm::enumerate(rule.factors))
    if (!ShardingRule::contains(rule.results[result], number))
      for (StringAttr axis : axes[number])
        list.emplace_back(axis, factor.combiner);
  return list;
}

ShardingAttr OpSharding::result(MLIRContext *context, unsigned number) const {
  ShardingAttr sharding = ofTensor(context, rule.results[number]);
  for (auto [axis, combiner] : pending(number))
    sharding = withPartial(sharding, axis, combiner);
  return sharding;
}

ShardingAttr statedSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto function = dyn_cast<func::FuncOp>(parent))
      return function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), attr::sharding);
    auto list = parent->getAttrOfType<ArrayAttr>(attr::operandShardings);
    return list && argument.getArgNumber() < list.size() ? dyn_cast<ShardingAttr>(list[argument.getArgNumber()])
                                                         : nullptr;
  }
  auto result = cast<OpResult>(value);
  auto list = result.getOwner()->getAttrOfType<ArrayAttr>(attr::shardings);
  return list && result.getResultNumber() < list.size() ? dyn_cast<ShardingAttr>(list[result.getResultNumber()])
                                                        : nullptr;
}

void stateSharding(OpResult result, ShardingAttr sharding) {
  Operation *op = result.getOwner();
  MLIRContext *context = op->getContext();
  SmallVector<Attribute> list;
  for (OpResult other : op->getResults()) {
    ShardingAttr stated = statedSharding(other);
    auto type = dyn_cast<RankedTensorType>(other.getType());
    list.push_back(stated ? stated : ShardingAttr::replicated(context, type ? type.getRank() : 0));
  }
  list[result.getResultNumber()] = sharding;
  op->setAttr(attr::shardings, ArrayAttr::get(context, list));
}

/// The first axis of `sharding` that `grid` lacks.
static StringAttr unknownAxis(ShardingAttr sharding, GridAttr grid) {
  for (ArrayAttr axes : sharding.getDims())
    for (Attribute axis : axes)
      if (!grid.has(cast<StringAttr>(axis)))
        return cast<StringAttr>(axis);
  for (StringAttr axis : sharding.getPartialAxes())
    if (!grid.has(axis))
      return axis;
  return {};
}

LogicalResult verifyStatedAxes(func::FuncOp function, GridAttr grid) {
  auto check = [&](Attribute stated, const Twine &what, function_ref<InFlightDiagnostic()> report) -> LogicalResult {
    auto sharding = dyn_cast_or_null<ShardingAttr>(stated);
    StringAttr axis = sharding ? unknownAxis(sharding, grid) : StringAttr();
    if (!axis)
      return success();
    return report() << what << " has the sharding " << sharding << " over axis " << axis
                    << ", which the mesh does not have; it has " << axesOf(grid);
  };
  auto reportFunction = [&]() -> InFlightDiagnostic { return function.emitOpError(); };
  for (unsigned number = 0; number < function.getNumArguments(); ++number)
    if (failed(check(function.getArgAttr(number, attr::sharding), "argument " + Twine(number), reportFunction)))
      return failure();
  for (unsigned number = 0; number < function.getNumResults(); ++number)
    if (failed(check(function.getResultAttr(number, attr::sharding), "result " + Twine(number), reportFunction)))
      return failure();
  WalkResult walk = function.walk([&](Operation *op) {
    auto report = [&]() -> InFlightDiagnostic { return op->emitOpError(); };
    if (auto reshard = dyn_cast<ReshardOp>(op); reshard && failed(check(reshard.getTo(), "result 0", report)))
      return WalkResult::interrupt();
    for (StringRef name : {attr::shardings, attr::operandShardings})
      if (auto list = op->getAttrOfType<ArrayAttr>(name))
        for (auto [number, stated] : llvm::enumerate(list))
          if (failed(check(stated, (name == attr::shardings ? "result " : "block argument ") + Twine(number), report)))
            return WalkResult::interrupt();
    return failed(OpSharding::read(op, grid)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

PlanAttr planOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<PlanAttr>(attr::plan) : nullptr;
}

} // namespace mlir::ppc
