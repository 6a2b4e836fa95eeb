#include "ArenaMemory.h"
#include "CompiledState.h"
#include "SequenceExchange.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir::ppc;

namespace {
/// Sizes of one micro-batch on a rank. Bytes.
struct ArenaSizes {
  explicit ArenaSizes(const PricingContext &context)
      : model(context.model), layout(context.layout), narrow(2 * context.activationScale()),
        tokens(double(layout.microBatch) * double(context.job.sequence) / double(layout.cp)),
        streamTokens(double(layout.microBatch) * largestShare(context.job.sequence / layout.cp, sequenceParts(layout))),
        stream(streamTokens * double(model.hidden / layout.tpRows)),
        whole(tokens * double(model.hidden / layout.tpRows)) {}

  const ModelShape &model;
  const ParallelLayout &layout;
  double narrow;               // an element that products read
  double wide = 4;             // of the residual stream, of sums and of logits
  double tokens, streamTokens; // of which the latter are this rank's block where the sequence is cut, padded
  double stream, whole;        // elements of the residual stream, of these tokens

  /// Slots of this rank's experts, and how wide these are.
  double expertRows() const { return tokens * double(layout.expertRanks()) * double(model.moe.experts / layout.ep); }
  double expertWidth() const { return layout.ep > 1 ? double(model.moe.ffn) : largestShare(model.moe.ffn, layout.tp); }

  /// What backward keeps of a norm's weight where a constant is added to it.
  double normWeight() const { return model.offsetNorms ? wide * double(model.hidden) : 0; }

  /// Gradients that layers pass to each other: along the cut sequence in f32 also gathered already, since nothing is
  /// rounded before.
  double passed() const { return wide * stream + (cutsSequence(layout) && narrow == wide ? wide * whole : 0); }
};
} // namespace

/// Attention's output and the logarithms of its sums, which Recompute::Selective computes again, are on an op of its
/// own.
static void setSaved(LayerProgram &program, double bytes, double attentionBytes) {
  for (LayerOp &op : program.ops)
    op.saved = Bytes(0);
  program.ops.front().saved = Bytes(bytes);
  for (LayerOp &op : program.ops)
    if (op.attentionCore) {
      op.saved = Bytes(attentionBytes);
      return;
    }
  program.ops.front().saved += Bytes(attentionBytes);
}

void mlir::ppc::setEmbeddingArenaBytes(const PricingContext &context, LayerProgram &program) {
  ArenaSizes sizes(context);
  // Ids, and what a norm behind the embedding reads.
  double norm = sizes.model.embeddingNorm ? sizes.wide * sizes.stream + sizes.normWeight() : 0;
  setSaved(program, 4 * sizes.tokens + norm, 0);
  // The gradient that comes from the first layer, and gathered where it is cut along the sequence.
  program.backwardWorkspace = Bytes(sizes.wide * (sizes.stream + (cutsSequence(sizes.layout) ? sizes.whole : 0)));
  program.f32Parameters = program.parameters;
}

void mlir::ppc::setHeadArenaBytes(const PricingContext &context, LayerProgram &program) {
  ArenaSizes sizes(context);
  double logits = sizes.tokens * largestShare(sizes.model.vocab, sizes.layout.tensorColumns());
  // The residual stream, the norm's result, logits, targets and the logarithms of the sums.
  setSaved(program,
           (sizes.wide + sizes.narrow) * sizes.stream + sizes.normWeight() + sizes.wide * logits + 8 * sizes.tokens, 0);
  // Gradients of the logits, of the norm's result, and of the stream.
  double scratch = sizes.narrow * logits + sizes.wide * sizes.whole + sizes.passed();
  if (cutsSequence(sizes.layout)) // the norm's result gathered again; its gradient's block
    scratch += sizes.narrow * sizes.whole + sizes.wide * sizes.stream;
  program.backwardWorkspace = Bytes(scratch);
  program.f32Parameters = double(sizes.model.hidden);
}

/// Experts have places for every token each, and the router reads f32. `values`: that a feed-forward keeps of its
/// width.
static double expertBytes(const ArenaSizes &sizes, double values) {
  const ModelShape &model = sizes.model;
  double rows = sizes.expertRows(), hidden = double(model.hidden);
  double bytes = rows * (sizes.wide * hidden + sizes.narrow * hidden + sizes.narrow * values * sizes.expertWidth());
  // Scores; of each choice its expert, its weight, and what weights were before their sum divides them.
  int64_t ofChoices = 2 + model.moe.normalizesTopK + model.moe.scoreBias;
  bool isWhole = model.moe.topK == 1 && model.moe.normalizesTopK; // as of TransformerLayer::enterExperts
  bytes += sizes.streamTokens * 4 * double(model.moe.experts + model.moe.topK);
  bytes += (isWhole ? sizes.tokens : sizes.streamTokens) * 4 * double((ofChoices - 1) * model.moe.topK);
  bool sharesRounded = model.moe.sharedFfn && sizes.narrow < sizes.wide;
  bytes += sizes.stream * (sharesRounded ? sizes.wide : sizes.wide - sizes.narrow); // of the norm's result
  if (model.moe.sharedFfn)
    bytes += sizes.narrow * values * sizes.tokens * largestShare(model.moe.sharedFfn, sizes.layout.tp);
  if (model.moe.sharedGate) // what it scales, the gate for each element, and for each token
    bytes += 2 * sizes.wide * sizes.stream + sizes.wide * sizes.tokens;
  return bytes;
}

/// Of the bottlenecks what their norms read and give.
static double latentBytes(const ArenaSizes &sizes) {
  const LatentAttention &latent = sizes.model.latent;
  return sizes.streamTokens * (sizes.wide + sizes.narrow) * double(latent.queryRank + latent.keyValueRank);
}

/// What the norms of queries and keys read, of so many elements on a rank. Biases fill the places of heads that a rank
/// has too many: the weights' gradients read these with zeros there, the gradients of the inputs as they are.
static double queryKeyNormBytes(const ArenaSizes &sizes, HeadCut cut, double queries, double keys) {
  const ModelShape &model = sizes.model;
  bool ofBlock = cutsSequence(sizes.layout) && cut.group > 1 && cut.heads == 1; // keys, of its part of the sequence
  double read = queries + (ofBlock ? keys / sizes.tokens * sizes.streamTokens : keys);
  if (!model.attentionBias)
    return sizes.wide * read;
  bool padsHeads = model.kvHeads % cut.heads, padsGroups = model.heads / model.kvHeads % cut.group;
  return sizes.wide * (read + (padsHeads || padsGroups ? queries : 0) + (padsHeads ? keys : 0));
}

void mlir::ppc::setArenaBytes(const PricingContext &context, int64_t layer, LayerProgram &program) {
  ArenaSizes sizes(context);
  const ModelShape &model = sizes.model;
  const ParallelLayout &layout = sizes.layout;
  bool cut = cutsSequence(layout);
  double wide = sizes.wide, narrow = sizes.narrow, tokens = sizes.tokens;
  double heads = largestShare(model.heads, layout.tensorColumns()),
         kvHeads = largestShare(model.kvHeads, layout.tensorColumns());
  if (!model.latent) { // padded
    HeadCut parts = compiledHeads(context);
    kvHeads = largestShare(model.kvHeads, parts.heads);
    heads = kvHeads * largestShare(model.heads / model.kvHeads, parts.group);
  }
  double queries = tokens * heads * double(model.queryHeadDim()),
         keys = tokens * kvHeads * double(model.queryHeadDim());
  double values = tokens * kvHeads * double(model.valueHeadDim()),
         outputs = tokens * heads * double(model.valueHeadDim());
  // Input of the layer, result of its norm; queries, keys and values as attention reads them.
  double kept = (wide + narrow) * sizes.stream + narrow * (queries + keys + values);
  if (model.queryKeyNorm)
    kept += queryKeyNormBytes(sizes, compiledHeads(context), queries, keys);
  if (model.latent)
    kept += latentBytes(sizes);
  if (cut && !model.latent && compiledHeads(context).group > 1 && compiledHeads(context).heads == 1) {
    // Its block of keys and values; all of them are gathered again, but for attention that is computed again.
    kept += narrow * sizes.streamTokens * kvHeads * double(model.queryHeadDim() + model.valueHeadDim());
    if (layout.recompute != Recompute::Selective)
      kept -= narrow * (keys + values);
  }
  kept += (model.parallelResidual ? 1 : 2) * sizes.normWeight();
  double core = narrow * outputs + wide * tokens * heads;
  bool exchanges = layout.cp > 1 && layout.contextKind == ContextKind::Ulysses;
  if (exchanges) // attention's output cut by heads, and by sequence for the product behind
    core += narrow * outputs;
  // The gradient of what attention was added to, those of the inputs of three products before they are one, and of two
  // of queries, keys and values.
  double scratch = wide * (sizes.stream + 3 * sizes.whole) + 2 * narrow * queries;
  if (cut) // the gradient and the norm's result gathered, the sum's block
    scratch += 2 * narrow * sizes.whole + wide * sizes.stream;
  if (layout.tpRows > 1) { // products read the gathered result of a norm; that has whole features, and its gradients
    kept += narrow < wide ? 0 : 2 * narrow * sizes.whole;
    scratch += 3 * wide * sizes.stream * double(layout.tpRows);
  }
  // What attention is added to, and the result of the next norm.
  kept += ((model.parallelResidual ? 0 : wide) + narrow) * sizes.stream;
  // Gate and up-projection, and what the down-projection reads: the activation is computed again on the way; or before
  // and behind it.
  double parts = model.gated ? 2 : 1, innerValues = model.gated ? 3 : 2;
  if (model.hasExperts(layer)) {
    kept += expertBytes(sizes, innerValues);
    double rows = sizes.expertRows(), inner = rows * sizes.expertWidth(), own = rows * double(model.hidden);
    scratch = std::max({scratch, narrow * (2 * parts * inner + own) + wide * sizes.whole,
                        2 * (narrow * inner + wide * own) + wide * sizes.whole});
  } else {
    double inner = tokens * largestShare(model.ffn, layout.tensorColumns()),
           own = parts * (narrow * inner + wide * sizes.whole);
    kept += narrow * inner * innerValues;
    if (narrow < wide) // the gradient rounded
      own += narrow * sizes.whole;
    if (cut) // the norm's result gathered
      own += narrow * sizes.whole;
    scratch = std::max(scratch, own);
  }
  double blocks = exchangesKeys(context) ? 1 : double(layout.cp);
  if (layout.cp > 1) // keys and values of these blocks, their gradients, and one of these once more in the ranks' order
    scratch = std::max(scratch, wide * sizes.stream + narrow * (queries + outputs) +
                                    narrow * blocks * (2 * (keys + values) + std::max(keys, values)));
  program.f32Parameters = std::max(0.0, program.parameters + program.expertParameters - program.roundedParameters);
  program.input = Bytes(wide * sizes.stream);
  setSaved(program, kept, core);
  // And what comes from the layer behind and goes to the one before.
  program.backwardWorkspace = Bytes(scratch + 2 * sizes.passed());
}

std::pair<Bytes, Bytes> mlir::ppc::arenaMessages(const PricingContext &context) {
  ArenaSizes sizes(context);
  return {Bytes(sizes.wide * sizes.stream), Bytes(sizes.wide * sizes.stream)};
}

Bytes mlir::ppc::stayingBytes(const PricingContext &context, size_t stage, size_t stageCount) {
  auto [forward, backward] = arenaMessages(context);
  double input = 4 * double(context.layout.microBatch) * double(context.job.sequence);
  bool isFirst = stage == 0, isLast = stage + 1 == stageCount;
  return (isLast ? Bytes(input) : forward + backward) + (isFirst ? Bytes(input) : forward + backward);
}

UnlikeBytes mlir::ppc::unlikeBytes(const PricingContext &context, const ChunkCost &chunk) {
  ArenaSizes sizes(context);
  auto numberOf = [&](const std::array<int64_t, layerKinds> &counts, LayerKind first, LayerKind last) {
    return double(std::accumulate(&counts[int(first)], &counts[int(last)] + 1, int64_t(0)));
  };
  double dense = numberOf(chunk.count, LayerKind::Dense, LayerKind::DenseIndex) -
                 numberOf(chunk.recomputed, LayerKind::Dense, LayerKind::DenseIndex);
  double heads = numberOf(chunk.count, LayerKind::Head, LayerKind::Head),
         layers = numberOf(chunk.count, LayerKind::Dense, LayerKind::ExpertIndex),
         again = numberOf(chunk.recomputed, LayerKind::Dense, LayerKind::ExpertIndex);
  bool isFirst = chunk.count[int(LayerKind::Embedding)] > 0;
  double logits = heads * sizes.tokens * largestShare(sizes.model.vocab, sizes.layout.tensorColumns());
  UnlikeBytes result;
  result.feedForward = Bytes(dense * sizes.narrow * sizes.tokens *
                             largestShare(sizes.model.ffn, sizes.layout.tensorColumns()) * (sizes.model.gated ? 3 : 2));
  result.logits = Bytes(sizes.wide * logits + heads * 4 * sizes.tokens);
  result.logitGradients = Bytes(sizes.narrow * logits);
  // Experts read the norm's result as it is; the first layer of other chunks what has been received.
  double ofExperts = (sizes.narrow < sizes.wide) + 2 * sizes.model.moe.sharedGate;
  double values = heads + ofExperts * (layers - again - dense) +
                  (sizes.model.parallelResidual ? 1 : 2) * (layers - again) + again +
                  (isFirst ? double(sizes.model.embeddingNorm) : -1);
  result.stream = Bytes(sizes.wide * sizes.stream * std::max(0.0, values));
  return result;
}

static bool holds(llvm::ArrayRef<ChunkCost> chunks, llvm::ArrayRef<PipelineChunk> held, LayerKind kind) {
  return llvm::any_of(held, [&](const PipelineChunk &chunk) { return chunks[chunk.stage].count[int(kind)] > 0; });
}

TiedTable mlir::ppc::tiedTable(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                               llvm::ArrayRef<PipelineChunk> held) {
  if (!context.stack.arena || !context.model.tiedEmbeddings || !holds(chunks, held, LayerKind::Head))
    return {};
  double table = context.paddedVocabulary() / double(context.layout.tp) * double(context.model.hidden);
  return holds(chunks, held, LayerKind::Embedding) ? TiedTable{0, table} : TiedTable{table, 0};
}

Bytes mlir::ppc::updateScratch(const PricingContext &context, llvm::ArrayRef<ChunkCost> chunks,
                               llvm::ArrayRef<PipelineChunk> held) {
  const ParallelLayout &layout = context.layout;
  if (layout.zero < 1 || layout.dataRanks() == 1)
    return Bytes(0);
  bool holdsTable = holds(chunks, held, LayerKind::Embedding) || holds(chunks, held, LayerKind::Head);
  double elements = holdsTable ? context.paddedVocabulary() / double(layout.tp) * double(context.model.hidden) : 0;
  return Bytes(4 * elements / double(layout.shardGroup ? layout.shardGroup : layout.dataRanks()));
}
