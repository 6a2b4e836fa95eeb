#include "ppc/Model/ModelShape.h"

namespace mlir::ppc {

static int64_t normParameters(const ModelShape &model) { return model.hidden * (model.normBias ? 2 : 1); }

static int64_t latentAttentionParameters(const ModelShape &model) {
  const LatentAttention &latent = model.latent;
  int64_t queries = model.heads * model.queryHeadDim();
  int64_t count = latent.queryRank ? model.hidden * latent.queryRank + latent.queryRank + latent.queryRank * queries
                                   : model.hidden * queries;
  count += model.hidden * (latent.keyValueRank + latent.ropeHeadDim) + latent.keyValueRank;
  count += latent.keyValueRank * model.heads * (latent.nopeHeadDim + latent.valueHeadDim);
  count += model.heads * latent.valueHeadDim * model.hidden;
  if (model.attentionBias)
    count += (latent.queryRank ? latent.queryRank : 0) + latent.keyValueRank + latent.ropeHeadDim;
  return count + (model.outputBias ? model.hidden : 0);
}

static int64_t attentionParameters(const ModelShape &model) {
  if (model.latent)
    return latentAttentionParameters(model);
  int64_t projected = (model.heads + 2 * model.kvHeads) * model.headDim;
  int64_t count = model.hidden * projected + model.heads * model.headDim * model.hidden;
  count += model.attentionBias ? projected : 0;
  count += model.outputBias ? model.hidden : 0;
  return count + (model.queryKeyNorm ? 2 * model.headDim : 0);
}

static int64_t feedForwardParameters(const ModelShape &model, int64_t inner, bool bias) {
  int64_t inputs = model.gated ? 2 : 1;
  return (inputs + 1) * model.hidden * inner + (bias ? inputs * inner + model.hidden : 0);
}

static void sum(ParameterCounts &counts, const ModelShape &model) {
  counts.total = counts.embedding + counts.head + counts.attention + counts.denseFfn + counts.experts +
                 counts.sharedExperts + counts.router + counts.norms;
  counts.active = counts.total;
  if (model.moe)
    counts.active -= counts.experts / model.moe.experts * (model.moe.experts - model.moe.topK);
}

static void add(ParameterCounts &counts, const ParameterCounts &layer) {
  counts.attention += layer.attention;
  counts.denseFfn += layer.denseFfn;
  counts.experts += layer.experts;
  counts.sharedExperts += layer.sharedExperts;
  counts.router += layer.router;
  counts.norms += layer.norms;
}

/// Queries of the heads, their one key with its norm, and the weight of each head.
static int64_t indexParameters(const ModelShape &model) {
  const SparseIndex &index = model.index;
  return model.latent.queryRank * index.heads * index.headDim + model.hidden * (index.headDim + index.heads) +
         2 * index.headDim;
}

static ParameterCounts layerParts(const ModelShape &model, bool hasExperts, bool hasIndex) {
  ParameterCounts counts;
  counts.attention = attentionParameters(model) + (hasIndex ? indexParameters(model) : 0);
  counts.norms = 2 * normParameters(model);
  if (hasExperts) {
    const ExpertShape &moe = model.moe;
    counts.experts = moe.experts * feedForwardParameters(model, moe.ffn, false);
    counts.router = model.hidden * moe.experts + (moe.scoreBias ? moe.experts : 0);
    if (moe.sharedFfn)
      counts.sharedExperts = feedForwardParameters(model, moe.sharedFfn, false) + (moe.sharedGate ? model.hidden : 0);
  } else {
    counts.denseFfn = feedForwardParameters(model, model.ffn, model.ffnBias);
  }
  sum(counts, model);
  return counts;
}

ParameterCounts countLayerParameters(const ModelShape &model, int64_t layer) {
  return layerParts(model, model.hasExperts(layer), model.hasIndex(layer));
}

ParameterCounts countParameters(const ModelShape &model) {
  ParameterCounts counts;
  counts.embedding = model.vocab * model.hidden;
  if (model.position == PositionKind::Learned)
    counts.embedding += model.maxPositions * model.hidden;
  if (model.embeddingNorm)
    counts.embedding += normParameters(model);
  counts.head = model.tiedEmbeddings ? 0 : model.vocab * model.hidden;
  for (int64_t layer = 0; layer < model.layers; ++layer)
    add(counts, countLayerParameters(model, layer));
  counts.norms += normParameters(model);
  sum(counts, model);
  return counts;
}

ParameterCounts countPredictionLayer(const ModelShape &model) {
  ParameterCounts counts = countLayerParameters(model, model.layers - 1);
  counts.head = 2 * model.hidden * model.hidden;
  counts.norms += 3 * normParameters(model);
  sum(counts, model);
  return counts;
}

} // namespace mlir::ppc
