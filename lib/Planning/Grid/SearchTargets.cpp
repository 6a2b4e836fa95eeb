#include "lib/Planning/Grid/SearchTargets.h"

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
    case PlanKey::Zero:
    case PlanKey::ShardGroup:
    case PlanKey::GradientGroup:
    case PlanKey::ParameterGroup:
    case PlanKey::RecomputedLayers:
    case PlanKey::Offload:
      break;
    default:
      if (planValue(a, PlanKey(key)) != planValue(b, PlanKey(key)))
        return false;
    }
  return true;
}

void CandidateList::add(const Candidate &candidate) {
  auto same = llvm::find_if(list, [&](const Candidate &other) { return isSameShape(other.layout, candidate.layout); });
  if (same != list.end()) {
    if (!isBetter(candidate, *same))
      return;
    list.erase(same);
  }
  auto at = llvm::find_if(list, [&](const Candidate &other) { return isBetter(candidate, other); });
  list.insert(at, candidate);
  if (list.size() > capacity)
    list.pop_back();
}

bool SearchTarget::admits(const ParallelLayout &layout, DecidedKeys known) const {
  return llvm::none_of(avoided, [&](const std::pair<PlanKey, int64_t> &value) {
    return (known & decided(value.first)) && planValue(layout, value.first) == value.second;
  });
}

double SearchTargets::frontCutoff() const {
  // Cutoffs are taken of lists whose fronts are not merged yet: the first target knows the fastest candidate.
  if (!keepsFront || frontTolerance <= 0 || targets.empty() || targets.front().found.list.empty())
    return -std::numeric_limits<double>::infinity();
  return targets.front().found.list.front().time * (1 + frontTolerance);
}

const Candidate &SearchTargets::leastMemory() const {
  auto end = llvm::find_if(
      front, [&](const Candidate &other) { return other.time > front.front().time * (1 + frontTolerance); });
  return *std::prev(end); // each has less memory than the one before
}

double SearchTargets::cutoff(const ParallelLayout &layout, DecidedKeys known) const {
  double latest = frontCutoff();
  for (const SearchTarget &target : targets)
    if (double own = target.found.cutoff(); own > latest && target.admits(layout, known))
      latest = own;
  return latest;
}

double SearchTargets::cutoff() const {
  double latest = frontCutoff();
  for (const SearchTarget &target : targets)
    latest = std::max(latest, target.found.cutoff());
  return latest;
}

void SearchTargets::add(const Candidate &candidate) {
  for (SearchTarget &target : targets)
    if (candidate.time <= target.found.cutoff() && target.admits(candidate.layout, ~DecidedKeys(0)))
      target.found.add(candidate);
  if (!keepsFront)
    return;
  auto isBeaten = [](const Candidate &a, const Candidate &by) {
    return by.time <= a.time && by.memory <= a.memory && !isBetter(a, by);
  };
  if (llvm::any_of(front, [&](const Candidate &other) { return isBeaten(candidate, other); }))
    return;
  llvm::erase_if(front, [&](const Candidate &other) { return isBeaten(other, candidate); });
  front.insert(llvm::find_if(front, [&](const Candidate &other) { return isBetter(candidate, other); }), candidate);
}

void SearchTargets::merge(const SearchTargets &other) {
  for (auto [target, more] : llvm::zip(targets, other.targets)) {
    for (const Candidate &candidate : more.found.list)
      target.found.add(candidate);
    target.sawMemory |= more.sawMemory;
    target.sawRefusal |= more.sawRefusal;
  }
  std::vector<SearchTarget> none;
  std::swap(none, targets);
  for (const Candidate &candidate : other.front)
    add(candidate);
  std::swap(none, targets);
}

void SearchTargets::sawMemory(const ParallelLayout &layout, DecidedKeys known) {
  for (SearchTarget &target : targets)
    if (target.found.list.empty() && !target.sawMemory)
      target.sawMemory = target.admits(layout, known);
}

void SearchTargets::sawRefusal(const ParallelLayout &layout, DecidedKeys known) {
  for (SearchTarget &target : targets)
    if (target.found.list.empty() && !target.sawRefusal)
      target.sawRefusal = target.admits(layout, known);
}
