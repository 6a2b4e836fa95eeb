#include "ppc/Analysis/PlanCuts.h"

namespace mlir::ppc {

DictionaryAttr activationCuts(PlanAttr plan) {
  SmallVector<NamedAttribute> cuts;
  for (NamedAttribute entry : plan.getDimensions())
    if (StringRef name = entry.getName(); name.consume_front(kActivationPrefix))
      cuts.emplace_back(StringAttr::get(plan.getContext(), name), entry.getValue());
  return DictionaryAttr::get(plan.getContext(), cuts);
}

ArrayAttr updateCuts(PlanAttr plan) {
  auto axes = plan.getDimensions().getAs<ArrayAttr>(kUpdateName);
  return axes ? axes : ArrayAttr::get(plan.getContext(), {});
}

DictionaryAttr argumentCuts(PlanAttr plan) {
  SmallVector<NamedAttribute> cuts;
  for (NamedAttribute entry : plan.getDimensions())
    if (entry.getName() != kUpdateName && !entry.getName().getValue().starts_with(kActivationPrefix))
      cuts.push_back(entry);
  return DictionaryAttr::get(plan.getContext(), cuts);
}

std::optional<StringRef> sequenceStrategy(PlanAttr plan) {
  auto axes = plan.getDimensions().getAs<ArrayAttr>("sequence");
  if (!axes || plan.getGrid().product(axes) == 1)
    return std::nullopt;
  return stringifyAttentionStrategy(AttentionStrategy::Gather);
}

} // namespace mlir::ppc
