#include "lib/Planning/Grid/ResidenceBound.h"

#include "lib/Planning/Grid/GridExpansion.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

double ResidenceTerms::recompute(double saving) const {
  if (saving <= 0)
    return 0;
  if (saving > most)
    return infinity;
  if (layerChain <= 0)
    return saving / (bytes * behind);
  // bytes (R behind - layerChain R (R - 1) / 2) = saving
  double half = behind + layerChain / 2, root = half * half - 2 * layerChain * saving / bytes;
  return root < 0 ? infinity : std::min(layers, (half - std::sqrt(root)) / layerChain) * seconds;
}

ResidenceTerms mlir::ppc::sumResidence(const PlanRequest &request, const LayerPrices &prices, bool split,
                                       bool canRecompute) {
  const ModelShape &model = request.model;
  ResidenceTerms terms;
  auto busyOf = [](const LayerPrice &price) { return (price.forward + price.backward + price.weightGradient).value; };
  auto chainOf = [&](const LayerPrice &price) {
    return split ? (price.forward + price.backward).value : busyOf(price);
  };
  auto addEnd = [&](LayerKind kind, double behind) {
    const LayerPrice &price = prices(kind, false);
    terms.busy += busyOf(price);
    terms.forward += price.forward.value;
    terms.chain += chainOf(price);
    terms.kept += price.kept.value * behind;
  };
  double behind = chainOf(prices(LayerKind::Head, false));
  addEnd(LayerKind::Head, behind);
  double count = double(model.layers);
  if (model.hasAlikeLayers()) {
    LayerKind kind = layerKind(model, 0);
    const LayerPrice &price = prices(kind, false), &again = prices(kind, true);
    double chain = chainOf(price), residence = count * behind + chain * count * (count + 1) / 2;
    terms.busy += count * busyOf(price);
    terms.forward += count * price.forward.value;
    terms.chain += count * chain;
    terms.kept += price.kept.value * residence;
    behind += count * chain;
    terms.behind = behind;
    terms.layers = count;
    terms.layerChain = chain;
    terms.seconds = std::max(0.0, busyOf(again) - busyOf(price));
    terms.bytes = std::max(0.0, (price.kept - again.kept).value);
    terms.most = canRecompute ? terms.bytes * residence : 0;
  } else {
    struct OfKind {
      double chain, busy, forward, kept, saved;
    };
    std::array<OfKind, layerKinds> kinds{};
    for (int kind = 0; kind < layerKinds; ++kind) {
      if (!prices.present[kind] || !isLayer(kind))
        continue;
      const LayerPrice &price = prices(LayerKind(kind), false), &again = prices(LayerKind(kind), true);
      double saved = std::max(0.0, (price.kept - again.kept).value),
             seconds = std::max(1e-12, busyOf(again) - busyOf(price));
      kinds[kind] = {chainOf(price), busyOf(price), price.forward.value, price.kept.value, saved};
      terms.bytes = std::max(terms.bytes, saved / seconds);
    }
    for (int64_t layer = model.layers; layer-- > 0;) {
      const OfKind &kind = kinds[int(layerKind(model, layer))];
      behind += kind.chain;
      terms.busy += kind.busy;
      terms.forward += kind.forward;
      terms.chain += kind.chain;
      terms.kept += kind.kept * behind;
      if (canRecompute)
        terms.most += kind.saved * behind;
    }
    terms.behind = behind;
  }
  addEnd(LayerKind::Embedding, behind);
  return terms;
}

/// The most layers that a stage has where layers are alike and the slowest of `stages` stages is as fast as can be;
/// `first` and `last`: what the ends have beside layers, in layers.
static int64_t mostLayers(int64_t layers, int64_t stages, double first, double last) {
  int64_t most = std::max<int64_t>({1, (layers + stages - 1) / stages, int64_t(std::ceil(std::max(first, last) + 1))});
  auto holds = [&](int64_t count) {
    auto beside = [&](double taken) { return std::max<int64_t>(1, int64_t((double(count) - taken) * (1 - 1e-9))); };
    return count * (stages - 2) + beside(first) + beside(last) >= layers;
  };
  while (!holds(most))
    ++most;
  return most;
}

FloorTerms::FloorTerms(const PlanRequest &request, const LayerTotals &programs, const PipelineMessages &messages,
                       Seconds beside, const LayerPrices &prices, Recompute recompute, bool evenCut)
    : request(request), messages(messages), beside(beside), prices(prices), canRecompute(recompute == Recompute::Full),
      evenCut(evenCut) {
  cutTimes.push_back(mlir::ppc::cutTimes(programs, recompute));
  if (canRecompute)
    cutTimes.push_back(mlir::ppc::cutTimes(programs, Recompute::None));
}

/// The order's limits through all stages, forward, backward, or both.
static void addOrder(PipelineFloor &floor, const StepSchedule &schedule, const StagePlacement &placement,
                     const PipelineMessages &messages, Seconds beside) {
  double hops = double(placement.hopCount), stages = double(placement.hops.size());
  double forward = stages * beside.value + hops * messages.forward.value,
         backward = stages * beside.value + hops * messages.backward.value;
  for (const OrderLimit &limit : placement.wholeLimits) {
    double rounds = double((schedule.shape.microBatches / placement.replicas - 1) / limit.ahead + 1);
    if (!limit.toBackward) {
      floor.roundsForward = rounds;
      floor.besideForward = rounds * forward;
    } else if (limit.from == 0) {
      floor.rounds = rounds;
      floor.besideRounds = rounds * (forward + backward);
    } else {
      floor.roundsBackward = rounds;
      floor.besideBackward = rounds * backward;
    }
  }
}

bool mlir::ppc::alternatesEverywhere(const StepSchedule &schedule) {
  const PipelineShape &shape = schedule.shape;
  return schedule.kind->alternates &&
         shape.microBatches * shape.slices >= shape.devices + std::max<int64_t>(shape.slices - 1, 1);
}

PipelineFloor mlir::ppc::floorOf(const FloorTerms &terms, const StepSchedule &schedule,
                                 const StagePlacement &placement) {
  const ModelShape &model = terms.request.model;
  const PipelineMessages &messages = terms.messages;
  const LayerPrices &prices = terms.prices;
  const Seconds beside = terms.beside;
  bool canRecompute = terms.canRecompute;
  const PipelineShape &shape = schedule.shape;
  double devices = double(shape.devices), microBatches = double(shape.microBatches), share = 1 / double(shape.slices);
  PipelineFloor floor;
  floor.split = schedule.splitBackward;
  floor.perWork = floor.perChain = microBatches / devices;
  // Every chunk loses that to messages.
  double stages = devices * double(shape.chunks);
  floor.besideWork = floor.besideChain = floor.perWork * stages * 2 * beside.value;
  addOrder(floor, schedule, placement, messages, beside);
  if (shape.devices == 1 || terms.request.stack.validatesUpdateAfterwards)
    return floor;
  double message = (messages.forward + messages.backward).value;
  if (shape.chunks == 1 && placement.replicas == 1) {
    // x >= s (c_0 + ... + c_(d-1)) + M c_d for every device d, with c the chain of a micro-batch and s the share of a
    // slice: the sum of all c is largest when all hold with equality. Messages come with each c but the last.
    auto filled = [&](double part) { return part / (1 - std::pow(1 - part / microBatches, devices)); };
    floor.perChain = filled(share);
    floor.besideChain = floor.perChain * stages * (2 * beside.value + message) - microBatches * message;
    if (alternatesEverywhere(schedule)) {
      // As boundPipeline has it: x >= s (c_0 + .. + c_(d-1) + 2 c_(d+1) + .. + 2 c_(p-1) + (U - (p - 1 - d)) c_d) for
      // every device d, with U = M / s. Added up with weights y_d, y_(d+1) = y_d (U - p - 1 + d) / (U - p + 1 + d),
      // each c has the same coefficient, so that equal c are best and x >= (M + (p - 1) s) C / p. No fewer than p - 1
      // messages go each way.
      floor.perChain = (microBatches + (devices - 1) * share) / devices;
      floor.besideChain = floor.perChain * stages * 2 * beside.value + (devices - 1) * share * message;
    }
    if (floor.split) {
      // The same with forwards before and weight gradients among the work: a part of it that is in the forward.
      double part = 1;
      for (int kind = 0; kind < layerKinds; ++kind)
        if (prices.present[kind]) {
          const LayerPrice &most = prices(LayerKind(kind), canRecompute && isLayer(kind));
          double busy = (most.forward + most.backward + most.weightGradient).value;
          if (busy > 0)
            part = std::min(part, std::min(prices(LayerKind(kind), false).forward, most.forward).value / busy);
        }
      if (part > 0)
        floor.perWork = std::max(floor.perWork, filled(part * share));
    }
    return floor;
  }
  // Devices wait for the stages before their first one: no fewer layers than are too many for those behind.
  if (!terms.evenCut || !model.hasAlikeLayers() || stages > double(model.layers))
    return floor;
  LayerKind kind = layerKind(model, 0);
  const LayerPrice &layer = prices(kind, false);
  int64_t most = 0, stageCount = shape.devices * shape.chunks;
  for (const std::array<double, layerKinds> &times : terms.cutTimes) {
    double once = times[int(kind)], head = times[int(LayerKind::Head)];
    if (once <= 0)
      return floor;
    double last = head + double(model.predictionLayers) * (once + head);
    most = std::max(most, mostLayers(model.layers, stageCount, times[int(LayerKind::Embedding)] / once, last / once));
  }
  int64_t layersBefore = 0; // of all devices
  for (int64_t before : placement.before)
    layersBefore += std::max(before, model.layers - (stageCount - before) * most);
  double layers = double(layersBefore), stagesBefore = double(placement.beforeSum),
         hops = double(placement.hopsBeforeSum);
  double forward = share * (layers * layer.forward.value + stagesBefore * beside.value + hops * messages.forward.value);
  double chain = (layer.backward + (floor.split ? Seconds(0) : layer.weightGradient)).value;
  double backward = share * (layers * chain + stagesBefore * beside.value + hops * messages.backward.value);
  // On average over the devices. Weight gradients may wait until the backwards have left.
  floor.besideWork += forward / devices;
  floor.besideChain += (forward + backward) / devices;
  return floor;
}

double PipelineFloor::step(const ResidenceTerms &terms, double recomputed) const {
  double chain = terms.chain + recomputed;
  return std::max({perWork * (terms.busy + recomputed) + besideWork, perChain * chain + besideChain,
                   roundsForward * terms.forward + besideForward,
                   roundsBackward * (chain - terms.forward) + besideBackward, rounds * chain + besideRounds});
}

bool PipelineFloor::isBelow(const PipelineFloor &other) const {
  return split == other.split && perWork <= other.perWork && besideWork <= other.besideWork &&
         perChain <= other.perChain && besideChain <= other.besideChain && roundsForward <= other.roundsForward &&
         besideForward <= other.besideForward && roundsBackward <= other.roundsBackward &&
         besideBackward <= other.besideBackward && rounds <= other.rounds && besideRounds <= other.besideRounds;
}

void mlir::ppc::addFloor(llvm::SmallVectorImpl<PipelineFloor> &floors, const PipelineFloor &floor) {
  if (llvm::any_of(floors, [&](const PipelineFloor &other) { return other.isBelow(floor); }))
    return;
  llvm::erase_if(floors, [&](const PipelineFloor &other) { return floor.isBelow(other); });
  floors.push_back(floor);
}

bool mlir::ppc::mayTake(double x, const std::array<ResidenceTerms, 2> &terms, const PipelineFloor &floor,
                        const ResidenceRoom &room) {
  const ResidenceTerms &own = terms[floor.split];
  if (floor.step(own, 0) > x)
    return false;
  if (room.capacity == infinity)
    return true;
  if (room.capacity <= 0)
    return false;
  double rate = room.microBatches / room.slices / x;
  return floor.step(own, own.recompute(own.kept - room.devices * room.capacity / rate)) <= x;
}

double mlir::ppc::leastStep(const std::array<ResidenceTerms, 2> &terms, llvm::ArrayRef<PipelineFloor> floors,
                            const ResidenceRoom &room, double most) {
  if (room.capacity <= 0)
    return infinity;
  double low = infinity;
  for (const PipelineFloor &floor : floors)
    low = std::min(low, floor.step(terms[floor.split], 0));
  auto suffices = [&](double x) {
    return llvm::any_of(floors, [&](const PipelineFloor &floor) { return mayTake(x, terms, floor, room); });
  };
  if (low > most || (most < infinity && !suffices(most)))
    return infinity;
  if (low <= 0 || low == infinity || suffices(low * (1 + 1e-12)))
    return low;
  double high = low;
  for (int doublings = 0; !suffices(high *= 2); ++doublings)
    if (doublings == 60)
      return high;
  while (high - low > 1e-4 * low) {
    double middle = 0.5 * (low + high);
    (suffices(middle) ? high : low) = middle;
  }
  return low;
}

/// A device with no more than its share of all layers. `full`: recomputed where they may be.
static ChunkCost shareOf(const PricingContext &context, const LayerPrices &prices,
                         const std::array<int64_t, layerKinds> &kinds, bool full) {
  ChunkCost share;
  share.working = Bytes(infinity);
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!kinds[kind])
      continue;
    const LayerPrice &kept = prices(LayerKind(kind), false), &price = prices(LayerKind(kind), full && isLayer(kind));
    double part = double(kinds[kind]) / double(context.layout.pp);
    share.parameters += part * price.parameters;
    share.expertParameters += part * price.expertParameters;
    share.roundedParameters += part * price.roundedParameters;
    share.f32Parameters += part * price.f32Parameters;
    if (!offloadsActivations(context.layout.offload))
      share.kept += part * price.kept;
    share.working = std::min({share.working, price.working, kept.working});
  }
  return share;
}

/// One device of one stage that holds so many micro-batches.
static PipelineProgram holding(double microBatches) {
  PipelineProgram one;
  one.chunks = {{PipelineChunk{}}};
  one.moments = {{PipelineProgram::Moment{ChunkLoad{microBatches, 0}}}};
  return one;
}

double mlir::ppc::leastMemory(const PricingContext &context, const LayerPrices &prices,
                              const std::array<int64_t, layerKinds> &kinds, bool full) {
  static const PipelineProgram program = holding(1);
  MemoryBreakdown memory = deviceMemory(context, shareOf(context, prices, kinds, full), program, 0);
  memory.communication = Bytes(0); // no sum of shares
  return slack * memory.total().value;
}

LeastState mlir::ppc::leastState(const PricingContext &context, const LayerPrices &prices,
                                 const std::array<int64_t, layerKinds> &kinds, double update) {
  static const PipelineProgram program = holding(0);
  ChunkCost share = shareOf(context, prices, kinds, /*full=*/false);
  MemoryBreakdown memory = deviceMemory(context, share, program, 0);
  memory.communication = memory.allocator = Bytes(0);
  if (update < 0)
    update = priceUpdate(context, share.parameters, share.expertParameters).optimizer.value;
  return {memory.total().value, update};
}
