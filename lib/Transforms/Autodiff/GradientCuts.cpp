// Shardings of gradient ops from the shardings of forward ops.
#include "GradientCuts.h"

namespace mlir::ppc {

/// Whether `rule` can be sharded like `of`: it has the same loops, in whatever order.
static bool walksLoopsOf(const ShardingRule &rule, const ShardingRule &of, DictionaryAttr factors) {
  if (rule.isNone() || rule.factors.size() != of.factors.size())
    return false;
  return llvm::all_of(of.factors, [&](const Factor &loop) {
    std::optional<unsigned> same = rule.findFactor(loop.name);
    return same && rule.factors[*same].size == loop.size &&
           (!rule.factors[*same].needsReplication || !factors.contains(loop.name));
  });
}

void GradientCuts::inherit(Operation *before, Operation *op) {
  auto factors = op->getAttrOfType<DictionaryAttr>(attr::factors);
  auto walked = dyn_cast<ShardingRuleOpInterface>(op);
  if (!factors || !walked)
    return;
  ShardingRule rule = walked.getShardingRule();
  for (Operation *made = before->getNextNode(); made && !made->hasTrait<OpTrait::IsTerminator>();
       made = made->getNextNode())
    if (auto walks = dyn_cast<ShardingRuleOpInterface>(made))
      if (walksLoopsOf(walks.getShardingRule(), rule, factors))
        made->setAttr(attr::factors, factors);
}

std::optional<GradientCuts::Cut> GradientCuts::cutOf(Operation *op, bool isResult, unsigned number) {
  auto factors = op ? op->getAttrOfType<DictionaryAttr>(attr::factors) : DictionaryAttr();
  auto walks = dyn_cast_if_present<ShardingRuleOpInterface>(op);
  if (!factors || !walks)
    return std::nullopt;
  ShardingRule rule = walks.getShardingRule();
  if (rule.isNone())
    return std::nullopt;
  const TensorFactors &tensor = isResult ? rule.results[number] : rule.operands[number];
  Cut cut;
  cut.dims.resize(tensor.size());
  for (auto [index, loop] : llvm::enumerate(rule.factors)) {
    auto axes = factors.getAs<ArrayAttr>(loop.name);
    if (!axes)
      continue;
    if (!ShardingRule::contains(tensor, index))
      llvm::append_range(cut.open, axes);
    for (auto [dim, walked] : llvm::zip_equal(cut.dims, tensor))
      if (llvm::is_contained(walked, index))
        llvm::append_range(dim, axes);
  }
  return cut;
}

void GradientCuts::receive(Operation *op, unsigned operand) {
  std::optional<Cut> cut = cutOf(op, /*isResult=*/false, operand);
  auto [it, isFirst] = sums.try_emplace(op->getOperand(operand));
  Sum &sum = it->second;
  sum.known &= cut.has_value();
  if (isFirst)
    sum.common = cut;
  else if (!sum.known || !sum.common || !(*sum.common == *cut))
    sum.common.reset();
}

void GradientCuts::cutSum(Value value, Operation *op) {
  const Sum &sum = sums[value];
  if (!sum.known)
    return;
  auto result = dyn_cast<OpResult>(value);
  std::optional<Cut> cut = sum.common;
  if (!cut && result)
    cut = cutOf(result.getOwner(), /*isResult=*/true, result.getResultNumber());
  if (!cut)
    return;
  ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  SmallVector<NamedAttribute> factors;
  for (auto [dim, loops] : llvm::zip_equal(cut->dims, rule.results.front()))
    if (!dim.empty())
      factors.emplace_back(StringAttr::get(op->getContext(), rule.factors[loops.front()].name),
                           ArrayAttr::get(op->getContext(), dim));
  op->setAttr(attr::factors, DictionaryAttr::get(op->getContext(), factors));
}

} // namespace mlir::ppc
