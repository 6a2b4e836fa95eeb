#include "lib/Planning/Grid/StageFit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

using namespace mlir::ppc;

static constexpr double unfit = std::numeric_limits<double>::infinity();

std::vector<StageGroup> mlir::ppc::groupStages(const PipelineProgram &program) {
  std::vector<int64_t> holder(program.stageCount, -1); // a device that holds the stage
  std::vector<int64_t> parent(program.chunks.size());
  std::iota(parent.begin(), parent.end(), 0);
  auto rootOf = [&](int64_t device) {
    while (parent[device] != device)
      device = parent[device] = parent[parent[device]];
    return device;
  };
  for (size_t device = 0; device < program.chunks.size(); ++device)
    for (const PipelineChunk &chunk : program.chunks[device]) {
      int64_t &first = holder[chunk.stage];
      if (first < 0)
        first = int64_t(device);
      int64_t a = rootOf(first), b = rootOf(int64_t(device));
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::vector<StageGroup> groups;
  std::vector<int64_t> groupOf(program.chunks.size(), -1);
  for (size_t device = 0; device < program.chunks.size(); ++device) {
    int64_t &group = groupOf[rootOf(int64_t(device))];
    if (group < 0) {
      group = int64_t(groups.size());
      groups.emplace_back();
    }
    groups[group].devices.push_back(int64_t(device));
  }
  for (int64_t stage = 0; stage < program.stageCount; ++stage)
    groups[groupOf[rootOf(holder[stage])]].stages.push_back(stage);
  return groups;
}

int64_t StageFitter::recomputable(const StageGroup &group) const {
  int64_t sum = 0;
  if (context.layout.recompute == Recompute::Full)
    for (int64_t stage : group.stages)
      sum += layers[stage].recomputable(context.model);
  return sum;
}

void StageFitter::assign(const StageGroup &group, int64_t number, StageFit &fit) {
  for (int64_t stage : group.stages)
    fit.recomputed[stage] = 0;
  for (int64_t round = 0; number > 0; ++round)
    for (int64_t stage : group.stages)
      if (number > 0 && round < layers[stage].recomputable(context.model)) {
        ++fit.recomputed[stage];
        --number;
      }
  for (int64_t stage : group.stages)
    fit.chunks[stage] = priceChunk(context.model, prices, layers[stage], fit.recomputed[stage], beside, splitBackward);
}

double StageFitter::excess(const StageGroup &group, const StageFit &fit) const {
  double worst = -unfit;
  for (int64_t device : group.devices) {
    MemoryBreakdown memory = deviceMemory(context, fit.chunks, program, device);
    worst = std::max(worst, ignoresHost || fitsHost(context.cluster, memory) ? (memory.total() - limit).value : unfit);
  }
  return worst;
}

llvm::SmallVector<int64_t, 4> StageFitter::rangeEnds(const StageGroup &group, const StageFit &fit) const {
  // The first layer of a kind that is recomputed needs room to be so, once.
  int64_t all = recomputable(group);
  llvm::SmallVector<int64_t, 4> ends{0};
  const ModelShape &model = context.model;
  if (model.hasAlikeLayers()) {
    if (all)
      ends.push_back(all);
    return ends;
  }
  std::array<bool, layerKinds> seen{};
  int64_t number = 0;
  for (int64_t round = 0; number < all; ++round)
    for (int64_t stage : group.stages) {
      const ChunkLayers &chunk = layers[stage];
      if (round >= chunk.recomputable(model))
        continue;
      int kind = int(layerKind(model, std::min(chunk.begin + round, model.layers - 1)));
      if (!seen[kind] && number > 0)
        ends.push_back(number);
      seen[kind] = true;
      ++number;
    }
  if (all)
    ends.push_back(all);
  return ends;
}

bool StageFitter::fitGroup(const StageGroup &group, int64_t least, StageFit &fit) {
  auto excessWith = [&](int64_t number) {
    assign(group, number, fit);
    return excess(group, fit);
  };
  int64_t begin = 0;
  double excessBelow = unfit; // of some number below the range
  for (int64_t end : rangeEnds(group, fit)) {
    int64_t low = std::max(begin, least), high = end;
    begin = end + 1;
    if (low > high)
      continue;
    double above = excessWith(high);
    if (above > 0) {
      excessBelow = above;
      continue;
    }
    int64_t current = high;
    // Mostly nothing must be recomputed. Else memory is nearly linear in the number: look where it would cross the
    // limit.
    while (low < high) {
      double part = excessBelow < unfit ? excessBelow / (excessBelow - above) : 0;
      int64_t middle = std::clamp(low + int64_t(part * double(high - low)), low, high - 1);
      current = middle;
      if (double found = excessWith(middle); found <= 0) {
        high = middle;
        above = found;
      } else {
        low = middle + 1;
        excessBelow = found;
      }
    }
    if (current != high)
      assign(group, high, fit);
    return true;
  }
  return false;
}

void StageFitter::setCut(llvm::ArrayRef<int64_t> cut, StageFit &fit) {
  layers = listChunks(cut);
  fit.cut.assign(cut.begin(), cut.end());
  fit.recomputed.resize(cut.size());
  fit.chunks.resize(cut.size());
}

bool StageFitter::fitFewest(llvm::ArrayRef<int64_t> cut, StageFit &fit) {
  setCut(cut, fit);
  return llvm::all_of(groups, [&](const StageGroup &group) { return fitGroup(group, 0, fit); });
}

StageFitter::FitWithin StageFitter::fitWithin(llvm::ArrayRef<int64_t> cut, double limit, StageFit &fit) {
  setCut(cut, fit);
  for (const StageGroup &group : groups)
    if (!fitGroup(group, 0, fit))
      return FitWithin::Memory;
    else if (timeOf(group, fit) > limit)
      return FitWithin::Time;
  return FitWithin::Fits;
}

bool StageFitter::raise(int64_t rounds, StageFit &fit) {
  layers = listChunks(fit.cut);
  return llvm::all_of(groups, [&](const StageGroup &group) {
    int64_t least = 0, now = 0;
    for (int64_t stage : group.stages) {
      least += std::min(rounds, layers[stage].recomputable(context.model));
      now += fit.recomputed[stage];
    }
    return fitGroup(group, std::max(now, least), fit);
  });
}

bool StageFitter::fitExactly(llvm::ArrayRef<int64_t> cut, llvm::ArrayRef<int64_t> recomputed, StageFit &fit) {
  setCut(cut, fit);
  fit.recomputed.assign(recomputed.begin(), recomputed.end());
  for (size_t stage = 0; stage < cut.size(); ++stage)
    fit.chunks[stage] = priceChunk(context.model, prices, layers[stage], recomputed[stage], beside, splitBackward);
  return llvm::all_of(groups, [&](const StageGroup &group) { return excess(group, fit) <= 0; });
}

double StageFitter::timeOf(const StageGroup &group, const StageFit &fit) const {
  double sum = 0;
  for (int64_t stage : group.stages) {
    const StageDurations &durations = fit.chunks[stage].durations;
    sum += (durations.forward + durations.backward + durations.weightGradient).value;
  }
  return sum / double(group.devices.size());
}

/// The stage that gives a layer: the longest, the first of those, which keeps most micro-batches. -1: all have one
/// layer.
static int64_t giverOf(const StageGroup &group, llvm::ArrayRef<int64_t> cut) {
  int64_t giver = -1;
  for (int64_t stage : group.stages)
    if (cut[stage] > 1 && (giver < 0 || cut[stage] > cut[giver]))
      giver = stage;
  return giver;
}

/// The stage that takes one: the shortest, the last of those.
static int64_t takerOf(const StageGroup &group, llvm::ArrayRef<int64_t> cut) {
  int64_t taker = group.stages.front();
  for (int64_t stage : group.stages)
    if (cut[stage] <= cut[taker])
      taker = stage;
  return taker;
}

double StageFitter::timeWithOneMore(const StageGroup &group, StageFit &fit) {
  int64_t taker = takerOf(group, fit.cut);
  llvm::SmallVector<std::pair<int64_t, ChunkCost>, 4> before;
  for (int64_t stage : group.stages)
    before.push_back({fit.recomputed[stage], fit.chunks[stage]});
  ChunkLayers shorter = layers[taker];
  // Where in the model the layer lies that comes is only known once it has moved.
  ++layers[taker].layers;
  if (layers[taker].begin + layers[taker].layers > context.model.layers)
    --layers[taker].begin;
  double time = fitGroup(group, 0, fit) ? timeOf(group, fit) : unfit;
  layers[taker] = shorter;
  for (size_t i = 0; i < group.stages.size(); ++i)
    std::tie(fit.recomputed[group.stages[i]], fit.chunks[group.stages[i]]) = before[i];
  return time;
}

/// Whether two places of a stage hold the same kinds of layers, also with one more before or behind.
static bool isAlike(const ModelShape &model, const ChunkLayers &before, const ChunkLayers &now) {
  if (before.layers != now.layers)
    return false;
  if (before.begin == now.begin)
    return true;
  int64_t begin = std::max<int64_t>(0, std::min(before.begin, now.begin) - 1),
          end = std::min(model.layers, std::max(before.begin, now.begin) + now.layers + 1);
  for (int64_t layer = begin + 1; layer < end; ++layer)
    if (layerKind(model, layer) != layerKind(model, begin))
      return false;
  return true;
}

bool StageFitter::moveLayers(llvm::ArrayRef<int64_t> cut, StageFit &fit) {
  if (groups.size() < 2)
    return false;
  setCut(cut, fit);
  size_t count = groups.size();
  constexpr double unknown = -1;
  std::vector<double> time(count), timeWithMore(count, unknown);
  auto price = [&](size_t group) {
    time[group] = fitGroup(groups[group], 0, fit) ? timeOf(groups[group], fit) : unfit;
    timeWithMore[group] = unknown;
  };
  for (size_t group = 0; group < count; ++group)
    price(group);
  bool alike = !context.model.moe && !context.model.slidingWindow;
  // Stages between the two hold other layers of the model, but mostly of the same kinds.
  auto move = [&](int64_t from, int64_t to) {
    --fit.cut[from];
    ++fit.cut[to];
    std::vector<ChunkLayers> before = std::exchange(layers, listChunks(fit.cut));
    for (size_t group = 0; group < count; ++group)
      if (llvm::any_of(groups[group].stages, [&](int64_t stage) {
            return alike ? layers[stage].layers != before[stage].layers
                         : !isAlike(context.model, before[stage], layers[stage]);
          }))
        price(group);
  };
  for (int64_t moves = 0; moves < context.model.layers; ++moves) {
    size_t worst = std::max_element(time.begin(), time.end()) - time.begin(), best = count;
    int64_t giver = giverOf(groups[worst], fit.cut);
    if (giver < 0)
      break;
    for (size_t group = 0; group < count; ++group) {
      if (group == worst || time[group] == unfit)
        continue;
      if (timeWithMore[group] == unknown)
        timeWithMore[group] = timeWithOneMore(groups[group], fit);
      if (best == count || timeWithMore[group] <= timeWithMore[best])
        best = group;
    }
    if (best == count || timeWithMore[best] >= time[worst] * (1 - 1e-12))
      break;
    int64_t taker = takerOf(groups[best], fit.cut);
    double before = time[worst];
    move(giver, taker);
    if (alike || before == unfit || *std::max_element(time.begin(), time.end()) < before)
      continue;
    // Where it came to lie is worse than was thought.
    move(taker, giver);
    break;
  }
  return !llvm::is_contained(time, unfit) && !llvm::equal(fit.cut, cut);
}

bool StageFitter::holdsWithin(llvm::ArrayRef<int64_t> cut, double limit, bool descends) {
  const ModelShape &model = context.model;
  if (!model.hasAlikeLayers() || model.predictionLayers)
    return true;
  StageFit fit;
  setCut(cut, fit);
  auto resize = [&](const StageGroup &group, int64_t count) {
    layers[group.stages.front()].layers = count;
    return fitGroup(group, 0, fit) && timeOf(group, fit) <= limit;
  };
  // The most layers by time alone, then by memory, as long as what is lost can be elsewhere.
  const LayerPrice &layer = prices(layerKind(model, 0), false);
  double once = (layer.forward + layer.backward + layer.weightGradient).value;
  if (once <= 0)
    return true;
  std::vector<int64_t> most;
  int64_t spare = -model.layers;
  for (const StageGroup &group : groups) {
    ChunkLayers &chunk = layers[group.stages.front()];
    chunk.begin = 0;
    chunk.layers = 0;
    assign(group, 0, fit);
    double free = limit - timeOf(group, fit);
    if (free < 0)
      return false;
    most.push_back(std::min(model.layers, int64_t(std::min(free / once * (1 + 1e-9), 1e15))));
    spare += most.back();
  }
  int64_t known = -1; // holds on later devices between the ends
  for (size_t i = 0; i < groups.size() && spare >= 0; ++i) {
    bool isInner = descends && i > 0 && i + 1 < groups.size();
    if (resize(groups[i], most[i])) {
      if (isInner)
        i = groups.size() - 2; // so do all but the last
      continue;
    }
    int64_t low = isInner ? known : -1, high = most[i], step = 1; // low holds, high does not
    while (low + 1 < high) {
      int64_t middle =
          low >= 0 ? std::min(low + step, high - 1) : std::max<int64_t>(0, high - 1 - (most[i] - high) * 2);
      if (resize(groups[i], middle)) {
        low = middle;
        step *= 2;
      } else {
        high = middle;
        step = std::max<int64_t>(1, (high - low) / 2);
      }
      if (high == 0)
        return false;
    }
    if (isInner)
      known = low;
    spare -= most[i] - low;
  }
  return spare >= 0;
}
