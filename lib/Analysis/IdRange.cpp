#include "ppc/Analysis/IdRange.h"

namespace mlir::ppc {

std::optional<IdUse> idUseOf(Operation *op) {
  auto last = [](Value value) { return tensorType(value).getShape().back(); };
  if (auto lookup = dyn_cast<EmbeddingOp>(op); lookup && !lookup.getRows())
    return IdUse{1, tensorType(lookup.getTable()).getDimSize(0), "rows of its table"};
  if (auto loss = dyn_cast<CrossEntropyOp>(op))
    return IdUse{1, last(loss.getLogits()), "classes"};
  if (auto pick = dyn_cast<PickOp>(op); pick && !pick.getClasses())
    return IdUse{1, last(pick.getX()), "classes"};
  if (auto dispatch = dyn_cast<DispatchOp>(op); dispatch && !dispatch.getExperts())
    return IdUse{1, tensorType(dispatch.getSlots()).getDimSize(1), "experts"};
  if (auto combine = dyn_cast<CombineOp>(op); combine && !combine.getExperts())
    return IdUse{1, tensorType(combine.getSlots()).getDimSize(1), "experts"};
  return std::nullopt;
}

std::optional<std::pair<int64_t, int64_t>> knownIds(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<IntegerType>(getElementTypeOrSelf(value)))
    return std::nullopt;
  if (auto split = dyn_cast<SplitOp>(op))
    return knownIds(split.getX());
  if (auto topK = dyn_cast<TopKOp>(op))
    return std::pair<int64_t, int64_t>(0, tensorType(topK.getScores()).getShape().back() - 1);
  auto constant = dyn_cast<ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements)
    return std::nullopt;
  auto values = elements.getValues<APInt>();
  std::pair<int64_t, int64_t> range((*values.begin()).getSExtValue(), (*values.begin()).getSExtValue());
  for (const APInt &element : values) {
    range.first = std::min(range.first, element.getSExtValue());
    range.second = std::max(range.second, element.getSExtValue());
    if (elements.isSplat())
      break;
  }
  return range;
}

/// The input that `value` is, or a part of.
static BlockArgument inputOf(Value value, func::FuncOp function) {
  while (auto split = value.getDefiningOp<SplitOp>())
    value = split.getX();
  auto argument = dyn_cast<BlockArgument>(value);
  bool isInput =
      argument && argument.getOwner() == &function.front() && function.getArgAttr(argument.getArgNumber(), attr::input);
  return isInput ? argument : BlockArgument();
}

std::optional<InputIds> inputIds(func::FuncOp function) {
  std::optional<InputIds> ids;
  if (function.isExternal())
    return ids;
  function.walk([&](Operation *op) {
    std::optional<IdUse> use = idUseOf(op);
    if (use && inputOf(op->getOperand(use->operand), function) && (!ids || use->count < ids->count))
      ids = InputIds{use->count, op, use->things};
  });
  return ids;
}

} // namespace mlir::ppc
