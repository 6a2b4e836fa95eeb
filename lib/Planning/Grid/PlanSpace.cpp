#include "lib/Planning/Grid/PlanSpace.h"

#include "ppc/Planning/TrainingSoftware.h"
#include "ppc/Scheduling/PipelineSchedule.h"
#include "ppc/Support/Factorizations.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <atomic>

using namespace mlir::ppc;

int64_t PlanSpace::nextId() {
  static std::atomic<int64_t> next{0};
  return ++next;
}

bool PlanSpace::mayChooseGroups(const Stack &stack) { return !softwareOf(stack); }

/// More chunks per device than this win nothing that messages do not cost; only a pin asks for them.
static constexpr int64_t mostChunks = 12;
/// Longer pipelines, in chunks over all devices, than anyone runs: only pins ask for them. What deeper models cost the
/// search does not grow with their depth beyond it.
static constexpr int64_t mostStages = 128;

/// Divisors of `product` up to `most` that the constraints allow.
std::vector<int64_t> PlanSpace::degrees(PlanKey key, int64_t product, int64_t most) const {
  if (constraints.isPinned(key)) {
    int64_t value = constraints.pinned(key);
    return product % value == 0 && value <= most && allows(key, value) ? std::vector<int64_t>{value}
                                                                       : std::vector<int64_t>{};
  }
  std::vector<int64_t> result = divisors(product);
  llvm::erase_if(result, [&](int64_t value) { return value > most || !allows(key, value); });
  return result;
}

/// Whether rows of hidden features move less in forward than columns alone: what enters and leaves products is
/// narrower, but products behind norms give parts of sums, and norms need whole features. By elements of a token, of
/// rings.
static bool rowsMoveLess(const ModelShape &model, int64_t rows, int64_t columns) {
  auto ring = [](int64_t ranks) { return 1 - 1 / double(ranks); };
  double hidden = double(model.hidden), width = double((model.heads + model.kvHeads) * model.queryHeadDim()) +
                                                double(model.kvHeads * model.valueHeadDim()) +
                                                double((model.gated ? 2 : 1) * model.ffn);
  double alone = 4 * ring(rows * columns) * hidden;
  double both = 4 * ring(columns) * hidden / double(rows) + 2 * ring(rows) * (width + hidden) / double(columns);
  return both < alone;
}

/// Whether depth may move less than cutting sequences over all columns. What is gathered is as wide as products read
/// it, and comes once more for the gradients of weights, sums are f32: of 16 bits that is less the more ranks have
/// parts, where they can.
bool PlanSpace::depthMovesLess(const ParallelLayout &layout) const {
  const int64_t columns = layout.tensorColumns(), tokens = request.job.sequence / layout.cp;
  const Precision precision = constraints.isPinned(PlanKey::Precision)
                                  ? Precision(constraints.pinned(PlanKey::Precision))
                                  : request.base.precision;
  return layout.tpDepth < columns && (elementBytes(precision) >= 4 || tokens % columns != 0);
}

std::vector<std::pair<int64_t, int64_t>> PlanSpace::tensorAxes(const ParallelLayout &layout) const {
  std::vector<std::pair<int64_t, int64_t>> result;
  ParallelLayout cut = layout;
  for (int64_t rows : request.stack.arena ? degrees(PlanKey::TpRows, layout.tp, layout.tp) : std::vector<int64_t>{1})
    for (int64_t depth :
         request.stack.arena ? degrees(PlanKey::TpDepth, layout.tp / rows, layout.tp) : std::vector<int64_t>{1}) {
      cut.tpRows = rows, cut.tpDepth = depth;
      if (rows * depth == 1) {
        result.push_back({rows, depth});
        continue;
      }
      if (rows > 1 && !constraints.isPinned(PlanKey::TpRows) && !rowsMoveLess(request.model, rows, cut.tensorColumns()))
        continue;
      if (depth > 1 && !constraints.isPinned(PlanKey::TpDepth) && !depthMovesLess(cut))
        continue;
      llvm::Error error = verifyTensorAxes(cut, request.model.hidden, request.job.sequence);
      if (!error && unpricedPart(request.model, cut).empty())
        result.push_back({rows, depth});
      llvm::consumeError(std::move(error));
    }
  return result;
}

PlanSpace::PlanSpace(const PlanRequest &request, const PlanConstraints &constraints, int64_t devices)
    : request(request), constraints(constraints) {
  const ModelShape &model = request.model;
  const TrainingJob &job = request.job;
  if (!allows(PlanKey::Devices, devices))
    return;
  for (int64_t tp : degrees(PlanKey::Tp, devices, model.heads))
    for (int64_t cp : degrees(PlanKey::Cp, devices / tp, job.sequence)) {
      if (job.sequence % cp)
        continue;
      std::vector<std::pair<int64_t, int64_t>> rest; // dp, pp
      for (int64_t pp : degrees(PlanKey::Pp, devices / tp / cp, model.layers)) {
        if (pp > mostStages && !constraints.isPinned(PlanKey::Pp))
          continue;
        int64_t dp = devices / tp / cp / pp;
        if (job.globalBatch % dp == 0 && allows(PlanKey::Dp, dp))
          rest.push_back({dp, pp});
      }
      for (int64_t microBatch :
           rest.empty() ? std::vector<int64_t>() : degrees(PlanKey::MicroBatch, job.globalBatch, job.globalBatch))
        for (bool sequenceParallel : {false, true})
          for (ContextKind context : {ContextKind::Ring, ContextKind::Ulysses, ContextKind::AllGather}) {
            if (tp == 1 ? sequenceParallel
                        : (sequenceParallel && job.sequence / cp % tp) ||
                              !allows(PlanKey::SequenceParallel, sequenceParallel))
              continue;
            if (cp == 1 ? context != ContextKind::Ring : !allows(PlanKey::Context, int64_t(context)))
              continue;
            if (context == ContextKind::Ulysses && cp * tp > model.heads)
              continue;
            ParallelLayout layout;
            layout.tp = tp, layout.cp = cp;
            layout.sequenceParallel = sequenceParallel;
            for (auto [rows, depth] : tensorAxes(layout))
              addKeys({int32_t(tp), int32_t(cp), 1, 1, int32_t(microBatch), sequenceParallel, context, int32_t(rows),
                       int32_t(depth)},
                      devices, rest);
          }
    }
}

void PlanSpace::addKeys(ProgramKey key, int64_t devices, llvm::ArrayRef<std::pair<int64_t, int64_t>> rest) {
  const ModelShape &model = request.model;
  auto among = [&](PlanKey which, int64_t product, int64_t most) {
    return model.moe ? degrees(which, product, most) : degrees(which, 1, 1);
  };
  for (int64_t ep : among(PlanKey::Ep, model.moe.experts, devices)) {
    if (request.stack.arena && ep > 1 && ep % key.tp) // programs have experts on all tensor-parallel ranks first
      continue;
    if (ep > 1 && key.tpRows * key.tpDepth > 1)
      continue;
    for (int64_t etp : among(PlanKey::Etp, devices, model.moe.ffn)) {
      // Cutting an expert over more than the innermost links joins is never worth its all-gathers.
      if (etp > 1 && etp > std::max<int64_t>(key.tp, request.cluster.unitSize()) && !constraints.isPinned(PlanKey::Etp))
        continue;
      size_t before = grids.size();
      for (auto [dp, pp] : rest)
        if (request.job.globalBatch % (dp * key.microBatch) == 0 && dp * key.cp * key.tp % (ep * etp) == 0)
          grids.push_back({int32_t(keys.size()), int32_t(dp), int32_t(pp)});
      key.ep = int32_t(ep), key.etp = int32_t(etp);
      if (grids.size() > before)
        keys.push_back(key);
    }
  }
}

ParallelLayout PlanSpace::layoutOf(const PlanGrid &grid) const {
  const ProgramKey &key = keys[grid.key];
  ParallelLayout layout = request.base;
  layout.dp = grid.dp;
  layout.pp = grid.pp;
  layout.tp = key.tp;
  layout.tpRows = key.tpRows;
  layout.tpDepth = key.tpDepth;
  layout.cp = key.cp;
  layout.ep = key.ep;
  layout.etp = key.etp;
  layout.microBatch = key.microBatch;
  layout.sequenceParallel = key.sequenceParallel;
  layout.contextKind = key.context;
  layout.vp = 1;
  layout.zero = layout.shardGroup = layout.gradientGroup = layout.parameterGroup = 0;
  layout.schedule = "1f1b";
  layout.recompute = Recompute::None;
  layout.recomputedLayers = -1;
  layout.stageRecomputedLayers.clear();
  layout.offload = Offload::None;
  layout.stageLayers.assign(constraints.stageLayers.begin(), constraints.stageLayers.end());
  for (PlanKey choice : {PlanKey::Precision, PlanKey::Attention})
    if (constraints.isPinned(choice))
      setPlanValue(layout, choice, constraints.pinned(choice));
  return layout;
}

std::vector<ScheduleChoice> PlanSpace::schedules(const ParallelLayout &layout) const {
  if (layout.pp == 1) {
    if (!allows(PlanKey::Vp, 1))
      return {};
    return {{constraints.isPinned(PlanKey::Schedule)
                 ? pipelineScheduleKinds()[constraints.pinned(PlanKey::Schedule)].name
                 : llvm::StringRef("1f1b"),
             1}};
  }
  std::vector<ScheduleChoice> result;
  int64_t layers = request.model.layers, deviceLayers = (layers + layout.pp - 1) / layout.pp;
  // Numbers of chunks, least first, each with a smaller largest chunk than the one before.
  std::vector<int64_t> chunkCounts;
  for (int64_t vp = 1, largest = layers + 1;
       vp <= std::min(deviceLayers, mostChunks) && layout.pp * vp <= std::max(std::min(layers, mostStages), layout.pp);
       ++vp)
    if (int64_t size = (layers + layout.pp * vp - 1) / (layout.pp * vp); size < largest) {
      chunkCounts.push_back(vp);
      largest = size;
    }
  if (constraints.isPinned(PlanKey::Vp))
    chunkCounts = {constraints.pinned(PlanKey::Vp)};
  else if (!constraints.stageLayers.empty())
    chunkCounts = {int64_t(constraints.stageLayers.size()) / layout.pp};
  else if (!constraints.stageRecomputedLayers.empty())
    chunkCounts = {int64_t(constraints.stageRecomputedLayers.size()) / layout.pp};
  llvm::ArrayRef<PipelineScheduleKind> kinds = pipelineScheduleKinds();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const PipelineScheduleKind &kind = kinds[i];
    if (!allows(PlanKey::Schedule, int64_t(i)))
      continue;
    for (int64_t vp : chunkCounts) {
      // "1f1b" with several chunks is how people ask for the interleaved one.
      bool alias =
          kind.name == "1f1b" && vp > 1 && constraints.isPinned(PlanKey::Schedule) && constraints.isPinned(PlanKey::Vp);
      if (vp < kind.minChunks || (vp > kind.maxChunks && !alias) || layout.pp * vp > layers + 2 ||
          !allows(PlanKey::Vp, vp))
        continue;
      if (!layout.stageLayers.empty() && int64_t(layout.stageLayers.size()) != layout.pp * vp)
        continue;
      if (!constraints.stageRecomputedLayers.empty() &&
          int64_t(constraints.stageRecomputedLayers.size()) != layout.pp * vp)
        continue;
      ParallelLayout asked = layout;
      asked.schedule = kind.name.str();
      asked.vp = vp;
      llvm::Expected<StepSchedule> schedule = resolveSchedule(request.job, asked);
      if (!schedule) {
        llvm::consumeError(schedule.takeError());
        continue;
      }
      if (request.job.sequence / layout.cp % schedule->shape.slices)
        continue;
      if (llvm::Error error = checkPipelineShape(*schedule->kind, schedule->shape))
        llvm::consumeError(std::move(error));
      else
        result.push_back({kind.name, vp});
    }
  }
  return result;
}

std::vector<Recompute> PlanSpace::recomputes() const {
  std::vector<Recompute> result;
  for (Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
    if (allows(PlanKey::Recompute, int64_t(recompute)))
      result.push_back(recompute);
  return result;
}

PlanSpace::StateGroups PlanSpace::stateGroups(int64_t zero, int64_t shardGroup, const ParallelLayout &layout) const {
  if (zero < 2) { // sums of gradients and parameters are whole
    if (allows(PlanKey::GradientGroup, 1) && allows(PlanKey::ParameterGroup, 1))
      return {{0, 0}};
    return {};
  }
  const bool pinsGradients = constraints.isPinned(PlanKey::GradientGroup),
             pinsParameters = constraints.isPinned(PlanKey::ParameterGroup), isPinned = pinsGradients || pinsParameters,
             searches = isPinned || choosesGroups;
  const int64_t all = shardGroup ? shardGroup : layout.dataRanks();
  // Neighbours within a level, as for groups of the whole state; of programs, whole groups that share a sequence or
  // experts.
  llvm::SmallVector<int64_t, 4> groups{all};
  int64_t unit = 1;
  for (const ClusterLevel &level : request.cluster.levels()) {
    unit *= level.size;
    int64_t group = unit / layout.tp;
    if (searches && unit % layout.tp == 0 && group > 1 && group < all && all % group == 0 &&
        (!request.stack.arena || group % layout.ranksTogether() == 0))
      groups.push_back(group);
  }
  auto choices = [&](PlanKey key, bool isCut, bool mayBeWhole) {
    llvm::SmallVector<int64_t, 4> result = isCut ? groups : llvm::SmallVector<int64_t, 4>{1};
    if (isCut && mayBeWhole && searches && all > 1)
      result.push_back(1);
    if (isCut && constraints.isPinned(key) && !llvm::is_contained(result, constraints.pinned(key)))
      result = {constraints.pinned(key)};
    llvm::erase_if(result, [&](int64_t ranks) { return !allows(key, ranks); });
    return result;
  };
  // Sums of one micro-batch are of the whole step.
  const bool accumulates = layout.microBatches(request.job) > 1;
  StateGroups result;
  ParallelLayout asked;
  for (int64_t gradients : choices(PlanKey::GradientGroup, true, zero >= 3))
    for (int64_t parameters : choices(PlanKey::ParameterGroup, zero >= 3, false)) {
      int64_t gradientGroup = gradients == all ? 0 : gradients,
              parameterGroup = zero < 3 || parameters == all ? 0 : parameters;
      if (gradientGroup && !accumulates && !pinsGradients)
        continue;
      // Whole sums beside parameters of a group take the room that whole parameters take beside sums of a group, and
      // move as much; sums of a group beside parameters over all take more room than the other way around, and move as
      // much.
      if (!isPinned && ((gradientGroup == 1 && parameterGroup) || (gradientGroup > 1 && !parameterGroup && zero >= 3)))
        continue;
      if (gradientGroup > 1 && parameterGroup && gradients != parameters)
        continue;
      if (isPinned) {
        asked = layout;
        StateChoice{zero, shardGroup, Offload::None, gradientGroup, parameterGroup}.setOf(asked);
        if (llvm::Error error = verifyStateGroups(asked)) {
          llvm::consumeError(std::move(error));
          continue;
        }
      }
      result.push_back({gradientGroup, parameterGroup});
    }
  return result;
}

std::vector<StateChoice> PlanSpace::states(const ParallelLayout &layout) const {
  int64_t ranks = layout.dataRanks();
  std::vector<int64_t> groups;
  if (constraints.isPinned(PlanKey::ShardGroup)) {
    int64_t pinned = constraints.pinned(PlanKey::ShardGroup);
    if (ranks % pinned)
      return {};
    groups = {pinned == ranks ? 0 : pinned};
  } else {
    if (allows(PlanKey::ShardGroup, ranks))
      groups.push_back(0);
    // The ranks that share a unit of a level, from the outside in.
    int64_t unit = 1;
    std::vector<int64_t> inner;
    for (const ClusterLevel &level : request.cluster.levels()) {
      unit *= level.size;
      int64_t group = unit / layout.tp;
      if (unit % layout.tp == 0 && group > 1 && group < ranks && ranks % group == 0 &&
          allows(PlanKey::ShardGroup, group))
        inner.push_back(group);
    }
    groups.insert(groups.end(), inner.rbegin(), inner.rend());
  }
  const bool pinsGroups = constraints.isPinned(PlanKey::GradientGroup) || constraints.isPinned(PlanKey::ParameterGroup);
  bool shareable = ranks > 1 || (request.model.moe && layout.expertDataRanks() > 1);
  std::vector<StateChoice> result;
  for (int64_t zero = 0; zero <= 3; ++zero) {
    // One copy of the state cannot be cut: only what a pin says.
    if (!allows(PlanKey::Zero, zero) || (zero > 0 && !shareable && !constraints.isPinned(PlanKey::Zero)))
      continue;
    for (int64_t group : groups) {
      if (zero == 0 && group != groups.front())
        continue;
      const int64_t shardGroup = zero == 0 && !constraints.isPinned(PlanKey::ShardGroup) ? 0 : group;
      const StateGroups stateGroups = this->stateGroups(zero, shardGroup, layout);
      for (int kinds = 0; kinds <= int(Offload::All); ++kinds) {
        Offload offload = Offload(kinds);
        bool possible = offload == Offload::None ||
                        (request.cluster.host.memory.value > 0 && request.cluster.host.bandwidth.value > 0);
        if (offloadsActivations(offload) && layout.pp == 1 && !constraints.isPinned(PlanKey::Offload))
          possible = false; // nothing would leave
        if (kinds > int(Offload::Activations) && !constraints.isPinned(PlanKey::Offload))
          possible = false; // only where it is asked for
        if (possible && allows(PlanKey::Offload, int64_t(offload)))
          for (auto [gradients, parameters] : stateGroups)
            if (offload == Offload::None || !(gradients || parameters) || pinsGroups) // beside others only if asked for
              result.push_back({zero, shardGroup, offload, gradients, parameters});
      }
    }
  }
  return result;
}

bool PlanSpace::choosesByStage() const {
  return constraints.stageRecomputedLayers.empty() && allows(PlanKey::RecomputedLayers, -2);
}

std::vector<int64_t> PlanSpace::recomputedLayers(int64_t layers) const {
  if (constraints.isPinned(PlanKey::RecomputedLayers) && constraints.pinned(PlanKey::RecomputedLayers) >= -1)
    return {constraints.pinned(PlanKey::RecomputedLayers)};
  std::vector<int64_t> result;
  for (int64_t count = 1; count < layers; ++count)
    if (allows(PlanKey::RecomputedLayers, count))
      result.push_back(count);
  if (allows(PlanKey::RecomputedLayers, -1))
    result.push_back(-1);
  return result;
}

bool mlir::ppc::isVacuous(const ParallelLayout &layout, PlanKey key) {
  switch (key) {
  case PlanKey::Schedule:
    return layout.pp == 1;
  case PlanKey::Context:
    return layout.cp == 1;
  case PlanKey::SequenceParallel:
    return layout.tp == 1;
  case PlanKey::ShardGroup:
    return layout.zero == 0;
  case PlanKey::RecomputedLayers:
    return layout.recompute != Recompute::Full;
  case PlanKey::Zero:
    return layout.dataRanks() == 1 && layout.expertDataRanks() == 1;
  default:
    return false;
  }
}

std::optional<PlanKey> mlir::ppc::brokenConstraint(const PlanConstraints &constraints, const ParallelLayout &layout) {
  for (int key = 0; key < planKeyCount; ++key)
    if (!isVacuous(layout, PlanKey(key)) && !constraints.allows(PlanKey(key), planValue(layout, PlanKey(key))))
      return PlanKey(key);
  return std::nullopt;
}
