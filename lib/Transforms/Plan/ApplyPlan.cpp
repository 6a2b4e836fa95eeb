// A plan's shardings onto function arguments, its stages onto ops.
#include "dialects/ppc/IR/FunctionAttrs.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Analysis/OpSharding.h"
#include "ppc/Analysis/PlanCuts.h"
#include "ppc/CostModel/ParallelLayout.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_APPLYPLANPASS
#include "ppc/Transforms/Plan/Passes.h.inc"

namespace {

class PlanApplier {
public:
  PlanApplier(func::FuncOp function, PlanAttr plan) : function(function), plan(plan) {}

  LogicalResult run() {
    for (unsigned number = 0; number < function.getNumArguments(); ++number)
      if (failed(shardArgument(number)))
        return failure();
    for (NamedAttribute entry : plan.getParameters())
      if (!parameters.contains(entry.getName().getValue()))
        return function.emitOpError() << "the plan shards parameter '" << entry.getName().getValue()
                                      << "', which the model does not have";
    setArgAttrs(function, attr::sharding, [&](unsigned number) { return shardings[number]; });
    if (cutsStorage(plan))
      gatherBeforeUse();
    else
      llvm::for_each(function.getArguments(), [&](BlockArgument argument) { gatherRounded(argument); });
    if (cutsGradients(plan))
      cutGradients();
    chooseStrategies();
    gatherTokens();
    return assignStages();
  }

private:
  /// How messages call an argument.
  std::string describe(unsigned number) {
    for (StringRef kind : {attr::parameter, attr::input, attr::of, attr::scalar})
      if (auto name = function.getArgAttrOfType<StringAttr>(number, kind))
        return "'" + name.str() + "'";
    return "argument " + std::to_string(number);
  }

  LogicalResult shardArgument(unsigned number);
  LogicalResult verify(unsigned number, RankedTensorType type, ShardingAttr sharding);
  FailureOr<ShardingAttr> shardingFromDimensions(unsigned number, RankedTensorType type);
  /// `sharding`, cut by those of the update's axes that are among `axes` too; of fewer of them blocks hold those of
  /// more.
  ShardingAttr cutState(RankedTensorType type, ShardingAttr sharding, ArrayAttr axes);
  ShardingAttr cutForUpdate(RankedTensorType type, ShardingAttr sharding) {
    return cutState(type, sharding, updateCuts(plan));
  }
  /// A copy for products, made before the first micro-batch.
  bool isRounding(Operation *user) { return isa<ConvertOp>(user) && user->getBlock() == &function.front(); }
  bool isReadRounded(BlockArgument argument);
  Value gatherCopy(Operation *rounding, ShardingAttr to);
  void gatherRounded(BlockArgument argument);
  void gatherBeforeUse();
  void gatherForUses(Value value, ShardingAttr whole);
  void cutGradients();
  ShardingAttr pendingOver(ShardingAttr cut);
  void cutYielded(AccumulateOp accumulate, unsigned number, unsigned parameter);
  void cutGradient(OpOperand &use, ShardingAttr cut);
  void chooseStrategies();
  void gatherTokens();
  LogicalResult assignStages();

  func::FuncOp function;
  PlanAttr plan;
  llvm::StringSet<> parameters;
  SmallVector<Attribute> shardings; ///< of the arguments
};

FailureOr<ShardingAttr> PlanApplier::shardingFromDimensions(unsigned number, RankedTensorType type) {
  auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims);
  if (!dims)
    return ShardingAttr::replicated(function.getContext(), type.getRank());
  if (int64_t(dims.size()) != type.getRank())
    return function.emitOpError() << describe(number) << " has " << type.getRank() << " dimensions but ppc.dims names "
                                  << dims.size();
  SmallVector<ArrayAttr> cut;
  llvm::StringMap<StringRef> usedBy;
  for (StringRef dim : axisNames(dims)) {
    auto axes = plan.getDimensions().getAs<ArrayAttr>(dim);
    SmallVector<Attribute> own;
    for (StringAttr axis : axes ? llvm::to_vector(axes.getAsRange<StringAttr>()) : SmallVector<StringAttr>()) {
      auto [it, isNew] = usedBy.try_emplace(axis.getValue(), dim);
      if (isNew)
        own.push_back(axis);
      else if (!plan.getGrid().has(axis) || plan.getGrid().size(axis) > 1) // an axis of one rank cuts nothing
        return function.emitOpError() << "the plan shards both dimensions '" << it->second << "' and '" << dim
                                      << "' of " << describe(number) << " over axis '" << axis.getValue()
                                      << "': shard one of them over another axis";
    }
    cut.push_back(ArrayAttr::get(function.getContext(), own));
  }
  return ShardingAttr::get(function.getContext(), cut, {}, {});
}

LogicalResult PlanApplier::verify(unsigned number, RankedTensorType type, ShardingAttr sharding) {
  if (int64_t(sharding.getDims().size()) != type.getRank())
    return function.emitOpError() << "the plan shards " << sharding.getDims().size() << " dimensions of "
                                  << describe(number) << ", which has " << type.getRank();
  auto dims = function.getArgAttrOfType<ArrayAttr>(number, attr::dims);
  for (auto [dim, axes] : llvm::enumerate(sharding.getDims())) {
    for (StringRef axis : axisNames(axes))
      if (!plan.getGrid().has(axis))
        return function.emitOpError() << "the plan shards " << describe(number) << " over axis '" << axis
                                      << "', which the mesh does not have";
    int64_t parts = plan.getGrid().product(axes), extent = type.getDimSize(dim);
    if (parts > extent) {
      std::string name = dims ? " ('" + cast<StringAttr>(dims[dim]).str() + "')" : "";
      return function.emitOpError() << "dimension " << dim << name << " of " << describe(number) << " has " << extent
                                    << " elements and cannot be sharded into " << parts
                                    << " parts: use fewer parallel ranks along it";
    }
  }
  return success();
}

// Among equal dimensions the outermost: there a block is one piece of memory. The axes cut one dimension together, so
// that a gradient is reduced in one step. Tensors that have too few elements for them stay whole.
ShardingAttr PlanApplier::cutState(RankedTensorType type, ShardingAttr sharding, ArrayAttr axes) {
  GridAttr grid = plan.getGrid();
  SmallVector<SmallVector<Attribute>> dims;
  for (ArrayAttr own : sharding.getDims())
    dims.emplace_back(own.begin(), own.end());
  SmallVector<Attribute> free = llvm::filter_to_vector(updateCuts(plan), [&](Attribute axis) {
    return grid.size(cast<StringAttr>(axis)) > 1 &&
           llvm::none_of(dims, [&](auto &own) { return llvm::is_contained(own, axis); });
  });
  auto partsOf = [&](ArrayRef<Attribute> list) {
    return int64_t(grid.product(ArrayAttr::get(type.getContext(), list)));
  };
  auto before = llvm::map_to_vector(dims, [&](auto &axes) { return partsOf(axes); });
  if (!free.empty())
    if (std::optional<unsigned> best = updateCut(type.getShape(), before, partsOf(free)))
      llvm::copy_if(free, std::back_inserter(dims[*best]),
                    [&](Attribute axis) { return llvm::is_contained(axes, axis); });
  auto cut = llvm::map_to_vector(dims, [&](auto &own) { return ArrayAttr::get(type.getContext(), own); });
  return ShardingAttr::get(type.getContext(), cut, {}, {});
}

LogicalResult PlanApplier::shardArgument(unsigned number) {
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[number]);
  if (!type)
    return function.emitOpError() << "argument " << number << " is not a tensor";
  auto name = function.getArgAttrOfType<StringAttr>(number, attr::parameter);
  if (name)
    parameters.insert(name.getValue());
  bool isState = !name && function.getArgAttr(number, attr::state);
  if (!name)
    name = function.getArgAttrOfType<StringAttr>(number, attr::of); // moments follow their parameter
  auto sharding = name ? plan.getParameters().getAs<ShardingAttr>(name.getValue()) : ShardingAttr();
  if (!sharding) {
    FailureOr<ShardingAttr> derived = shardingFromDimensions(number, type);
    if (failed(derived))
      return failure();
    sharding = *derived;
  }
  if (isState && int64_t(sharding.getDims().size()) == type.getRank())
    sharding = cutForUpdate(type, sharding);
  if (failed(verify(number, type, sharding)))
    return failure();
  shardings.push_back(sharding);
  return success();
}

bool PlanApplier::isReadRounded(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) { return isRounding(user); }) &&
         llvm::all_of(argument.getUsers(), [&](Operation *user) { return isRounding(user) || isa<AdamwOp>(user); });
}

/// What is rounded once per step, gathered at once.
Value PlanApplier::gatherCopy(Operation *rounding, ShardingAttr to) {
  OpBuilder builder(rounding->getContext());
  builder.setInsertionPointAfter(rounding);
  Value copy = rounding->getResult(0);
  auto gather = ReshardOp::create(builder, rounding->getLoc(), copy.getType(), copy, to);
  gather->setDiscardableAttrs(rounding->getDiscardableAttrDictionary());
  copy.replaceAllUsesExcept(gather, gather);
  return gather;
}

/// Where micro-batches read nothing of a parameter but what is rounded of it, each rank keeps the block that it
/// updates: that is rounded, and what is gathered has half the bytes. The same numbers: rounding goes element by
/// element.
void PlanApplier::gatherRounded(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  if (!function.getArgAttr(number, attr::parameter) || !isReadRounded(argument))
    return;
  auto whole = function.getArgAttrOfType<ShardingAttr>(number, attr::sharding);
  auto type = cast<RankedTensorType>(argument.getType());
  if (int64_t(whole.getDims().size()) != type.getRank())
    return;
  ShardingAttr cut = cutForUpdate(type, whole);
  if (cut == whole)
    return;
  function.setArgAttr(number, attr::sharding, cut);
  for (Operation *user : llvm::to_vector(argument.getUsers()))
    if (isRounding(user))
      gatherCopy(user, whole);
}

/// A gather of `value` for each part of a layer that micro-batches use it in: what forward has gathered is gone when
/// backward begins.
void PlanApplier::gatherForUses(Value value, ShardingAttr whole) {
  DenseMap<std::tuple<Attribute, Attribute, Attribute>, Value> gathered; // by layer, part and slice
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (isa<AccumulateOp>(use.getOwner()->getParentOp()))
      uses.push_back(&use);
  llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
    return a->getOwner() != b->getOwner() && a->getOwner()->isBeforeInBlock(b->getOwner());
  });
  for (OpOperand *use : uses) {
    Operation *user = use->getOwner();
    Value &copy = gathered[{user->getAttr(attr::layer), user->getAttr(attr::part), user->getAttr(attr::slice)}];
    if (!copy) {
      OpBuilder builder(user);
      auto gather = ReshardOp::create(builder, user->getLoc(), value.getType(), value, whole);
      for (StringRef name : {attr::layer, attr::part, attr::slice})
        if (Attribute own = user->getAttr(name))
          gather->setAttr(name, own);
      copy = gather;
    }
    use->set(copy);
  }
}

/// Parameters are kept cut, and gathered where micro-batches use them: what products read, which is rounded block by
/// block before, has half the bytes. Of that each rank keeps the block that `storage` cuts, and in f32 the one that it
/// updates.
void PlanApplier::gatherBeforeUse() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!function.getArgAttr(number, attr::parameter))
      continue;
    auto whole = function.getArgAttrOfType<ShardingAttr>(number, attr::sharding);
    auto type = cast<RankedTensorType>(argument.getType());
    if (int64_t(whole.getDims().size()) != type.getRank())
      continue;
    ShardingAttr cut = cutState(type, whole, plan.getStorage());
    if (cut == whole) {
      gatherRounded(argument);
      continue;
    }
    ShardingAttr kept = isReadRounded(argument) ? cutForUpdate(type, whole) : cut;
    function.setArgAttr(number, attr::sharding, kept);
    for (Operation *user : llvm::to_vector(argument.getUsers()))
      if (isRounding(user))
        gatherForUses(kept == cut ? user->getResult(0) : gatherCopy(user, cut), whole);
    gatherForUses(argument, whole);
  }
}

/// What micro-batches yield as the gradient of a parameter is cut, before it is accumulated, as its state is over the
/// axes of `gradients`; over other ranks that have batches of their own it is summed after the last micro-batch.
void PlanApplier::cutGradients() {
  function.walk([&](AdamwOp adamw) {
    auto parameter = dyn_cast<BlockArgument>(adamw.getParameter());
    if (!parameter)
      return;
    SmallVector<Value> pending{adamw.getGradient()}; // sums of several uses of a parameter, scaled
    while (!pending.empty()) {
      Value gradient = pending.pop_back_val();
      Operation *op = gradient.getDefiningOp();
      if (auto accumulate = dyn_cast_if_present<AccumulateOp>(op))
        cutYielded(accumulate, cast<OpResult>(gradient).getResultNumber(), parameter.getArgNumber());
      else if (op)
        llvm::copy_if(op->getOperands(), std::back_inserter(pending),
                      [&](Value operand) { return operand.getType() == gradient.getType(); });
    }
  });
}

void PlanApplier::cutYielded(AccumulateOp accumulate, unsigned number, unsigned parameter) {
  auto type = cast<RankedTensorType>(function.getArgument(parameter).getType());
  auto sharding = cast<ShardingAttr>(shardings[parameter]);
  ShardingAttr cut = cutState(type, sharding, plan.getGradients());
  if (cut != sharding)
    cutGradient(accumulate.getBody().front().getTerminator()->getOpOperand(number), pendingOver(cut));
}

/// Sums may stay pending over the axes of the update, and over those that copies of the cut state lie along.
ShardingAttr PlanApplier::pendingOver(ShardingAttr cut) {
  GridAttr grid = plan.getGrid();
  SmallVector<StringAttr> axes;
  for (auto [name, size, role] : llvm::zip(grid.getNames(), grid.getSizes(), grid.getRoles()))
    if (size > 1 && (role == AxisRole::Data || llvm::is_contained(updateCuts(plan), name)) &&
        llvm::none_of(cut.getDims(), [&](ArrayAttr own) { return llvm::is_contained(own, name); }))
      axes.push_back(name);
  return withPartial(cut, axes, Combiner::Sum);
}

/// What slices of a sequence give is cut before it is added up: the sum is not there as a whole.
void PlanApplier::cutGradient(OpOperand &use, ShardingAttr cut) {
  Operation *producer = use.get().getDefiningOp();
  if (!producer || isa<ReshardOp>(producer))
    return;
  auto sliceOf = [](Value value) {
    return value.getDefiningOp() ? value.getDefiningOp()->getAttr(attr::slice) : Attribute();
  };
  if (isa<AddOp>(producer) && producer->hasOneUse() &&
      sliceOf(producer->getOperand(0)) != sliceOf(producer->getOperand(1))) {
    for (OpOperand &part : producer->getOpOperands())
      cutGradient(part, cut);
    return;
  }
  OpBuilder builder(producer->getContext());
  builder.setInsertionPointAfter(producer);
  auto scatter = ReshardOp::create(builder, producer->getLoc(), use.get().getType(), use.get(), cut);
  scatter->setDiscardableAttrs(producer->getDiscardableAttrDictionary());
  scatter->setAttr(attr::part, PartAttr::get(builder.getContext(), Part::WeightGradient));
  use.set(scatter);
}

/// Where inputs are cut along the sequence, ops that can share one with others are told how.
void PlanApplier::chooseStrategies() {
  if (std::optional<StringRef> strategy = sequenceStrategy(plan))
    function.walk([&](StrategyOpInterface op) { (void)op.chooseStrategy(*strategy); });
}

/// Where experts are cut over ranks that have batches, or parts of sequences, of their own, these gather their tokens
/// for the experts of each, and scatter what comes of them: less than the slots of all experts, which would travel
/// else, as long as there are no fewer slots than tokens that are gathered.
void PlanApplier::gatherTokens() {
  GridAttr grid = plan.getGrid();
  auto severalDevices = [&](StringRef dimension) {
    SmallVector<Attribute> axes;
    if (auto all = plan.getDimensions().getAs<ArrayAttr>(dimension))
      llvm::copy_if(all, std::back_inserter(axes),
                    [&](Attribute axis) { return grid.size(cast<StringAttr>(axis)) > 1; });
    return axes;
  };
  SmallVector<Attribute> experts = severalDevices("experts"), batch = severalDevices("batch"),
                         sequence = severalDevices("sequence");
  int64_t sharing = 1;
  for (SmallVector<Attribute> *tokens : {&batch, &sequence})
    llvm::erase_if(*tokens, [&](Attribute axis) {
      bool shares = llvm::is_contained(experts, axis);
      sharing *= shares ? grid.size(cast<StringAttr>(axis)) : 1;
      return shares;
    });
  if (sharing == 1)
    return;
  Builder builder(function.getContext());
  function.walk([&](DispatchOp op) {
    RankedTensorType slots = op.getType();
    SmallVector<NamedAttribute> factors = {builder.getNamedAttr("b", builder.getArrayAttr(batch)),
                                           builder.getNamedAttr("e", builder.getArrayAttr(experts))};
    if (!sequence.empty() && !op.getShardingRule().findFactor("c")) // slots are cut with tokens
      factors.push_back(builder.getNamedAttr("s", builder.getArrayAttr(sequence)));
    bool isLess = sharing * tensorType(op.getX()).getDimSize(1) <= slots.getDimSize(1) * slots.getDimSize(2);
    if (isLess && !op->hasAttr(attr::factors))
      op->setAttr(attr::factors, builder.getDictionaryAttr(factors));
  });
}

LogicalResult PlanApplier::assignStages() {
  ArrayRef<int64_t> first = plan.getStages();
  int64_t lastLayer = 0;
  function.walk([&](Operation *op) {
    auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
    auto part = op->getAttrOfType<PartAttr>(attr::part);
    // A model written by hand needs no layers as long as there is one stage.
    if (!layer && first.size() == 1 && part && part.getValue() != Part::Update)
      op->setAttr(attr::stage, IntegerAttr::get(IntegerType::get(op->getContext(), 64), 0));
    if (!layer)
      return;
    lastLayer = std::max(lastLayer, layer.getInt());
    int64_t stage = std::distance(first.begin(), llvm::upper_bound(first, layer.getInt())) - 1;
    auto slice = op->getAttrOfType<IntegerAttr>(attr::slice);
    int64_t before = slice ? slice.getInt() * int64_t(first.size()) : 0;
    op->setAttr(attr::stage, IntegerAttr::get(layer.getType(), before + std::max<int64_t>(stage, 0)));
  });
  if (first.back() > lastLayer)
    return function.emitOpError() << "the plan's last stage starts at layer " << first.back()
                                  << " but the model's last layer is " << lastLayer
                                  << " (the embedding and the LM head are layers too)";
  return success();
}

struct ApplyPlanPass : impl::ApplyPlanPassBase<ApplyPlanPass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-search-plan or ppc-make-plan first");
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(PlanApplier(function, plan).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace mlir::ppc
