#include "ppc/Planning/TargetLimits.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

/// What programs lack of one value where everything else is neutral.
static std::string lackedValue(const TargetCapabilities &target, PlanKey key, int64_t value) {
  switch (key) {
  case PlanKey::Devices:
  case PlanKey::ShardGroup: // with the data-parallel ranks: lackedBy
  case PlanKey::GradientGroup:
  case PlanKey::ParameterGroup:
  case PlanKey::RecomputedLayers:
  case PlanKey::Attention:
    return "";
  default:
    break;
  }
  ParallelLayout layout;
  layout.precision = target.precisions.front();
  if (!target.contexts.empty())
    layout.contextKind = target.contexts.front();
  if (key == PlanKey::Context && !target.contexts.empty())
    layout.cp = 2;
  if (key == PlanKey::Schedule)
    layout.pp = 2;
  setPlanValue(layout, key, value);
  return lackedBy(target, layout);
}

void mlir::ppc::limitToTarget(const TargetCapabilities &target, PlanConstraints &constraints) {
  constraints.limit([&target](PlanKey key, int64_t value) { return lackedValue(target, key, value).empty(); },
                    [&target](PlanKey key) {
                      return "programs of target " + target.name.str() + " do not have that value of " +
                             toString(key).str();
                    });
}

std::string mlir::ppc::refusedPin(const TargetCapabilities &target, const PlanConstraints &constraints,
                                  Precision precision) {
  ParallelLayout layout;
  layout.precision = precision;
  for (int key = 0; key < planKeyCount; ++key)
    if (constraints.isPinned(PlanKey(key)))
      setPlanValue(layout, PlanKey(key), constraints.pinned(PlanKey(key)));
  if (!constraints.isPinned(PlanKey::Context))
    layout.contextKind = ContextKind::AllGather;
  if (layout.precision != precision)
    return ("matmuls in " + toString(layout.precision) + " where --precision is " + toString(precision)).str();
  return lackedBy(target, layout);
}
