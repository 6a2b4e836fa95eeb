#include "lib/Planning/Group/GroupSearch.h"

#include "ppc/CostModel/MixedStep.h"
#include "ppc/Support/Factorizations.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir::ppc;

/// Longer pipelines than this only pins ask for.
static constexpr int64_t mostGroupStages = 128;

GroupSpace::GroupSpace(const PlanRequest &request) : request(request), choices(request, request.constraints, 1) {}

/// What a pin says, or those of `values` that are allowed.
static std::vector<int64_t> allowed(const PlanConstraints &constraints, PlanKey key, std::vector<int64_t> values) {
  if (constraints.isPinned(key))
    values = {constraints.pinned(key)};
  llvm::erase_if(values, [&](int64_t value) { return !constraints.allows(key, value); });
  return values;
}

std::vector<GroupGrid> GroupSpace::grids() const {
  const ModelShape &model = request.model;
  const TrainingJob &job = request.job;
  const PlanConstraints &constraints = request.constraints;
  // Two groups at least hold a stage.
  std::vector<int64_t> counts;
  int64_t unit = std::numeric_limits<int64_t>::max();
  for (const DeviceGroup &group : request.cluster.groups) {
    counts.push_back(group.count);
    unit = std::min(unit, group.levels.front().size);
  }
  llvm::sort(counts, std::greater<int64_t>());
  int64_t most = counts[1];
  std::vector<int64_t> tps = divisors(model.heads), cps, eps = {1};
  llvm::erase_if(tps, [&](int64_t tp) { return tp > unit; });
  for (int64_t cp = 1; cp <= std::min(most, job.sequence) && job.sequence % cp == 0; cp *= 2)
    cps.push_back(cp);
  if (model.moe)
    eps = divisors(model.moe.experts);
  std::vector<GroupGrid> result;
  for (int64_t tp : allowed(constraints, PlanKey::Tp, tps))
    for (int64_t cp : allowed(constraints, PlanKey::Cp, cps))
      for (int64_t dp : allowed(constraints, PlanKey::Dp, divisors(job.globalBatch))) {
        if (tp > most || cp > most / tp || dp > most / tp / cp || job.globalBatch % dp)
          continue;
        for (int64_t microBatch : allowed(constraints, PlanKey::MicroBatch, divisors(job.globalBatch / dp)))
          for (int64_t ep : allowed(constraints, PlanKey::Ep, eps))
            for (bool sequenceParallel : {false, true}) {
              if (sequenceParallel && (tp == 1 || job.sequence / cp % tp))
                continue;
              if (request.stack.arena && ep > 1 && ep % tp) // as PlanSpace
                continue;
              GroupGrid grid{dp, tp, cp, ep, microBatch, sequenceParallel};
              ParallelLayout layout = layoutOf(grid);
              if (tp > 1 && !constraints.allows(PlanKey::SequenceParallel, sequenceParallel))
                continue;
              if (llvm::Error error = verifyLayout(model, job, layout))
                llvm::consumeError(std::move(error));
              else
                result.push_back(grid);
            }
      }
  return result;
}

ParallelLayout GroupSpace::layoutOf(const GroupGrid &grid) const {
  ParallelLayout layout = request.base;
  layout.stageLayers.clear();
  layout.stageGroups.clear();
  layout.stageRecomputedLayers.clear();
  for (PlanKey key : {PlanKey::Precision, PlanKey::Attention, PlanKey::Context})
    if (request.constraints.isPinned(key))
      setPlanValue(layout, key, request.constraints.pinned(key));
  layout.dp = grid.dp;
  layout.tp = grid.tp;
  layout.cp = grid.cp;
  layout.ep = grid.ep;
  layout.microBatch = grid.microBatch;
  layout.sequenceParallel = grid.sequenceParallel;
  return layout;
}

std::vector<llvm::SmallVector<int64_t, 8>> GroupSpace::placements(const GroupGrid &grid) const {
  const PlanConstraints &constraints = request.constraints;
  int64_t perStage = grid.dp * grid.tp * grid.cp, groups = int64_t(request.cluster.groups.size());
  int64_t longest = std::min(request.model.layers, mostGroupStages);
  std::vector<llvm::SmallVector<int64_t, 8>> result;
  auto add = [&](llvm::SmallVector<int64_t, 8> stages) {
    bool isAllowed = constraints.allows(PlanKey::Pp, int64_t(stages.size())) &&
                     constraints.allows(PlanKey::Devices, int64_t(stages.size()) * perStage);
    if (isAllowed && (constraints.stageGroups.empty() || constraints.stageGroups == stages))
      result.push_back(std::move(stages));
  };
  llvm::SmallVector<int64_t, 8> stages;
  std::vector<bool> used(groups, false);
  // Group after group, each with every number of stages that it has devices for.
  auto extend = [&](auto &self, int64_t kinds) -> void {
    if (kinds >= 2)
      add(stages);
    for (int64_t group = 0; group < groups; ++group) {
      if (used[group])
        continue;
      used[group] = true;
      size_t before = stages.size();
      int64_t fits = request.cluster.groups[group].count / perStage;
      for (int64_t count = 1; count <= fits && int64_t(stages.size()) < longest; ++count) {
        stages.push_back(group);
        self(self, kinds + 1);
      }
      stages.resize(before);
      used[group] = false;
    }
  };
  extend(extend, 0);
  return result;
}

std::vector<ScheduleChoice> GroupSpace::schedules(const ParallelLayout &layout) const {
  static constexpr llvm::StringLiteral searched[] = {"1f1b", "gpipe", "interleaved", "zb1p", "zbv"};
  std::vector<ScheduleChoice> result = choices.schedules(layout);
  llvm::erase_if(result, [&](const ScheduleChoice &choice) {
    if (!request.constraints.isPinned(PlanKey::Schedule) && !llvm::is_contained(searched, choice.schedule))
      return true;
    llvm::Expected<const PipelineScheduleKind *> kind = findPipelineSchedule(choice.schedule);
    if (!kind) {
      llvm::consumeError(kind.takeError());
      return true;
    }
    return (*kind)->replicas > 1;
  });
  return result;
}

std::vector<Recompute> GroupSpace::recomputes() const { return choices.recomputes(); }

std::vector<int64_t> GroupSpace::zeros(const ParallelLayout &layout) const {
  bool shareable = layout.dataRanks() > 1 || (request.model.moe && layout.expertDataRanks() > 1);
  std::vector<int64_t> result;
  for (int64_t zero = 0; zero <= 3; ++zero)
    if (choices.allows(PlanKey::Zero, zero) && (zero == 0 || shareable || request.constraints.isPinned(PlanKey::Zero)))
      result.push_back(zero);
  return result;
}

std::vector<llvm::SmallVector<int64_t, 8>> GroupSpace::recomputedOnGroups(llvm::ArrayRef<int64_t> stages) const {
  std::vector<llvm::SmallVector<int64_t, 8>> result;
  if (!choices.allows(PlanKey::Recompute, int64_t(Recompute::Full)) || !choices.allows(PlanKey::RecomputedLayers, -2))
    return result;
  llvm::SmallVector<int64_t, 8> used(stages.begin(), stages.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (uint64_t mask = 1; mask + 1 < uint64_t(1) << used.size(); ++mask) {
    llvm::SmallVector<int64_t, 8> &layers = result.emplace_back();
    for (int64_t group : stages)
      layers.push_back(mask >> (llvm::find(used, group) - used.begin()) & 1 ? request.model.layers : 0);
    if (layers.back())
      layers.back() += request.model.predictionLayers;
  }
  return result;
}

std::string mlir::ppc::notSearchedOverGroups(const PlanConstraints &constraints) {
  for (auto [key, value] : {std::pair(PlanKey::Offload, int64_t(Offload::None)), std::pair(PlanKey::Etp, int64_t(1)),
                            std::pair(PlanKey::RecomputedLayers, int64_t(-1))})
    if (!constraints.allows(key, value))
      return (toString(key) + " " + constraints.describe(key)).str();
  for (PlanKey key : {PlanKey::ShardGroup, PlanKey::GradientGroup, PlanKey::ParameterGroup})
    if (constraints.isConstrained(key))
      return (toString(key) + " " + constraints.describe(key)).str();
  return "";
}
