// Which layers each virtual stage holds: one cut for stages that are equally fast and for those that are not.
#include "ppc/CostModel/MixedStep.h"
#include "ppc/CostModel/StageCost.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir::ppc;

/// Layers per chunk where the stack cuts by counting modules: `units` of which `before` are ahead of the first layer
/// and `after` behind the last.
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

/// Equal counts for the stages of each of `vp` chunks; what does not divide goes to the last stages, one layer each.
static std::vector<int64_t> cutLater(int64_t layers, int64_t pp, int64_t vp) {
  std::vector<int64_t> counts;
  int64_t each = layers / vp;
  for (int64_t chunk = 0; chunk < vp; ++chunk)
    for (int64_t stage = 0; stage < pp; ++stage)
      counts.push_back(each / pp + (stage >= pp - each % pp));
  return counts;
}

/// Every chunk as many layers as the fullest one needs, the last ones what is left, at least one each.
static std::vector<int64_t> cutFull(int64_t layers, int64_t chunks) {
  std::vector<int64_t> counts(chunks);
  int64_t each = (layers + chunks - 1) / chunks;
  for (int64_t i = 0; i < chunks; ++i) {
    counts[i] = std::min(each, layers - (chunks - 1 - i));
    layers -= counts[i];
  }
  return counts;
}

namespace {
/// The contiguous cut with the least slowest chunk, each at least one layer. What that leaves free is shared out among
/// the early chunks, which keep most micro-batches: they are a layer shorter each. Where that does not go, the first
/// ones take as few layers as they may.
class LayerCut {
public:
  LayerCut(llvm::ArrayRef<llvm::ArrayRef<double>> ends, llvm::ArrayRef<double> extra, llvm::ArrayRef<int64_t> most)
      : ends(ends), extra(extra), most(most), chunks(int64_t(ends.size())), layers(int64_t(ends.front().size()) - 1) {}

  std::vector<int64_t> run() {
    double low = ends.front().back(), high = std::numeric_limits<double>::infinity(), next = 0;
    for (llvm::ArrayRef<double> own : ends)
      low = std::min(low, own.back());
    low = (low + std::accumulate(extra.begin(), extra.end(), 0.0)) / double(chunks);
    std::vector<int64_t> cut, best;
    while (low < high) {
      if (fill(low * (1 + 1e-12), cut, next)) { // nothing less will do
        high = slowest(best = cut);
        break;
      }
      low = next;
      if (low == std::numeric_limits<double>::infinity())
        break;
      if (fill(high < std::numeric_limits<double>::infinity() ? 0.5 * (low + high) : 1.1 * low, cut, next))
        high = slowest(best = cut); // what it really needs is less
      else
        low = next;
    }
    if (best.empty())
      return {};
    std::vector<int64_t> counts;
    for (bool evenly : {true, false}) {
      counts = lighten(high * (1 + 1e-12), evenly);
      std::vector<int64_t> positions(1, 0);
      for (int64_t count : counts)
        positions.push_back(positions.back() + count);
      if (counts.front() <= mostOf(0) && slowest(positions) <= high * (1 + 1e-9))
        return counts;
    }
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      counts[chunk] = best[chunk + 1] - best[chunk];
    return counts;
  }

private:
  int64_t mostOf(int64_t chunk) const { return most.empty() ? layers : most[chunk]; }

  double slowest(llvm::ArrayRef<int64_t> cut) const {
    double time = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      time = std::max(time, ends[chunk][cut[chunk + 1]] - ends[chunk][cut[chunk]] + extra[chunk]);
    return time;
  }

  /// The last position at which the chunk's first layers take at most `target`, of those from `begin` on.
  int64_t lastWithin(llvm::ArrayRef<double> own, double target, int64_t begin) const {
    if (target < own[begin])
      return begin - 1;
    // Layers that are alike are hit at once.
    double mean = own.back() / double(layers);
    int64_t at =
        begin + int64_t(std::min(double(layers - begin), mean > 0 ? (target - own[begin]) / mean : double(layers)));
    while (at < layers && own[at + 1] <= target)
      ++at;
    while (own[at] > target)
      --at;
    return at;
  }

  /// Chunks as long as they may be, from the front: positions of the cuts. False: too long a chunk is needed; `next`:
  /// the least limit with which chunks would be other ones.
  bool fill(double limit, std::vector<int64_t> &cut, double &next) const {
    cut.assign(1, 0);
    next = std::numeric_limits<double>::infinity();
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      llvm::ArrayRef<double> own = ends[chunk];
      int64_t begin = cut.back(), last = std::min(layers - (chunks - 1 - chunk), begin + mostOf(chunk));
      int64_t end = std::min(last, lastWithin(own, own[begin] + limit - extra[chunk], begin));
      if (end < last)
        next = std::min(next, own[std::max(end, begin) + 1] - own[begin] + extra[chunk]);
      if (end <= begin)
        return false;
      cut.push_back(end);
    }
    return cut.back() == layers;
  }

  /// From the back: chunks as long as they may be, or `evenly`, no longer than an equal part of what is left and the
  /// layer that it ends in.
  std::vector<int64_t> lighten(double limit, bool evenly) const {
    std::vector<int64_t> counts(chunks);
    int64_t end = layers;
    double left = std::accumulate(extra.begin(), extra.end(), 0.0); // beside layers
    for (int64_t chunk = chunks - 1; chunk > 0; --chunk) {
      llvm::ArrayRef<double> own = ends[chunk];
      double longest = limit;
      if (evenly && end > 0) {
        // The part, up to a whole number of layers as long as those before the end are on average.
        double part = (own[end] + left) / double(chunk + 1) - extra[chunk], layer = own[end] / double(end);
        longest = std::min(limit, extra[chunk] + std::ceil(part / layer * (1 - 1e-9)) * layer * (1 + 1e-9));
      }
      left -= extra[chunk];
      double target = own[end] - longest + extra[chunk];
      int64_t begin =
          std::max<int64_t>(0, end - int64_t((own[end] - target) / std::max(own.back() / double(layers), 1e-300)));
      begin = std::clamp<int64_t>(begin, 0, end - 1);
      while (begin > 0 && own[begin - 1] >= target)
        --begin;
      while (begin < end && own[begin] < target)
        ++begin;
      begin = std::max({begin, chunk, end - mostOf(chunk)});
      begin = std::min(begin, end - 1);
      counts[chunk] = end - begin;
      end = begin;
    }
    counts[0] = end;
    return counts;
  }

  llvm::ArrayRef<llvm::ArrayRef<double>> ends;
  llvm::ArrayRef<double> extra;
  llvm::ArrayRef<int64_t> most;
  int64_t chunks, layers;
};
} // namespace

std::vector<int64_t> mlir::ppc::cutByTimes(llvm::ArrayRef<llvm::ArrayRef<double>> ends, llvm::ArrayRef<double> extra,
                                           llvm::ArrayRef<int64_t> most) {
  return LayerCut(ends, extra, most).run();
}

std::array<double, layerKinds> mlir::ppc::cutTimes(const LayerTotals &layers, Recompute recompute) {
  std::array<double, layerKinds> times{};
  for (int kind = 0; kind < layerKinds; ++kind) {
    if (!layers.present[kind])
      continue;
    const LayerSums &sums = layers.sums[kind];
    bool isLayer = kind != int(LayerKind::Embedding) && kind != int(LayerKind::Head);
    Seconds time = sums.forward + sums.backward + sums.weightGradient;
    if (isLayer && recompute == Recompute::Full)
      time += sums.recomputeFull;
    else
      time += recompute == Recompute::Selective ? sums.recomputeSelective : sums.recomputeModules;
    times[kind] = time.value;
  }
  return times;
}

static std::vector<int64_t> cutBalanced(const PricingContext &context, const LayerTotals &totals, int64_t chunks) {
  const ModelShape &model = context.model;
  std::array<double, layerKinds> times = cutTimes(totals, context.layout.recompute);
  std::vector<double> ends(model.layers + 1, 0);
  bool alike = model.hasAlikeLayers();
  for (int64_t layer = 0; layer < model.layers; ++layer)
    ends[layer + 1] = ends[layer] + times[int(layerKind(model, alike ? 0 : layer))];
  double head = times[int(LayerKind::Head)];
  double predicted = double(model.predictionLayers) * (times[int(layerKind(model, model.layers - 1))] + head);
  std::vector<double> extra(chunks, 0);
  extra.front() += times[int(LayerKind::Embedding)];
  extra.back() += head + predicted;
  return cutByTimes(std::vector<llvm::ArrayRef<double>>(chunks, ends), extra, {});
}

std::vector<int64_t> mlir::ppc::cutLayers(const PricingContext &context, const LayerTotals &totals) {
  const ParallelLayout &layout = context.layout;
  int64_t chunks = layout.pp * layout.vp, layers = context.model.layers;
  if (!layout.stageLayers.empty())
    return {layout.stageLayers.begin(), layout.stageLayers.end()};
  StageSplit split = context.stack.stageSplit;
  // What does not divide, recipes lay out by hand so that stages take equally long.
  if (split == StageSplit::Layers && layers % chunks && layers >= chunks)
    split = StageSplit::Balanced;
  switch (split) {
  case StageSplit::Modules:
    return cutUniformly(layers, 1, 2, chunks);
  case StageSplit::EmbeddingAsLayer:
    return cutUniformly(layers, 1, 1, chunks);
  case StageSplit::Balanced:
    if (chunks > layers) // embedding and head on their own
      return cutUniformly(layers, 1, 1, chunks);
    if (chunks > 1)
      return cutBalanced(context, totals, chunks);
    break;
  case StageSplit::FullLayers:
    if (layers >= chunks)
      return cutFull(layers, chunks);
    break;
  case StageSplit::LaterLayers:
    if (layers % layout.vp == 0)
      return cutLater(layers, layout.pp, layout.vp);
    break;
  case StageSplit::Layers:
    break;
  }
  return cutUniformly(layers, 0, 0, chunks);
}
