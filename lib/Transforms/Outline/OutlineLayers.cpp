// ppc-outline-layers: each layer's ops become a private function. Equal layers become equal functions, which upstream's
// duplicate-function-elimination then merges, so that each kind of layer is compiled once.
#include "ppc/Transforms/Outline/Passes.h"

#include "dialects/ppc/IR/FunctionAttrs.h"
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_OUTLINELAYERSPASS
#include "ppc/Transforms/Outline/Passes.h.inc"

namespace {
constexpr size_t kSummands = 16;

/// The ops of one outlined function, in order.
struct Group {
  std::string name;
  SmallVector<Operation *> ops;
};

bool isConstant(Operation *op) { return op->hasTrait<OpTrait::ConstantLike>(); }

std::optional<int64_t> layerOf(Operation *op) {
  auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
  return layer ? std::optional(layer.getInt()) : std::nullopt;
}

/// Orders the ops of `block` by layer where every operand still comes before its use.
void orderByLayer(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    if (!isConstant(&op)) {
      if (!layerOf(&op))
        return;
      ops.push_back(&op);
    }
  // Functions with ppcrt.reach are ordered as in backward: descending layers are tried first.
  bool reaches = llvm::any_of(ops, llvm::IsaPred<ppcrt::ReachOp>);
  for (bool ascending : {!reaches, reaches}) {
    SmallVector<Operation *> sorted = ops;
    llvm::stable_sort(sorted, [&](Operation *a, Operation *b) {
      return ascending ? *layerOf(a) < *layerOf(b) : *layerOf(a) > *layerOf(b);
    });
    DenseMap<Operation *, unsigned> position;
    for (auto [i, op] : llvm::enumerate(sorted))
      position[op] = i;
    bool legal = llvm::all_of(sorted, [&](Operation *op) {
      return llvm::all_of(op->getOperands(), [&](Value operand) {
        auto it = position.find(operand.getDefiningOp());
        return it == position.end() || it->second < position[op];
      });
    });
    if (!legal)
      continue;
    for (Operation *op : sorted)
      op->moveBefore(block.getTerminator());
    return;
  }
}

bool isLarge(Type type) { return isa<RankedTensorType>(type) && cast<RankedTensorType>(type).getRank() > 0; }

/// Sums many scalars, the norms of a stage's gradients, in groups of kSummands: functions with as many operands as
/// a stage has parameters could not be shared between stages.
void splitScalarSums(func::FuncOp function) {
  for (auto sum : llvm::make_early_inc_range(function.getOps<SumOp>())) {
    if (isLarge(sum.getType()) || sum.getNumOperands() <= kSummands)
      continue;
    OpBuilder builder(sum);
    SmallVector<Value> values(sum.getInputs());
    while (values.size() > kSummands) {
      SmallVector<Value> sums;
      for (ArrayRef<Value> rest = values; !rest.empty(); rest = rest.drop_front(std::min(kSummands, rest.size()))) {
        ArrayRef<Value> group = rest.take_front(kSummands);
        sums.push_back(group.size() == 1 ? group.front()
                                         : SumOp::create(builder, sum.getLoc(), sum.getType(), group).getResult());
      }
      values = std::move(sums);
    }
    sum.getInputsMutable().assign(values);
  }
}

/// Copies returned constants, so that they get a buffer like a result of a call.
void copyReturnedConstants(func::FuncOp function) {
  Operation *terminator = function.front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands())
    if (Operation *source = operand.get().getDefiningOp(); source && isConstant(source)) {
      OpBuilder builder(terminator);
      operand.set(builder.clone(*source)->getResult(cast<OpResult>(operand.get()).getResultNumber()));
    }
}

/// All ops but constants, in order: runs of ops of one layer and of ops that have none, none of which crosses a
/// ppcrt.reach. Before and after the micro-batches, where ops are per parameter, each op on more than scalars, and each
/// full group of summands, is a run of its own.
SmallVector<Group> groupsOf(func::FuncOp function) {
  SmallVector<Group> groups;
  ppcrt::RoutineKind kind = *ppcrt::routineKindOf(function);
  StringRef action = ppcrt::stringifyRoutineKind(kind);
  bool isOfMicroBatch = !ppcrt::isOfStep(kind);
  std::optional<std::optional<int64_t>> open; // the layer, if any, of the last group while ops may follow in it
  for (Operation &op : function.front().without_terminator()) {
    if (isConstant(&op)) {
      if (llvm::any_of(op.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }))
        groups.push_back({"constant_body", {&op}});
      continue;
    }
    if (isa<ppcrt::ReachOp>(op)) {
      open.reset();
      continue;
    }
    bool isAlone =
        !isOfMicroBatch && (llvm::any_of(op.getOperandTypes(), isLarge) || llvm::any_of(op.getResultTypes(), isLarge) ||
                            (isa<SumOp>(op) && op.getNumOperands() == kSummands));
    std::optional<int64_t> layer = layerOf(&op);
    if (isAlone)
      groups.push_back({op.getName().stripDialect().str() + "_body", {&op}});
    else if (open && *open == layer)
      groups.back().ops.push_back(&op);
    else
      groups.push_back({action.str() + "_body", {&op}});
    open.reset();
    if (!isAlone)
      open = layer;
  }
  return groups;
}

/// The operand of `value`'s op whose buffer `value` takes over if it is stored in `root`; null if none does.
Value updatedOperand(Value value, Value root) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  auto leadsToRoot = [&](Value operand) {
    return operand.getType() == root.getType() && (operand == root || updatedOperand(operand, root));
  };
  if (auto adamw = dyn_cast<AdamwOp>(op)) {
    Value before = value == adamw.getNewParameter() ? adamw.getParameter()
                   : value == adamw.getNewM()       ? adamw.getM()
                                                    : adamw.getV();
    return before == root ? before : Value();
  }
  if (!isa<AddOp, SumOp, AllReduceOp>(op))
    return {};
  for (Value operand : op->getOperands())
    if (leadsToRoot(operand))
      return operand;
  return {};
}

/// For all values on the way from an argument to the result that updates it: the value whose buffer each takes
/// over.
class InPlaceChains {
public:
  explicit InPlaceChains(func::FuncOp function) {
    for (auto [i, result] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
      auto destination = function.getResultAttrOfType<IntegerAttr>(i, attr::destination);
      if (!destination)
        continue;
      BlockArgument argument = function.getArgument(destination.getInt());
      for (Value value = result; value && value != argument; value = before.lookup(value))
        add(value, updatedOperand(value, argument));
    }
    // A gradient that an update reduces between ranks is not needed afterwards.
    if (ppcrt::routineKindOf(function) == ppcrt::RoutineKind::Update)
      for (auto reduce : function.getOps<AllReduceOp>())
        if (Value gradient = reduce.getX();
            isa<BlockArgument>(gradient) && gradient.hasOneUse() && !before.count(reduce.getY()))
          add(reduce.getY(), gradient);
  }

  Value previous(Value value) const { return before.lookup(value); }

  /// `value` is `replacement` from now on, which takes over the buffer of `updated` (null: of none).
  void replace(Value value, Value replacement, Value updated) {
    for (Value follower : after.lookup(value))
      add(follower, replacement);
    erase(value);
    if (updated)
      add(replacement, updated);
  }
  void erase(Value value) {
    before.erase(value);
    after.erase(value);
  }

private:
  void add(Value value, Value updated) {
    before[value] = updated;
    if (updated)
      after[updated].push_back(value);
  }
  DenseMap<Value, Value> before;
  DenseMap<Value, SmallVector<Value, 1>> after;
};

/// Moves `group` into a new private function and calls it.
/// Keeps `inPlace` true: results of the call take the places of the values that moved.
void outline(func::FuncOp function, const Group &group, InPlaceChains &inPlace, SymbolTable &symbols) {
  SmallPtrSet<Operation *, 16> inside(group.ops.begin(), group.ops.end());
  llvm::SetVector<Value> inputs, constants;
  SmallVector<Value> outputs;
  for (Operation *op : group.ops) {
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (source && isConstant(source))
        constants.insert(operand);
      else if (!source || !inside.contains(source))
        inputs.insert(operand);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        outputs.push_back(result);
  }

  OpBuilder builder(group.ops.back());
  Location loc = group.ops.back()->getLoc();
  builder.setInsertionPointAfter(group.ops.back());
  SmallVector<Value> operands = llvm::to_vector(inputs);
  auto type = builder.getFunctionType(ValueRange(operands).getTypes(), ValueRange(outputs).getTypes());
  auto body = func::FuncOp::create(function.getLoc(), group.name, type);
  body.setPrivate();
  symbols.insert(body);
  Block *block = body.addEntryBlock();

  // A result that updates an argument of the function in place does so in the body.
  auto call = func::CallOp::create(builder, loc, body, operands);
  for (auto [i, output, result] : llvm::enumerate(outputs, call.getResults())) {
    Value updated = output;
    while (updated && !inputs.contains(updated))
      updated = inPlace.previous(updated);
    if (updated)
      body.setResultAttr(i, attr::destination,
                         builder.getI64IntegerAttr(llvm::find(operands, updated) - operands.begin()));
    inPlace.replace(output, result, updated);
    output.replaceUsesWithIf(result, [&](OpOperand &use) { return !inside.contains(use.getOwner()); });
  }
  IRMapping mapping;
  mapping.map(operands, block->getArguments());
  builder.setInsertionPointToStart(block);
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping)->setDiscardableAttrs(DictionaryAttr::get(builder.getContext()));
  for (Operation *op : group.ops)
    builder.clone(*op, mapping)->setDiscardableAttrs(DictionaryAttr::get(builder.getContext()));
  SmallVector<Value> results;
  for (Value output : outputs)
    results.push_back(mapping.lookup(output));
  func::ReturnOp::create(builder, loc, results);
  for (Operation *op : llvm::reverse(group.ops)) {
    for (Value value : op->getResults())
      inPlace.erase(value);
    op->erase();
  }
}

struct OutlineLayersPass : impl::OutlineLayersPassBase<OutlineLayersPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!ppcrt::routineKindOf(function) || function.isExternal())
        continue;
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitOpError("has several blocks; outlining needs one");
        return signalPassFailure();
      }
      if (failed(verifyDestinations(function)))
        return signalPassFailure();
      if (ppcrt::routineKindOf(function) != ppcrt::RoutineKind::Update)
        orderByLayer(function.front());
      splitScalarSums(function);
      copyReturnedConstants(function);
      InPlaceChains inPlace(function);
      for (Group &group : groupsOf(function))
        outline(function, group, inPlace, symbols);
      for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator()))
        if (isConstant(&op) && op.use_empty())
          op.erase();
    }
  }
};
} // namespace
} // namespace mlir::ppc
