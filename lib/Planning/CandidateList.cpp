#include "CandidateList.h"

#include "ppc/Planning/PlanConstraints.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

bool mlir::ppc::isBetter(const Candidate &a, const Candidate &b) {
  if (a.time != b.time)
    return a.time < b.time;
  if (a.memory != b.memory)
    return a.memory < b.memory;
  for (int key = 0; key < planKeyCount; ++key) {
    int64_t left = planValue(a.layout, PlanKey(key)), right = planValue(b.layout, PlanKey(key));
    if (left != right)
      return left < right;
  }
  return false;
}

bool mlir::ppc::isSameShape(const ParallelLayout &a, const ParallelLayout &b) {
  for (int key = 0; key < planKeyCount; ++key)
    switch (PlanKey(key)) {
    case PlanKey::Zero: case PlanKey::ShardGroup: case PlanKey::RecomputedLayers: case PlanKey::Offload:
      break;
    default:
      if (planValue(a, PlanKey(key)) != planValue(b, PlanKey(key)))
        return false;
    }
  return true;
}

void CandidateList::add(Candidate candidate) {
  auto same = llvm::find_if(list, [&](const Candidate &other) { return isSameShape(other.layout, candidate.layout); });
  if (same != list.end()) {
    if (!isBetter(candidate, *same))
      return;
    list.erase(same);
  }
  auto at = llvm::find_if(list, [&](const Candidate &other) { return isBetter(candidate, other); });
  list.insert(at, std::move(candidate));
  if (list.size() > capacity)
    list.pop_back();
}
