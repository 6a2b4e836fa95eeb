#include "ppc/CostModel/StageCost.h"

#include "LayerBuilder.h"

#include <algorithm>

using namespace mlir::ppc;

namespace {
enum LayerKind { Embedding, Dense, DenseWindow, Expert, ExpertWindow, Head };
}

llvm::StringRef mlir::ppc::layerKindName(int kind) {
  static constexpr llvm::StringRef names[] = {"embedding",    "layer", "layer with window", "expert layer", "expert layer with window",
                                              "head"};
  return names[kind];
}

static LayerKind kindOf(const ModelShape &model, int64_t layer) {
  bool window = model.slidingWindow && layer % model.slidingWindowEvery == 0;
  if (model.hasExperts(layer))
    return window ? ExpertWindow : Expert;
  return window ? DenseWindow : Dense;
}

/// Layers per chunk where the stack cuts by counting modules: `units` of which `before` are ahead of the first layer and
/// `after` behind the last.
static std::vector<int64_t> cutUniformly(int64_t layers, int64_t before, int64_t after, int64_t chunks) {
  int64_t units = layers + before + after;
  std::vector<int64_t> counts(chunks, units / chunks);
  for (int64_t i = 0; i < units % chunks; ++i)
    ++counts[i];
  for (int64_t i = 0; before > 0 && i < chunks; ++i) {
    int64_t taken = std::min(before, counts[i]);
    counts[i] -= taken;
    before -= taken;
  }
  for (int64_t i = chunks; after > 0 && i-- > 0;) {
    int64_t taken = std::min(after, counts[i]);
    counts[i] -= taken;
    after -= taken;
  }
  return counts;
}

/// The contiguous cut with the least slowest chunk, when the first carries `first` and the last `last` beside its layers.
static std::vector<int64_t> cutBalanced(const std::vector<double> &layers, double first, double last, int64_t chunks) {
  double low = 0, high = first + last;
  for (double layer : layers)
    high += layer;
  std::vector<int64_t> best;
  auto fill = [&](double limit) {
    std::vector<int64_t> counts(chunks, 0);
    double used = first;
    int64_t chunk = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      double tail = chunk == chunks - 1 ? last : 0;
      // Later chunks must not stay empty.
      bool mustMove = chunk < chunks - 1 && counts[chunk] && int64_t(layers.size() - i) <= chunks - 1 - chunk;
      if (used + layers[i] + tail > limit || mustMove) {
        if (++chunk == chunks)
          return false;
        used = 0;
        if (layers[i] + (chunk == chunks - 1 ? last : 0) > limit)
          return false;
      }
      used += layers[i];
      ++counts[chunk];
    }
    if (chunk == chunks - 1 && used > limit - last + 1e-18 && used + last > limit)
      return false;
    best = counts;
    return true;
  };
  for (int i = 0; i < 40; ++i) {
    double middle = 0.5 * (low + high);
    (fill(middle) ? high : low) = middle;
  }
  fill(high);
  return best.empty() ? cutUniformly(layers.size(), 0, 0, chunks) : best;
}

static std::vector<int64_t> cutLayers(const PricingContext &context, const std::array<LayerProgram, layerKinds> &programs) {
  const ParallelLayout &layout = context.layout;
  int64_t chunks = layout.pp * layout.vp, layers = context.model.layers;
  if (!layout.stageLayers.empty())
    return {layout.stageLayers.begin(), layout.stageLayers.end()};
  switch (context.stack.stageSplit) {
  case StageSplit::Modules: return cutUniformly(layers, 1, 2, chunks);
  case StageSplit::EmbeddingAsLayer: return cutUniformly(layers, 1, 1, chunks);
  case StageSplit::Balanced:
    if (chunks > 1) {
      auto time = [&](LayerKind kind) {
        const LayerProgram &program = programs[kind];
        return (program.forward() + program.backward() + program.weightGradient()).value;
      };
      std::vector<double> times;
      for (int64_t layer = 0; layer < layers; ++layer)
        times.push_back(time(kindOf(context.model, layer)));
      return cutBalanced(times, time(Embedding), time(Head), chunks);
    }
    break;
  case StageSplit::Layers: break;
  }
  if (layers % chunks == 0 || layers < chunks)
    return cutUniformly(layers, 0, 0, chunks);
  // Uneven: frameworks take layers from the ends, where embedding and head are.
  std::vector<int64_t> counts(chunks, layers / chunks);
  int64_t rest = layers % chunks;
  for (int64_t i = 0; i < rest; ++i)
    ++counts[(chunks - rest) / 2 + i];
  return counts;
}

namespace {
/// Forward, backward and weight gradient of one layer on one rank, host time and state exchange included.
struct LayerTimes {
  Seconds forward, backward, weightGradient, communication, exchange;
};
} // namespace

static LayerTimes timeLayer(const PricingContext &context, const LayerProgram &program, bool recomputed) {
  const ParallelLayout &layout = context.layout;
  const Device &device = context.device();
  LayerTimes times{program.forward(), program.backward(), program.weightGradient(), {}, {}};
  int forwardKernels = program.forwardKernels(), backwardKernels = program.backwardKernels();
  Seconds again;
  if (recomputed)
    again = program.forward();
  else if (layout.recompute == Recompute::Selective)
    again = program.recomputeSelective();
  times.backward += again;
  for (const LayerOp &op : program.ops)
    if (op.kind == OpClass::Communication)
      times.communication += op.forward + op.backward + (recomputed ? op.forward : Seconds(0));
  // The device waits for the host where kernels are shorter than their launches.
  double launches = context.stack.execution == Execution::Eager ? 1 : context.stack.execution == Execution::Compiled ? 0.4 : 0;
  Seconds hostForward = device.hostIssueForward * (launches * forwardKernels);
  Seconds hostBackward = device.hostIssueBackward * (launches * backwardKernels) + (recomputed ? hostForward : Seconds(0));
  times.forward = std::max(times.forward, hostForward);
  Seconds both = times.backward + times.weightGradient;
  if (both < hostBackward) {
    times.backward = hostBackward * (times.backward / both);
    times.weightGradient = hostBackward - times.backward;
  }
  if (layout.zero < 3)
    return times;
  // Parameters come layer by layer, one layer ahead of their use; gradients leave beside the next layer's backward.
  int64_t ranks = layout.shardGroup ? layout.shardGroup : layout.dataRanks();
  GroupPlacement group = placeGroup(context.cluster.levels(), layout.tp, ranks);
  double parameters = program.parameters + program.expertParameters;
  Seconds gather = collectiveTime(context.cluster, CollectiveKind::AllGather, Bytes(parameters * 2), group);
  Seconds scatter = collectiveTime(context.cluster, CollectiveKind::ReduceScatter, Bytes(parameters * context.stack.gradientReduceBytes), group);
  double microBatches = double(layout.microBatches(context.job));
  double gathers = context.stack.gatherParametersOncePerStep ? 1 / microBatches : 1;
  double scatters = context.stack.reduceGradientsEveryMicroBatch ? 1 : 1 / microBatches;
  Seconds forward = runTogether(device, times.forward, gathers * gather);
  Seconds backwardCompute = times.backward + times.weightGradient;
  Seconds traffic = scatters * scatter;
  if (context.stack.reshardAfterForward)
    traffic += gathers * gather;
  Seconds backward = runTogether(device, backwardCompute, traffic);
  times.exchange = forward - times.forward + backward - backwardCompute;
  times.forward = forward;
  times.backward += backward - backwardCompute;
  return times;
}

ModelCosts mlir::ppc::priceChunks(const PricingContext &context, bool splitBackward) {
  const ModelShape &model = context.model;
  const ParallelLayout &layout = context.layout;
  ModelCosts costs;
  auto price = [&](LayerKind kind, LayerProgram program) {
    costs.programs[kind] = std::move(program);
    costs.present[kind] = true;
  };
  price(Embedding, buildEmbedding(context));
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    LayerKind kind = kindOf(model, layer);
    if (!costs.present[kind])
      price(kind, buildLayer(context, layer));
    if (!model.moe && !model.slidingWindow)
      break;
  }
  price(Head, buildHead(context));

  std::vector<int64_t> counts = cutLayers(context, costs.programs);
  std::array<LayerTimes, layerKinds> kept, recomputed;
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!costs.present[kind])
      continue;
    kept[kind] = timeLayer(context, costs.programs[kind], false);
    recomputed[kind] = timeLayer(context, costs.programs[kind], true);
  }
  int64_t layer = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    ChunkCost &chunk = costs.chunks.emplace_back();
    int64_t toRecompute = layout.recompute != Recompute::Full ? 0 : layout.recomputedLayers < 0 ? counts[i] : layout.recomputedLayers;
    auto add = [&](LayerKind kind, bool again) {
      const LayerProgram &program = costs.programs[kind];
      const LayerTimes &times = again ? recomputed[kind] : kept[kind];
      ++chunk.count[kind];
      chunk.durations.forward += times.forward;
      chunk.durations.backward += times.backward;
      chunk.durations.weightGradient += times.weightGradient;
      chunk.communication += times.communication;
      chunk.stateExchange += times.exchange;
      chunk.parameters += program.parameters;
      chunk.expertParameters += program.expertParameters;
      bool selective = layout.recompute == Recompute::Selective;
      Bytes saved = again ? program.input : selective ? program.savedSelective() : program.saved();
      chunk.kept += saved;
      chunk.keptForWeights += saved * 0.5;
      Bytes working = program.backwardWorkspace;
      if (again)
        working += program.saved();
      else if (selective)
        working += program.saved() - program.savedSelective();
      chunk.working = std::max(chunk.working, working);
      for (const LayerOp &op : program.ops)
        chunk.hardwareFlops += op.flops.value * (3 + (again || (selective && op.attentionCore)));
    };
    if (i == 0)
      add(Embedding, false);
    for (int64_t j = 0; j < counts[i]; ++j, ++layer)
      add(kindOf(model, layer), j < toRecompute);
    if (i + 1 == counts.size())
      add(Head, false);
    if (!splitBackward) {
      chunk.durations.backward += chunk.durations.weightGradient;
      chunk.durations.weightGradient = Seconds(0);
    }
  }
  return costs;
}
