// Which layers each virtual stage holds where stages differ in speed.
#include "ppc/CostModel/MixedStep.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <memory>

using namespace mlir::ppc;

namespace {
class MixedCut {
public:
  MixedCut(llvm::ArrayRef<llvm::ArrayRef<double>> ends, llvm::ArrayRef<double> extra, llvm::ArrayRef<int64_t> most)
      : ends(ends), extra(extra), most(most), chunks(int64_t(ends.size())), layers(int64_t(ends.front().size()) - 1) {}

  std::vector<int64_t> run() {
    std::vector<int64_t> cut, best;
    double low = 0, high = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      high = std::max(high, ends[chunk].back() + extra[chunk]);
    if (!fill(high, cut))
      return {};
    high = slowest(best = cut);
    // Limits differ by more than rounding where the cuts that they allow do.
    while (low < high * (1 - 1e-13)) {
      double middle = 0.5 * (low + high);
      if (fill(middle, cut))
        high = slowest(best = cut);
      else
        low = middle;
    }
    std::vector<int64_t> light = lighten(high * (1 + 1e-12)), positions(1, 0);
    for (int64_t count : light)
      positions.push_back(positions.back() + count);
    if (slowest(positions) <= high * (1 + 1e-9))
      return light;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      light[chunk] = best[chunk + 1] - best[chunk];
    return light;
  }

private:
  double slowest(llvm::ArrayRef<int64_t> cut) const {
    double time = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      time = std::max(time, ends[chunk][cut[chunk + 1]] - ends[chunk][cut[chunk]] + extra[chunk]);
    return time;
  }
  int64_t mostOf(int64_t chunk) const { return most.empty() ? layers : most[chunk]; }

  /// Chunks as long as they may be, from the front: positions of the cuts. False: a chunk would be longer.
  bool fill(double limit, std::vector<int64_t> &cut) const {
    cut.assign(1, 0);
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      int64_t begin = cut.back(), last = std::min(layers - (chunks - 1 - chunk), begin + mostOf(chunk));
      double target = ends[chunk][begin] + limit - extra[chunk];
      int64_t end = int64_t(llvm::upper_bound(ends[chunk], target) - ends[chunk].begin()) - 1;
      end = std::min(end, last);
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
      double target = ends[chunk][end] - limit + extra[chunk];
      int64_t begin = int64_t(llvm::lower_bound(ends[chunk], target) - ends[chunk].begin());
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
  return MixedCut(ends, extra, most).run();
}

static double timeOf(const LayerPrice &price) { return (price.forward + price.backward + price.weightGradient).value; }

std::vector<int64_t> MixedPricing::cut(llvm::ArrayRef<int64_t> most) const {
  if (!layout.stageLayers.empty())
    return {layout.stageLayers.begin(), layout.stageLayers.end()};
  const PricingContext &first = contextOf(0);
  const ModelShape &model = first.model;
  size_t chunks = deviceOf.size();
  if (int64_t(chunks) > model.layers) // embedding and head on their own
    return most.empty() ? cutLayers(first, programsOf(0)) : std::vector<int64_t>();
  // Stages on devices of one kind that recompute alike share their times.
  struct StageTimes {
    const LayerPrices *prices;
    bool again;
    std::array<double, layerKinds> kinds{};
    std::vector<double> ends;
  };
  std::vector<std::unique_ptr<StageTimes>> known;
  std::vector<llvm::ArrayRef<double>> ends;
  std::vector<double> extra(chunks, 0);
  bool alike = true;
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    const LayerPrices &own = pricesOfChunk(chunk);
    bool again = layout.recompute == Recompute::Full && (layout.stageRecomputedLayers.empty() || layout.stageRecomputedLayers[chunk] > 0);
    auto same = llvm::find_if(known, [&](const auto &other) { return other->prices == &own && other->again == again; });
    if (same == known.end()) {
      same = known.insert(known.end(), std::make_unique<StageTimes>(StageTimes{&own, again, {}, {}}));
      StageTimes &times = **same;
      for (int kind = 0; kind < layerKinds; ++kind)
        if (own.present[kind])
          times.kinds[kind] = timeOf(own(LayerKind(kind), again && kind != int(LayerKind::Embedding) && kind != int(LayerKind::Head)));
      times.ends.assign(size_t(model.layers) + 1, 0);
      for (int64_t layer = 0; layer < model.layers; ++layer)
        times.ends[layer + 1] = times.ends[layer] + times.kinds[int(layerKind(model, layer))];
    }
    const std::array<double, layerKinds> &kinds = (*same)->kinds;
    alike &= kinds == known.front()->kinds;
    ends.push_back((*same)->ends);
    if (chunk == 0)
      extra[chunk] += kinds[int(LayerKind::Embedding)];
    if (chunk + 1 == chunks)
      extra[chunk] += kinds[int(LayerKind::Head)] +
                      double(model.predictionLayers) * (kinds[int(layerKind(model, model.layers - 1))] + kinds[int(LayerKind::Head)]);
  }
  if (alike && most.empty())
    return cutLayers(first, programsOf(0));
  return cutByTimes(ends, extra, most);
}
