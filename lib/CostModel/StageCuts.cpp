// Which layers each virtual stage holds.
#include "ppc/CostModel/StageCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir::ppc;

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

namespace {
/// The contiguous cut with the least slowest chunk, when the first carries `first` and the last `last` beside its layers,
/// and at least one layer each. Among those, early chunks take as few layers as they may: they keep most micro-batches.
class BalancedCut {
public:
  /// `ends[i]`: time of the first i layers.
  BalancedCut(llvm::ArrayRef<double> ends, double first, double last, int64_t chunks)
      : ends(ends), first(first), last(last), chunks(chunks), layers(int64_t(ends.size()) - 1) {}

  std::vector<int64_t> run() {
    double total = ends.back() + first + last;
    double low = total / double(chunks), high = total;
    std::vector<int64_t> cut;
    fill(high, cut);
    while (high - low > 1e-7 * low) {
      double middle = 0.5 * (low + high);
      std::vector<int64_t> tried;
      if (fill(middle, tried)) {
        cut = std::move(tried);
        high = slowest(cut); // what it really needs is less
      } else {
        low = middle;
      }
    }
    return lighten(slowest(cut) * (1 + 1e-12));
  }

private:
  double extra(int64_t chunk) const { return (chunk == 0 ? first : 0) + (chunk == chunks - 1 ? last : 0); }

  double slowest(llvm::ArrayRef<int64_t> cut) const {
    double most = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      most = std::max(most, ends[cut[chunk + 1]] - ends[cut[chunk]] + extra(chunk));
    return most;
  }

  /// Chunks as long as they may be, from the front: positions of the cuts.
  bool fill(double limit, std::vector<int64_t> &cut) const {
    cut.assign(1, 0);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      int64_t most = layers - (chunks - 1 - chunk), begin = cut.back();
      double target = ends[begin] + limit - extra(chunk);
      int64_t end = std::min<int64_t>(most, std::upper_bound(ends.begin() + begin, ends.end(), target) - ends.begin() - 1);
      if (end <= begin)
        return false;
      cut.push_back(end);
    }
    return cut.back() == layers;
  }

  /// Chunks as long as they may be, from the back.
  std::vector<int64_t> lighten(double limit) const {
    std::vector<int64_t> counts(chunks);
    int64_t end = layers;
    for (int64_t chunk = chunks - 1; chunk > 0; --chunk) {
      double target = ends[end] - limit + extra(chunk);
      int64_t begin = std::lower_bound(ends.begin(), ends.begin() + end, target) - ends.begin();
      begin = std::clamp(begin, chunk, end - 1);
      counts[chunk] = end - begin;
      end = begin;
    }
    counts[0] = end;
    return counts;
  }

  llvm::ArrayRef<double> ends;
  double first, last;
  int64_t chunks, layers;
};
} // namespace

static std::vector<int64_t> cutBalanced(const PricingContext &context, const LayerPrograms &programs, int64_t chunks) {
  const ModelShape &model = context.model;
  std::array<double, layerKinds> times{};
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!programs.present[kind])
      continue;
    const LayerProgram &program = programs.programs[kind];
    bool isLayer = kind != int(LayerKind::Embedding) && kind != int(LayerKind::Head);
    Seconds time = program.forward() + program.backward() + program.weightGradient();
    if (isLayer && context.layout.recompute == Recompute::Full)
      time += program.recomputeFull();
    else
      time += program.recomputePartial(context.layout.recompute == Recompute::Selective);
    times[kind] = time.value;
  }
  std::vector<double> ends(1, 0);
  for (int64_t layer = 0; layer < model.layers; ++layer)
    ends.push_back(ends.back() + times[int(layerKind(model, layer))]);
  double head = times[int(LayerKind::Head)];
  double predicted = double(model.predictionLayers) * (times[int(layerKind(model, model.layers - 1))] + head);
  return BalancedCut(ends, times[int(LayerKind::Embedding)], head + predicted, chunks).run();
}

std::vector<int64_t> mlir::ppc::cutLayers(const PricingContext &context, const LayerPrograms &programs) {
  const ParallelLayout &layout = context.layout;
  int64_t chunks = layout.pp * layout.vp, layers = context.model.layers;
  if (!layout.stageLayers.empty())
    return {layout.stageLayers.begin(), layout.stageLayers.end()};
  StageSplit split = context.stack.stageSplit;
  // What does not divide, recipes lay out by hand so that stages take equally long.
  if (split == StageSplit::Layers && layers % chunks && layers >= chunks)
    split = StageSplit::Balanced;
  switch (split) {
  case StageSplit::Modules: return cutUniformly(layers, 1, 2, chunks);
  case StageSplit::EmbeddingAsLayer: return cutUniformly(layers, 1, 1, chunks);
  case StageSplit::Balanced:
    if (chunks > layers) // embedding and head on their own
      return cutUniformly(layers, 1, 1, chunks);
    if (chunks > 1)
      return cutBalanced(context, programs, chunks);
    break;
  case StageSplit::Layers: break;
  }
  return cutUniformly(layers, 0, 0, chunks);
}
