#include "ppc/Model/ModelShape.h"

#include <algorithm>

namespace mlir::ppc {

/// Mean number of keys per query, at most `window`: the first `window` queries see 1, 2, ..., the others `window`.
double averageKeys(const ModelShape &model, int64_t layer, int64_t sequence) {
  double length = double(sequence);
  double window = model.hasWindow(layer) ? double(std::min(model.slidingWindow, sequence)) : length;
  return (window * (window + 1) / 2 + (length - window) * window) / length;
}

/// Number of weights in the matmuls of one token in one layer.
static double multipliedWeights(const ModelShape &model, int64_t layer) {
  double count = 0;
  if (const LatentAttention &latent = model.latent) {
    double queries = double(model.heads) * model.queryHeadDim();
    count += latent.queryRank ? double(latent.queryRank) * (model.hidden + queries) : model.hidden * queries;
    count += double(model.hidden) * (latent.keyValueRank + latent.ropeHeadDim);
    count += double(latent.keyValueRank) * model.heads * (latent.nopeHeadDim + latent.valueHeadDim);
    count += double(model.heads) * latent.valueHeadDim * model.hidden;
  } else {
    count += 2.0 * double(model.heads + model.kvHeads) * model.headDim * model.hidden;
  }
  double matrices = model.gated ? 3 : 2;
  if (!model.hasExperts(layer))
    return count + matrices * model.hidden * model.ffn;
  const ExpertShape &moe = model.moe;
  count += matrices * model.hidden * (double(moe.topK) * moe.ffn + moe.sharedFfn);
  count += double(model.hidden) * moe.experts;
  return count + (moe.sharedGate && moe.sharedFfn ? model.hidden : 0);
}

TokenFlops forwardFlopsPerToken(const ModelShape &model, int64_t sequence, bool causal) {
  TokenFlops flops;
  double widths = double(model.heads) * double(model.queryHeadDim() + model.valueHeadDim());
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    flops.layerProducts += 2 * multipliedWeights(model, layer);
    flops.attention += 2 * widths * (causal ? averageKeys(model, layer, sequence) : double(sequence));
  }
  flops.head = 2.0 * model.hidden * model.vocab;
  return flops;
}

/// Attention over all keys of a layer's window.
static double attentionOverAllKeys(const ModelShape &model, int64_t sequence) {
  double widths = double(model.heads) * double(model.queryHeadDim() + model.valueHeadDim()), keys = 0;
  for (int64_t layer = 0; layer < model.layers; ++layer)
    keys += double(model.hasWindow(layer) ? std::min(model.slidingWindow, sequence) : sequence);
  return 6 * widths * keys;
}

static double countAll(const ModelShape &model, int64_t sequence) {
  return 6.0 * double(countParameters(model).active) + attentionOverAllKeys(model, sequence);
}

bool countsAllKeys(const ModelShape &model, int64_t sequence) {
  constexpr double most = 1.2;
  return countAll(model, sequence) <= most * 3 * forwardFlopsPerToken(model, sequence, /*causal=*/true).total();
}

double modelFlopsPerToken(const ModelShape &model, int64_t sequence) {
  return countsAllKeys(model, sequence) ? countAll(model, sequence)
                                        : 3 * forwardFlopsPerToken(model, sequence, /*causal=*/true).total();
}

double attentionFlopsPerToken(const ModelShape &model, int64_t sequence) {
  return countsAllKeys(model, sequence) ? attentionOverAllKeys(model, sequence)
                                        : 3 * forwardFlopsPerToken(model, sequence, /*causal=*/true).attention;
}

} // namespace mlir::ppc
