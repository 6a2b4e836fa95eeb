// A lower bound on the step of every choice of a grid that knows of memory, whatever the schedule, the cut and the state.
//
// A micro-batch that has gone through layer l stays there until its gradient comes back: no less than the chain b(l) of
// forwards and backwards from l on. In a step that takes x, of M micro-batches, M b(l) / x are there on average (Little), and
// the worst moment of each device is no less than its average. Summed over the p devices, kept bytes k(l) need
//     M / x (k(0) b(0) + k(1) b(1) + ...) <= p (limit - what is there anyway).
// What is too much is recomputed, at best in the first layers, which keep longest, and takes time:
//     M (T + recomputation) / p <= x.
// The least x with both is the bound; with slices of a sequence, M / slices in the first. Where activations are offloaded,
// the link to the host takes the place of memory.
#include "GridExpansion.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

namespace {
/// Of one micro-batch on all stages.
struct ResidenceTerms {
  double busy = 0;      // everything kept
  double offloaded = 0; // activations brought to the host and back
  double kept = 0;      // bytes x seconds: k(l) b(l) of all layers
  double behind = 0;    // seconds: the chain from the first layer on
  // Recomputation of layers, from the first one on.
  double layers = 0, chain = 0; // of each layer; 0: layers differ, and the best of them stand for all
  double seconds = 0, bytes = 0; // of one more, and what it saves; where layers differ: of one second
  double most = 0;               // bytes x seconds that all of it saves

  /// Seconds of recomputation that save so many bytes x seconds; infinity: none do.
  double recompute(double saving) const {
    if (saving <= 0)
      return 0;
    if (saving > most)
      return infinity;
    if (chain <= 0)
      return saving / (bytes * behind);
    // bytes (R behind - chain R (R - 1) / 2) = saving
    double half = behind + chain / 2, root = half * half - 2 * chain * saving / bytes;
    return root < 0 ? infinity : std::min(layers, (half - std::sqrt(root)) / chain) * seconds;
  }
};
} // namespace

static ResidenceTerms sumResidence(const PlanRequest &request, const LayerPrices &prices, bool canRecompute) {
  const ModelShape &model = request.model;
  ResidenceTerms terms;
  auto chainOf = [](const LayerPrice &price) { return (price.forward + price.backward).value; };
  auto busyOf = [&](const LayerPrice &price) { return chainOf(price) + price.weightGradient.value; };
  // Copies beside forward and beside backward, each of which the device's memory feels.
  double link = request.cluster.hostBandwidth().value;
  double memory = request.cluster.device().memoryEfficiency * request.cluster.device().memoryBandwidth.value;
  auto offloadedOf = [&](const LayerPrice &price) {
    double copy = price.kept.value / link;
    return std::max(price.forward.value, copy) + std::max((price.backward + price.weightGradient).value, copy) + 2 * price.kept.value / memory;
  };
  auto addEnd = [&](LayerKind kind, double behind) {
    const LayerPrice &price = prices(kind, false);
    terms.busy += busyOf(price);
    terms.offloaded += offloadedOf(price);
    terms.kept += price.kept.value * behind;
  };
  double behind = chainOf(prices(LayerKind::Head, false));
  addEnd(LayerKind::Head, behind);
  auto leastOffloaded = [&](LayerKind kind) {
    double kept = offloadedOf(prices(kind, false));
    return canRecompute ? std::min(kept, offloadedOf(prices(kind, true))) : kept;
  };
  double count = double(model.layers);
  if (!model.moe && !model.slidingWindow) {
    LayerKind kind = layerKind(model, 0);
    const LayerPrice &price = prices(kind, false), &again = prices(kind, true);
    double chain = chainOf(price), residence = count * behind + chain * count * (count + 1) / 2;
    terms.busy += count * busyOf(price);
    terms.offloaded += count * leastOffloaded(kind);
    terms.kept += price.kept.value * residence;
    behind += count * chain;
    terms.behind = behind;
    terms.layers = count;
    terms.chain = chain;
    terms.seconds = std::max(0.0, busyOf(again) - busyOf(price));
    terms.bytes = std::max(0.0, (price.kept - again.kept).value);
    terms.most = canRecompute ? terms.bytes * residence : 0;
  } else {
    for (int64_t layer = model.layers; layer-- > 0;) {
      LayerKind kind = layerKind(model, layer);
      const LayerPrice &price = prices(kind, false), &again = prices(kind, true);
      behind += chainOf(price);
      terms.busy += busyOf(price);
      terms.offloaded += leastOffloaded(kind);
      terms.kept += price.kept.value * behind;
      double saved = std::max(0.0, (price.kept - again.kept).value), seconds = std::max(1e-12, busyOf(again) - busyOf(price));
      terms.bytes = std::max(terms.bytes, saved / seconds);
      if (canRecompute)
        terms.most += saved * behind;
    }
    terms.behind = behind;
  }
  addEnd(LayerKind::Embedding, behind);
  return terms;
}

/// The least x with memory and time as above.
static double leastStep(const ResidenceTerms &terms, double microBatches, double slices, double devices, double capacity) {
  if (capacity <= 0)
    return infinity;
  auto suffices = [&](double x) {
    double rate = microBatches / slices / x, excess = rate * terms.kept - devices * capacity;
    return microBatches * (terms.busy + terms.recompute(excess / rate)) / devices <= x;
  };
  double low = microBatches * terms.busy / devices, high = low;
  if (low <= 0 || suffices(low * (1 + 1e-12)))
    return low;
  for (int doublings = 0; !suffices(high *= 2); ++doublings)
    if (doublings == 60)
      return high;
  while (high - low > 1e-5 * low) {
    double middle = 0.5 * (low + high);
    (suffices(middle) ? high : low) = middle;
  }
  return low;
}

/// What is on some device at least, beside activations, and how long it copies state to the host and back.
static std::pair<double, double> leastState(const PricingContext &context, const LayerPrices &prices,
                         const std::array<int64_t, layerKinds> &kinds) {
  static const PipelineProgram program = [] {
    PipelineProgram one;
    one.chunks = {{PipelineChunk{}}};
    one.moments = {{PipelineProgram::Moment{ChunkLoad{0, 0}}}};
    return one;
  }();
  ChunkCost share;
  share.working = Bytes(infinity);
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!kinds[kind])
      continue;
    const LayerPrice &price = prices(LayerKind(kind), false);
    double part = double(kinds[kind]) / double(context.layout.pp);
    share.parameters += part * price.parameters;
    share.expertParameters += part * price.expertParameters;
    share.working = std::min(share.working, price.working);
  }
  MemoryBreakdown memory = deviceMemory(context, share, program, 0);
  memory.communication = memory.allocator = Bytes(0);
  return {memory.total().value, priceState(context, share.parameters, share.expertParameters).hostCopies.value};
}

double GridExpander::refineBound(const PlanSpace &space, const PlanGrid &grid, Bytes limit) {
  ParallelLayout layout = space.layoutOf(grid);
  llvm::ArrayRef<ScheduleEntry> entries = schedulesOf(space, layout);
  bool offloads = space.allows(PlanKey::Offload, int64_t(Offload::Activations)) && request.cluster.host.bandwidth.value > 0;
  std::vector<StateChoice> states = space.states(layout);
  std::vector<Recompute> recomputes = space.recomputes();
  bool canRecompute = llvm::is_contained(recomputes, Recompute::Full);
  double microBatches = double(layout.microBatches(request.job)), devices = double(layout.pp), best = infinity;
  for (int64_t slices : {1, 2, 4, 8}) {
    if (llvm::none_of(entries, [&](const ScheduleEntry &entry) { return entry.schedule.shape.slices == slices; }))
      continue;
    ParallelLayout asked = layout;
    PricingContext context(request.model, request.job, request.cluster, asked, request.stack, slices);
    LayerPrograms programs = buildPrograms(context);
    for (bool selective : {false, true}) {
      if (selective ? !llvm::is_contained(recomputes, Recompute::Selective) : recomputes == std::vector<Recompute>{Recompute::Selective})
        continue;
      asked.recompute = selective ? Recompute::Selective : Recompute::None;
      LayerPrices prices = priceLayers(context, programs);
      ResidenceTerms terms = sumResidence(request, prices, canRecompute && !selective);
      // Each kind of state with the room that it leaves; where it is exchanged in every micro-batch, with what that takes.
      std::map<std::pair<int64_t, int64_t>, ResidenceTerms> exchanging; // by zero and shard group
      for (const StateChoice &state : states) {
        if (state.offload == Offload::Activations)
          continue;
        ParallelLayout kept = asked;
        kept.zero = state.zero;
        kept.shardGroup = state.shardGroup;
        kept.offload = state.offload;
        PricingContext stateContext(request.model, request.job, request.cluster, kept, request.stack, slices);
        const ResidenceTerms *own = &terms;
        if (state.zero >= 3 || stateContext.reducesEveryMicroBatch()) {
          auto [found, isNew] = exchanging.try_emplace({state.zero, state.shardGroup});
          if (isNew)
            found->second = sumResidence(request, priceLayers(stateContext, programs), canRecompute && !selective);
          own = &found->second;
        }
        auto [least, copies] = leastState(stateContext, prices, kinds);
        best = std::min(best, leastStep(*own, microBatches, double(slices), devices, limit.value - least) + copies);
      }
      if (offloads)
        best = std::min(best, microBatches * terms.offloaded / devices);
    }
  }
  return slack * best;
}
