// Marks ops for recomputation as the plan selects them.
#include "LayerRecompute.h"
#include "ppc/Transforms/Recompute/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SELECTRECOMPUTEPASS
#include "ppc/Transforms/Recompute/Passes.h.inc"

namespace {

std::optional<int64_t> layerOf(Operation *op) {
  auto layer = op->getAttrOfType<IntegerAttr>(attr::layer);
  return layer ? std::optional(layer.getInt()) : std::nullopt;
}

bool isNamed(StringRef text, Operation *op) { return text == op->getName().stripDialect() || text == nameInLayer(op); }

/// Whether the choice for a layer (verified by PlanAttr) covers an op.
bool covers(Attribute choice, Operation *op) {
  if (auto mode = dyn_cast<StringAttr>(choice))
    return mode.getValue() == "full" || (mode.getValue() == "selective" && isa<AttentionOp>(op));
  return llvm::any_of(cast<ArrayAttr>(choice),
                      [&](Attribute one) { return isNamed(cast<StringAttr>(one).getValue(), op); });
}

bool isElementwise(Operation *op) { return op->hasTrait<OpTrait::SameOperandsAndResultType>(); }

/// Whether recomputing the result is free: an elementwise op of one value that backward reads in any case, used
/// only by other elementwise ops, which are one loop with it. Saving it would be an additional write and read.
bool isFree(Operation *op) {
  auto isBehind = [](Operation *user) { return !isForward(user); };
  if (op->getNumOperands() != 1 || op->getNumResults() != 1 || !isElementwise(op) || !canRecompute(op))
    return false;
  auto users = llvm::make_filter_range(op->getUsers(), isBehind);
  return llvm::any_of(op->getOperand(0).getUsers(), isBehind) && !users.empty() && llvm::all_of(users, isElementwise);
}

/// The split of a matmul's result, and reshapes of its parts, if backward reads all parts elementwise: it reads
/// them in the matmul's result. Saving each would be an additional copy, a write and a read.
SmallVector<Operation *> partsInPlace(Operation *op) {
  auto split = dyn_cast<SplitOp>(op);
  Operation *made = split ? split.getX().getDefiningOp() : nullptr;
  if (auto rounding = dyn_cast_if_present<ConvertOp>(made))
    made = rounding.getX().getDefiningOp();
  if (!isa_and_nonnull<MatmulOp>(made) || !split.getX().hasOneUse() || !canRecompute(op))
    return {};
  SmallVector<Operation *> inPlace{op};
  for (Value part : split.getParts()) {
    bool isRead = false;
    SmallVector<Value> shapes{part};
    while (!shapes.empty())
      for (Operation *user : shapes.pop_back_val().getUsers()) {
        if (isa<ReshapeOp>(user) && canRecompute(user)) {
          inPlace.push_back(user);
          shapes.push_back(user->getResult(0));
        } else if (!isForward(user)) {
          isRead = true;
          if (!isElementwise(user))
            return {};
        }
      }
    if (!isRead)
      return {};
  }
  return inPlace;
}

/// Whether it concatenates keys or values of the slices of a sequence, which are saved separately.
bool joinsSlices(Operation *op) {
  auto isOfAnother = [&](Value operand) {
    Operation *made = operand.getDefiningOp();
    return made && made->getAttr(attr::slice) != op->getAttr(attr::slice);
  };
  return isa<ConcatOp>(op) && canRecompute(op) && llvm::any_of(op->getOperands(), isOfAnother);
}

struct SelectRecomputePass : impl::SelectRecomputePassBase<SelectRecomputePass> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attr::plan);
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-search-plan or ppc-make-plan first");
      return signalPassFailure();
    }
    getOperation().walk([&](AccumulateOp accumulate) {
      for (Operation &op : accumulate.getBody().front().without_terminator()) {
        if (!layerOf(&op))
          continue;
        if (isFree(&op) || joinsSlices(&op))
          op.setAttr(attr::recompute, UnitAttr::get(&getContext()));
        for (Operation *part : partsInPlace(&op))
          part->setAttr(attr::recompute, UnitAttr::get(&getContext()));
      }
    });
    if (!plan.getRecompute())
      return;
    SmallVector<std::pair<LayerRange, Attribute>> rules;
    for (NamedAttribute rule : plan.getRecompute())
      rules.push_back({*parseLayerRange(rule.getName()), rule.getValue()});
    int64_t last = 0;
    llvm::SmallSetVector<std::pair<Attribute, Attribute>, 8> unseen; // layers and a name that no op of theirs has
    for (NamedAttribute rule : plan.getRecompute())
      if (auto names = dyn_cast<ArrayAttr>(rule.getValue()))
        for (Attribute name : names)
          unseen.insert({rule.getName(), name});
    getOperation().walk([&](AccumulateOp accumulate) {
      for (Operation &op : accumulate.getBody().front().without_terminator()) {
        std::optional<int64_t> layer = layerOf(&op);
        last = std::max(last, layer.value_or(0));
        if (layer && isForward(&op))
          unseen.remove_if([&](std::pair<Attribute, Attribute> wish) {
            return parseLayerRange(cast<StringAttr>(wish.first).getValue())->contains(*layer) &&
                   isNamed(cast<StringAttr>(wish.second).getValue(), &op);
          });
        if (!layer || !canRecompute(&op))
          continue;
        for (auto &[range, choice] : rules)
          if (range.contains(*layer) && covers(choice, &op))
            op.setAttr(attr::recompute, UnitAttr::get(&getContext()));
      }
    });
    for (auto &[range, choice] : rules)
      if (range.first > last) {
        getOperation().emitError() << "the plan recomputes layers " << range.first << " to " << range.last
                                   << ", the model's last layer is " << last;
        return signalPassFailure();
      }
    if (!unseen.empty()) {
      getOperation().emitError()
          << "the plan recomputes " << unseen.front().second << " of layers " << unseen.front().first
          << ", where forward has no such op: give the name of an op, or its index among ops of its name, "
             "from 0";
      return signalPassFailure();
    }
  }
};

} // namespace
} // namespace mlir::ppc
