#include "ppc/Analysis/PlanCuts.h"

namespace mlir::ppc {

DictionaryAttr activationCuts(PlanAttr plan) {
  DictionaryAttr cuts = plan.getActivations();
  return cuts ? cuts : DictionaryAttr::get(plan.getContext());
}

ArrayAttr updateCuts(PlanAttr plan) {
  ArrayAttr axes = plan.getUpdate();
  return axes ? axes : ArrayAttr::get(plan.getContext(), {});
}

std::optional<StringRef> sequenceStrategy(PlanAttr plan) {
  auto axes = plan.getDimensions().getAs<ArrayAttr>("sequence");
  if (!axes || plan.getGrid().product(axes) == 1)
    return std::nullopt;
  for (AttentionStrategy heads : {AttentionStrategy::KvHeads, AttentionStrategy::HeadGroup})
    if (activationCuts(plan).getAs<ArrayAttr>(stringifyAttentionStrategy(heads)) == axes)
      return stringifyAttentionStrategy(heads);
  return stringifyAttentionStrategy(AttentionStrategy::Gather);
}

} // namespace mlir::ppc
