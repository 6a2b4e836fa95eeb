#include "lib/Planning/Alternatives.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::ppc;

/// The values that layouts with another one than `chosen` avoid: where a key would mean nothing is no other value of
/// it.
static std::vector<std::pair<PlanKey, int64_t>> avoidedFor(PlanKey key, const ParallelLayout &chosen) {
  std::vector<std::pair<PlanKey, int64_t>> avoided{{key, planValue(chosen, key)}};
  switch (key) {
  case PlanKey::Schedule:
  case PlanKey::Vp:
    avoided.push_back({PlanKey::Pp, 1});
    break;
  case PlanKey::Context:
    avoided.push_back({PlanKey::Cp, 1});
    break;
  case PlanKey::SequenceParallel:
    avoided.push_back({PlanKey::Tp, 1});
    break;
  case PlanKey::ShardGroup:
    avoided.push_back({PlanKey::Zero, 0});
    break;
  default:
    break;
  }
  return avoided;
}

/// Whether `chosen` decides something by the key.
static bool isDecision(const ModelShape &model, const ParallelLayout &chosen, PlanKey key) {
  switch (key) {
  case PlanKey::TpRows: // mostly no choice
    return chosen.tpRows > 1;
  case PlanKey::Ep:
  case PlanKey::Etp:
    return model.moe && !isVacuous(chosen, key);
  case PlanKey::Vp:
    return chosen.pp > 1 && !isVacuous(chosen, key);
  case PlanKey::Zero:
    return (model.moe || chosen.dataRanks() > 1) && !isVacuous(chosen, key);
  default:
    return !isVacuous(chosen, key);
  }
}

bool AlternativeSearch::isNeedless(const Avoided &avoided) {
  return avoided.front() == std::pair<PlanKey, int64_t>(PlanKey::Recompute, int64_t(Recompute::None));
}

void AlternativeSearch::keep(const Avoided &avoided, const SearchTarget &target) {
  Outcome &outcome = outcomes[avoided];
  if (!target.found.list.empty())
    outcome.candidate = target.found.list.front();
  else
    outcome.reason = target.sawMemory    ? "no other value fits in memory"
                     : target.sawRefusal ? "no other value can be run"
                                         : "no other value divides";
}

void AlternativeSearch::searchAll(std::vector<Avoided> wanted) {
  SearchTargets targets;
  for (const Avoided &avoided : wanted)
    targets.targets.emplace_back(1, avoided);
  SearchOutcome outcome = engine.search(bounded, limit, std::move(targets), "alternatives", known);
  for (auto [avoided, target] : llvm::zip(wanted, outcome.found.targets))
    keep(avoided, target);
}

void AlternativeSearch::searchRecomputing() {
  Avoided avoided{{PlanKey::Recompute, int64_t(Recompute::None)}};
  PlanConstraints other = request.constraints;
  other.forbid(PlanKey::Recompute, int64_t(Recompute::None));
  SearchTargets targets;
  targets.targets.emplace_back(1);
  SearchOutcome outcome =
      engine.search(SearchEngine::restrict(bounded, other), limit, std::move(targets), "alternatives", known);
  keep(avoided, outcome.found.targets.front());
}

std::vector<Alternative> AlternativeSearch::around(const ParallelLayout &chosen) {
  static constexpr PlanKey decisions[] = {
      PlanKey::Dp,        PlanKey::Tp,         PlanKey::Pp,         PlanKey::Vp,
      PlanKey::Cp,        PlanKey::Ep,         PlanKey::Etp,        PlanKey::SequenceParallel,
      PlanKey::Zero,      PlanKey::ShardGroup, PlanKey::MicroBatch, PlanKey::Schedule,
      PlanKey::Recompute, PlanKey::Offload,    PlanKey::Context,    PlanKey::TpRows};
  std::vector<Alternative> result;
  std::vector<Avoided> wanted; // all at once
  for (PlanKey key : decisions) {
    if (!isDecision(request.model, chosen, key))
      continue;
    PlanAlternative &alternative = result.emplace_back().alternative;
    alternative.key = key;
    alternative.chosen = planValueText(key, planValue(chosen, key));
    if (request.constraints.isPinned(key))
      alternative.reason = "pinned";
    else if (Avoided avoided = avoidedFor(key, chosen); !outcomes.count(avoided) && !isNeedless(avoided))
      wanted.push_back(std::move(avoided));
    else if (!outcomes.count(avoided))
      searchRecomputing();
  }
  if (!wanted.empty())
    searchAll(std::move(wanted));
  for (auto &[alternative, candidate] : result) {
    if (!alternative.reason.empty())
      continue;
    const Outcome &outcome = outcomes[avoidedFor(alternative.key, chosen)];
    candidate = outcome.candidate;
    alternative.reason = outcome.reason;
    if (candidate)
      alternative.other = planValueText(alternative.key, planValue(candidate->layout, alternative.key));
  }
  return result;
}
