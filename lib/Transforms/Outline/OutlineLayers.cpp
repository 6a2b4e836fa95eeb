// ppc-outline-layers: each layer's ops become a private function. Equal layers become equal functions, which upstream's
// duplicate-function-elimination then merges, so that each kind of layer is compiled once.
#include "ppc/Transforms/Outline/Passes.h"

#include "dialects/ppc/Ppc.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_OUTLINELAYERSPASS
#include "ppc/Transforms/Outline/Passes.h.inc"

namespace {
constexpr StringLiteral kAction = "ppc.action", kBuffer = "ppc.buffer", kDestination = "ppc.destination";

/// The ops that one body will hold, in order.
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
  for (bool ascending : {true, false}) {
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

/// Runs of ops of one layer; in an update, single ops.
SmallVector<Group> groupsOf(func::FuncOp function) {
  SmallVector<Group> groups;
  StringRef action = function->getAttrOfType<StringAttr>(kAction).getValue();
  std::optional<int64_t> open; // the layer of the last group while ops of it may follow
  for (Operation &op : function.front().without_terminator()) {
    if (isConstant(&op))
      continue;
    if (action == "update") {
      auto isLarge = [](Type type) { return isa<RankedTensorType>(type) && cast<RankedTensorType>(type).getRank() > 0; };
      bool communicates = isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp>(op);
      if (!communicates && (llvm::any_of(op.getOperandTypes(), isLarge) || llvm::any_of(op.getResultTypes(), isLarge)))
        groups.push_back({op.getName().stripDialect().str() + "_body", {&op}});
      continue;
    }
    std::optional<int64_t> layer = layerOf(&op);
    if (layer && open == layer)
      groups.back().ops.push_back(&op);
    else if (layer)
      groups.push_back({action.str() + "_body", {&op}});
    open = layer;
  }
  return groups;
}

/// The operand of `value`'s op whose buffer `value` takes over when `value` is to lie in `root`; null when none is.
Value updatedOperand(Value value, Value root) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  auto leadsToRoot = [&](Value operand) {
    return operand.getType() == root.getType() && (operand == root || updatedOperand(operand, root));
  };
  if (auto adamw = dyn_cast<AdamwOp>(op)) {
    Value before = value == adamw.getNewParameter() ? adamw.getParameter() : value == adamw.getNewM() ? adamw.getM() : adamw.getV();
    return before == root ? before : Value();
  }
  if (!isa<AddOp, SumOp>(op))
    return {};
  for (Value operand : op->getOperands())
    if (leadsToRoot(operand))
      return operand;
  return {};
}

/// Value -> the value whose buffer it takes over, for all values on the way from an argument to the result that updates it.
DenseMap<Value, Value> inPlaceChains(func::FuncOp function) {
  DenseMap<Value, Value> previous;
  Operation *terminator = function.front().getTerminator();
  for (auto [i, result] : llvm::enumerate(terminator->getOperands())) {
    Attribute buffer = function.getResultAttr(i, kBuffer);
    if (!buffer)
      continue;
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), kBuffer) == buffer)
        for (Value value = result; value && value != argument; value = previous[value])
          previous[value] = updatedOperand(value, argument);
  }
  return previous;
}

/// Moves `group` into a new private function and calls it.
/// Keeps `inPlace` true: results of the call take the places of the values that moved.
void outline(func::FuncOp function, const Group &group, DenseMap<Value, Value> &inPlace, SymbolTable &symbols) {
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
      updated = inPlace.lookup(updated);
    if (updated) {
      body.setResultAttr(i, kDestination, builder.getI64IntegerAttr(llvm::find(operands, updated) - operands.begin()));
      inPlace[result] = updated;
    }
    for (auto &entry : inPlace)
      if (entry.second == output)
        entry.second = result;
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
      if (!function->hasAttrOfType<StringAttr>(kAction) || function.isExternal())
        continue;
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitOpError("has several blocks; outlining needs one");
        return signalPassFailure();
      }
      if (function->getAttrOfType<StringAttr>(kAction).getValue() != "update")
        orderByLayer(function.front());
      DenseMap<Value, Value> inPlace = inPlaceChains(function);
      for (Group &group : groupsOf(function))
        outline(function, group, inPlace, symbols);
    }
  }
};
} // namespace
} // namespace mlir::ppc
