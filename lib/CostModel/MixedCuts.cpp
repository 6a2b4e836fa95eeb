// Which layers each virtual stage holds where stages differ in speed.
#include "ppc/CostModel/MixedStep.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <memory>

using namespace mlir::ppc;

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
    bool again = layout.recompute == Recompute::Full &&
                 (layout.stageRecomputedLayers.empty() || layout.stageRecomputedLayers[chunk] > 0);
    auto same = llvm::find_if(known, [&](const auto &other) { return other->prices == &own && other->again == again; });
    if (same == known.end()) {
      same = known.insert(known.end(), std::make_unique<StageTimes>(StageTimes{&own, again, {}, {}}));
      StageTimes &times = **same;
      for (int kind = 0; kind < layerKinds; ++kind)
        if (own.present[kind])
          times.kinds[kind] =
              timeOf(own(LayerKind(kind), again && kind != int(LayerKind::Embedding) && kind != int(LayerKind::Head)));
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
                      double(model.predictionLayers) *
                          (kinds[int(layerKind(model, model.layers - 1))] + kinds[int(LayerKind::Head)]);
  }
  if (alike && most.empty())
    return cutLayers(first, programsOf(0));
  return cutByTimes(ends, extra, most);
}
