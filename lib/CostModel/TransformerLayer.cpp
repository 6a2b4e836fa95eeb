// One transformer layer on one rank. Bytes per element follow from what each kernel reads and writes in bf16 (2 bytes);
// docs/internals/CostModel.md has the table.
#include "TransformerLayer.h"
#include "ArenaMemory.h"
#include "CompiledState.h"
#include "FeatureExchange.h"

#include <algorithm>

using namespace mlir::ppc;

void TransformerLayer::norm(llvm::StringRef name, double rows, double width) {
  double elements = rows * width;
  double in = streamBytes;
  if (layout.fusedNorm || model.norm == NormKind::LayerNorm) {
    // Layer norm is one kernel in every framework; its input is kept. Fused or not differs in the kernels of backward.
    int backwardKernels = layout.fusedNorm ? 1 : 2;
    build.stream(name, elements * (in + 2), elements * (layout.fusedNorm ? 2 * in + 2 : 2 * in + 6), 1, backwardKernels,
                 Bytes(elements * in));
  } else {
    // As separate kernels in f32: cast, square, mean, scale, cast, weight. Backward undoes each; f32 copies are kept.
    build.stream(name, elements * 36, elements * 52, 6, 9, Bytes(elements * 10));
  }
  build.result().ops.back().recomputed = stack.recomputeNorms;
  build.result().parameters += width;
}

void TransformerLayer::residual(llvm::StringRef name) {
  double elements = streamTokens * features;
  bool dropout = model.dropout > 0;
  double kept = double(dropout) + (stack.keepsResidualCopies ? 2 : 0);
  if (stack.fusedResidual || !dropout)
    build.stream(name, elements * (2 * streamBytes + 2 + dropout),
                 elements * (dropout ? 5 : 0) + elements * 3 * streamBytes, 1, 1 + dropout, Bytes(elements * kept));
  else
    build.stream(name, elements * (2 * streamBytes + 2 + 5 + 6), elements * (5 + 3 * streamBytes + 4), 3, 3,
                 Bytes(elements * kept));
}

LayerTransfer TransformerLayer::over(LayerTransfer::When when, TransferKind kind, int64_t bits, double elements) const {
  return {when, kind, layout.tensorColumns(), 1, bits, int64_t(elements)};
}

void TransformerLayer::enterCompiled(llvm::StringRef name, double width) {
  using When = LayerTransfer::When;
  if (cutsSequence(layout)) { // blocks of the sequence are padded
    double whole = double(sequenceParts(layout)) * streamTokens * width;
    LayerOp &op =
        build.transfers(name, {overSequence(context, When::Forward, TransferKind::AllGather, narrowBits(), whole)});
    sumIntoSequence(build, context, op, When::Backward, whole, /*behindNorm=*/true);
    if (layout.tpRows == 1 || narrowBits() == 16) // else it is kept
      build.addTransfer(op, overSequence(context, When::AgainForWeights, TransferKind::AllGather, narrowBits(), whole));
    gatherNorm(build, context, op);
  } else {
    build.transfers(name, {over(When::Backward, TransferKind::AllReduce, 32, tokens * width)});
  }
}

void TransformerLayer::leaveCompiled(llvm::StringRef name) {
  using When = LayerTransfer::When;
  if (!cutsSequence(layout)) {
    build.transfers(name, {over(When::Forward, TransferKind::AllReduce, 32, tokens * hidden)});
    return;
  }
  const double whole = double(sequenceParts(layout)) * streamTokens * features;
  LayerOp &op = build.transfers(name, {});
  sumIntoSequence(build, context, op, When::Forward, whole);
  if (gathersGradient)
    build.addTransfer(op, overSequence(context, When::Backward, TransferKind::AllGather, narrowBits(), whole));
}

void TransformerLayer::enterWithKeys(double keyWidth) {
  using When = LayerTransfer::When;
  HeadCut cut = compiledHeads(context);
  // Behind the sum of keys, what comes of queries and of values is still to be summed over those that share.
  LayerTransfer keys = over(When::Backward, TransferKind::AllReduce, 32, tokens * keyWidth);
  keys.ranks = cut.group;
  LayerTransfer inputs = over(When::Backward, TransferKind::AllReduce, 32, tokens * hidden), others = inputs;
  inputs.ranks = cut.group;
  inputs.calls = 2;
  LayerOp &op = build.transfers("attention input", {keys, inputs});
  if (cut.heads == 1)
    return;
  others.ranks = cut.heads;
  others.stride = cut.group;
  build.addTransfer(op, others);
}

void TransformerLayer::enterTensorParallel(llvm::StringRef name) {
  if (layout.tp == 1)
    return;
  if (stack.arena)
    return enterCompiled(name, features);
  Bytes bytes(tokens * hidden * streamBytes), gathered(tokens * hidden * gatheredBytes);
  if (layout.sequenceParallel)
    build.collective(name, context.tensorGroup, CollectiveKind::AllGather, gathered, CollectiveKind::ReduceScatter,
                     bytes);
  else
    build.collective(name, context.tensorGroup, CollectiveKind::AllReduce, Bytes(0), CollectiveKind::AllReduce, bytes);
  copySequence();
}

void TransformerLayer::copySequence() {
  if (layout.sequenceParallel && stack.copiesSequence)
    build.stream("sequence copy", tokens * hidden * 4, tokens * hidden * 4, 1, 1, Bytes(0));
}

void TransformerLayer::leaveTensorParallel(llvm::StringRef name) {
  if (layout.tp == 1)
    return;
  if (stack.arena)
    return leaveCompiled(name);
  copySequence();
  Bytes bytes(tokens * hidden * streamBytes), gathered(tokens * hidden * gatheredBytes);
  if (layout.sequenceParallel)
    build.collective(name, context.tensorGroup, CollectiveKind::ReduceScatter, bytes, CollectiveKind::AllGather,
                     gathered);
  else
    build.collective(name, context.tensorGroup, CollectiveKind::AllReduce, bytes, CollectiveKind::AllReduce, Bytes(0));
}

void TransformerLayer::overlapTensorParallel(size_t first) {
  auto &ops = build.result().ops;
  if (layout.tp == 1)
    return;
  if (stack.arena) { // the sum of the input's gradient beside the weight gradient (ppc-start-collectives)
    auto product =
        llvm::find_if(llvm::drop_begin(ops, first), [](const LayerOp &op) { return op.kind == OpClass::Gemm; });
    if (stack.asyncTensorBackward && !cutsSequence(layout) && layout.tpRows == 1 &&
        ops[first].kind == OpClass::Communication && product != ops.end())
      build.hide(ops[first].backward, product->weightGradient);
    return;
  }
  // The collective that enters runs beside the product behind it, the one that leaves beside the product before it.
  for (size_t i = first; i < ops.size(); ++i) {
    if (ops[i].kind != OpClass::Communication)
      continue;
    bool enters = i == first;
    LayerOp *product = nullptr;
    if (enters) {
      for (size_t j = i + 1; j < ops.size() && !product; ++j)
        product = ops[j].kind == OpClass::Gemm ? &ops[j] : nullptr;
    } else {
      for (size_t j = i; j-- > first && !product;)
        product = ops[j].kind == OpClass::Gemm ? &ops[j] : nullptr;
    }
    if (!product)
      continue;
    LayerOp &op = ops[i];
    Seconds whole = op.forward;
    if (stack.overlapTensorParallel) {
      // The product is cut into tp pieces. Its kernels leave the multiprocessors of the exchange alone from start to
      // end. Gathering starts with the rank's own piece; what the last piece scatters has nothing to hide behind.
      double kept = 1 - context.device().communicationShare, piece = enters ? 0 : 1 / tp;
      auto cut = [&](Seconds exchange, Seconds pieces, Seconds compute) {
        return std::max(pieces / kept, exchange * (1 - piece)) + exchange * piece - compute;
      };
      op.forward = cut(op.forward, product->forwardCut, product->forward);
      if (enters) // whole, beside the weight gradient
        build.hide(op.backward, product->weightGradient);
      else
        op.backward = cut(op.backward, product->backwardCut, product->backward);
    } else if (stack.asyncTensorBackward && enters) {
      build.hide(op.backward, product->weightGradient);
    }
    if (layout.sequenceParallel && enters && !stack.keepsGatheredSequence) {
      // The sequence is gathered again for the weight gradient, beside the gradient of the rows.
      Seconds again = whole;
      op.backwardLink += whole;
      if (stack.asyncTensorBackward || stack.overlapTensorParallel)
        build.hide(again, product->backward);
      op.backward += again;
      op.gatheredAgain = again;
    }
  }
}

void TransformerLayer::unfusedAttention(double heads, double keys) {
  double batch = double(layout.microBatch) * heads, queries = tokens / double(layout.microBatch);
  double scores = batch * queries * keys;
  double headDim = double(model.queryHeadDim()), valueDim = double(model.valueHeadDim());
  bool dropout = model.dropout > 0;
  double outputs = tokens * heads;
  build.stream("attention layout", outputs * headDim * 12, outputs * headDim * 12, 3, 3, Bytes(0));
  if (model.position == PositionKind::Alibi) // copied into the product's destination, which the product adds to
    build.stream("attention biases", scores * 4, 0, 1, 0, Bytes(0)).attentionCore = true;
  build.batched("attention scores", batch, queries, keys, headDim, Bytes(0)).attentionCore = true;
  // Megatron-LM's kernel takes blocks of four matrices: other numbers of them fall back to separate kernels.
  bool fused = layout.attention == AttentionKernel::FusedSoftmax && !(stack.causalSoftmax && int64_t(batch) % 4);
  LayerOp *softmax;
  if (fused)
    softmax = &build.stream("attention softmax", scores * (stack.causalSoftmax ? 3 : 5),
                            scores * (stack.causalSoftmax ? 4 : 6), 1, 1, Bytes(scores * 2));
  else { // cast, scale, mask, softmax in f32, cast: kernels that stream at the memory's full rate
    double plain = context.device().elementwiseShare;
    softmax = &build.stream("attention softmax", scores * 37 * plain, scores * 41 * plain, 5, 5, Bytes(scores * 7));
    softmax->traffic = softmax->traffic / plain;
  }
  softmax->attentionCore = true;
  // The product's destination, and gradients behind and before dropout, which the fused softmax overwrites: at most all
  // of them beside what is kept. With separate kernels scores, probabilities and gradients live at once, in f32.
  double live = fused ? 6 : 12;
  build.result().backwardWorkspace = std::max(build.result().backwardWorkspace, Bytes(scores * live));
  if (dropout)
    build.stream("attention dropout", scores * 5, scores * 5, 1, 1, Bytes(scores * 3)).attentionCore = true;
  build.batched("attention values", batch, queries, valueDim, keys, Bytes(0)).attentionCore = true;
}

void TransformerLayer::fusedAttention(double heads, double kvHeads, int64_t window) {
  AttentionShape shape;
  shape.batch = layout.microBatch;
  shape.heads = std::max<int64_t>(1, int64_t(heads + 0.5));
  shape.kvHeads = std::max<int64_t>(1, int64_t(kvHeads + 0.5));
  shape.queries = shape.keys = context.job.sequence;
  shape.headDim = model.queryHeadDim();
  shape.valueDim = model.valueHeadDim();
  shape.window = window;
  double batch = double(layout.microBatch), sequence = double(context.job.sequence);
  double pairs = window && window < context.job.sequence ? sequence * double(window) : sequence * sequence;
  LayerOp op;
  op.name = "attention";
  op.kind = OpClass::Attention;
  double share = 1.0 / double(layout.cp);
  auto add = [&](const AttentionShape &piece, double times) {
    op.forward +=
        times * attentionForwardTime(context.device(), layout.attention, context.activationPrecision(), piece);
    op.backward +=
        times * attentionBackwardTime(context.device(), layout.attention, context.activationPrecision(), piece);
  };
  if (layout.cp > 1 && layout.contextKind == ContextKind::Ring && !window) {
    // A rank holds one leading and one trailing piece of the sequence: causal among its own, then with each other
    // rank's keys half of the square, without a mask.
    shape.queries = shape.keys = std::max<int64_t>(1, context.job.sequence / layout.cp);
    add(shape, 1);
    shape.causal = false;
    shape.keys = std::max<int64_t>(1, shape.keys / 2);
    add(shape, double(layout.cp - 1));
  } else if (context.slices > 1 && !window) {
    // Each slice is causal within itself and meets the slices before it whole.
    double slices = double(context.slices);
    shape.queries = shape.keys = std::max<int64_t>(1, context.job.sequence / context.slices);
    add(shape, share * slices);
    shape.causal = false;
    add(shape, share * slices * (slices - 1) / 2);
  } else {
    add(shape, share);
  }
  op.forwardKernels = int(context.slices);
  op.backwardKernels = 3 * int(context.slices);
  op.flops = Flops(2 * batch * heads * pairs * double(shape.headDim + shape.valueDim) * share);
  op.traffic =
      Bytes(elementBytes(context.activationPrecision()) * tokens *
            (heads * double(shape.headDim + shape.valueDim) + kvHeads * double(shape.headDim + shape.valueDim)));
  op.saved = Bytes(tokens * heads * 4);
  op.attentionCore = true;
  if (stack.arena) // what the kernels compute is what products would
    op.products = attentionProducts(heads, window);
  build.result().ops.push_back(op);
}

llvm::SmallVector<LayerProduct, 0> TransformerLayer::attentionProducts(double heads, int64_t window) const {
  LayerProgram program;
  TransformerLayer(context, program).attentionOfProducts(heads, window);
  llvm::SmallVector<LayerProduct, 0> products;
  for (const LayerOp &op : program.ops)
    products.append(op.products);
  return products;
}

void TransformerLayer::attentionOfProducts(double heads, int64_t window) {
  double all = exchangesHeads() ? double(layout.cp) : 1; // parts of the sequence that a rank has, of fewer heads
  double batch = double(layout.microBatch) * heads / all, queries = all * tokens / double(layout.microBatch);
  // Keys that the mask hides are not computed: pairs of a query and a key that it sees, and how many each has.
  double sequence = double(context.job.sequence),
         seen = window && double(window) < sequence ? double(window) : sequence;
  auto pairsOf = [&](double first) { // that the first queries see
    double few = std::min(first, seen);
    return few * (few + 1) / 2 + (first - few) * seen;
  };
  // Where the sequence is cut, of the rank that does most: the one with its end.
  double pairs = pairsOf(sequence) - pairsOf(sequence - queries), keys = std::ceil(pairs / queries);
  double scores = batch * queries * keys, outputs = tokens * heads;
  double headDim = double(model.queryHeadDim()), valueDim = double(model.valueHeadDim());
  // Forward: scores, their mask, maximum, exponential and sum row by row, weighted values. Backward: scores and
  // probabilities again, and both products in both operands.
  auto skipped = [&](double width) { return int64_t((queries * keys - pairs) * width); };
  LayerOp &scoresProduct = build.batched("attention scores", batch, queries, keys, headDim, Bytes(0), skipped(headDim));
  GemmShape again{int64_t(batch), int64_t(queries), int64_t(keys), int64_t(headDim)};
  build.multiply(scoresProduct,
                 {LayerProduct::When::Backward, context.activationPrecision(), again, 0, skipped(headDim)});
  build.batched("attention values", batch, queries, valueDim, keys, Bytes(0), skipped(valueDim));
  build.stream("attention softmax", scores * 2 * 6, scores * 2 * 6, 4, 2, Bytes(outputs * 2));
  build.stream("attention rows", outputs * valueDim * 2 * 2, outputs * valueDim * 2 * 2, 1, 1,
               Bytes(outputs * valueDim * 2));
  for (LayerOp &op : llvm::MutableArrayRef(build.result().ops).take_back(4))
    op.attentionCore = true;
  // Probabilities and their gradients.
  build.result().backwardWorkspace =
      std::max(build.result().backwardWorkspace, Bytes(scores * 2 * 2) * context.activationScale());
}

void TransformerLayer::enterLatents() {
  using When = LayerTransfer::When;
  if (layout.tp == 1)
    return;
  const LatentAttention &latent = model.latent;
  double query = latent.queryRank ? double(latent.queryRank) : hidden, keyValue = double(latent.keyValueRank),
         rope = double(latent.ropeHeadDim);
  if (!layout.sequenceParallel) {
    build.transfers("latents", {over(When::Backward, TransferKind::AllReduce, 32, tokens * query),
                                over(When::Backward, TransferKind::AllReduce, 32, tokens * keyValue),
                                over(When::Backward, TransferKind::AllReduce, 32, tokens * rope)});
    return;
  }
  double whole = tp * streamTokens;
  LayerOp &op = build.transfers("latents", {});
  for (double width : {query, keyValue}) {
    build.addTransfer(op, over(When::Forward, TransferKind::AllGather, narrowBits(), whole * width));
    build.addTransfer(op, over(When::Backward, TransferKind::ReduceScatter, 32, whole * width));
    build.addTransfer(op, over(When::AgainForWeights, TransferKind::AllGather, narrowBits(), whole * width));
  }
  // The part of the keys that all heads share is kept whole behind the rotation.
  build.addTransfer(op, over(When::Forward, TransferKind::AllGather, narrowBits(), whole * rope));
  build.addTransfer(op, over(When::Backward, TransferKind::ReduceScatter, narrowBits(), whole * rope));
}

void TransformerLayer::latentProjections() {
  const LatentAttention &latent = model.latent;
  double heads = largestShare(model.heads, layout.tp);
  double queryDim = double(latent.nopeHeadDim + latent.ropeHeadDim),
         keyValue = double(latent.nopeHeadDim + latent.valueHeadDim);
  // The bottlenecks are whole on every tensor-parallel rank; the projections out of them are cut by heads.
  if (latent.queryRank) {
    build.linear("query down-projection", streamTokens, double(latent.queryRank), hidden,
                 Bytes(streamTokens * hidden * 2));
    norm("query norm", streamTokens, double(latent.queryRank));
  }
  build.linear("key-value down-projection", streamTokens, double(latent.keyValueRank + latent.ropeHeadDim), hidden,
               Bytes(0));
  norm("key-value norm", streamTokens, double(latent.keyValueRank));
  size_t first = build.result().ops.size();
  if (stack.arena)
    enterLatents();
  else
    enterTensorParallel("gather latents");
  double queryInput = latent.queryRank ? double(latent.queryRank) : hidden;
  size_t up = build.result().ops.size();
  build.linear("query up-projection", tokens, heads * queryDim, queryInput, Bytes(tokens * queryInput * 2));
  build.linear("key-value up-projection", tokens, heads * keyValue, double(latent.keyValueRank),
               Bytes(tokens * double(latent.keyValueRank) * 2));
  if (layout.tp > 1 && !stack.arena) { // the latents are narrower than the hidden state
    double share = (queryInput + double(latent.keyValueRank + latent.ropeHeadDim)) / hidden;
    build.result().ops[first].forward = build.result().ops[first].forward * share;
    build.result().ops[first].backward = build.result().ops[first].backward * share;
    build.result().ops[first].forwardLink = build.result().ops[first].forwardLink * share;
    build.result().ops[first].backwardLink = build.result().ops[first].backwardLink * share;
  }
  build.stream(
      "rotary", tokens * heads * (queryDim * 4 + queryDim * 4), tokens * heads * queryDim * 8, 2, 2,
      Bytes(stack.recomputeLatentProjections ? 0 : tokens * heads * (2 * queryDim + double(latent.valueHeadDim)) * 2));
  for (size_t i = up; i < build.result().ops.size(); ++i)
    build.result().ops[i].recomputed = stack.recomputeLatentProjections;
}

void TransformerLayer::attentionBlock(int64_t layer) {
  double heads = largestShare(model.heads, layout.tensorColumns()),
         kvHeads = largestShare(model.kvHeads, layout.tensorColumns());
  if (stack.arena && !model.latent) {
    HeadCut cut = compiledHeads(context);
    kvHeads = largestShare(model.kvHeads, cut.heads);
    heads = kvHeads * largestShare(model.heads / model.kvHeads, cut.group);
  }
  double queryWidth = heads * double(model.queryHeadDim()), keyWidth = kvHeads * double(model.queryHeadDim());
  double valueWidth = kvHeads * double(model.valueHeadDim()), outputWidth = heads * double(model.valueHeadDim());
  norm("attention norm", streamTokens, hidden);
  size_t first = build.result().ops.size();
  if (model.latent) {
    latentProjections();
    keyWidth = queryWidth;
    valueWidth = outputWidth;
    kvHeads = heads;
    if (stack.arena)
      shareKeyValueHeads(keyWidth, valueWidth);
  } else {
    if (stack.arena && sumsKeysEarly(context))
      enterWithKeys(keyWidth);
    else
      enterTensorParallel("attention input");
    HeadCut cut = stack.arena ? compiledHeads(context) : HeadCut{};
    if (cut.group > 1 && cut.heads == 1 && layout.sequenceParallel) {
      build.linear("query projection", tokens, queryWidth, hidden, keptInput());
      build.linear("key and value projections", streamTokens, keyWidth + valueWidth, hidden, Bytes(0), 2);
      build.readLater((keyWidth + valueWidth) / 2);
    } else {
      build.linear("qkv projection", tokens, queryWidth + keyWidth + valueWidth, features, keptInput());
      build.readLater(keyWidth + valueWidth);
      sumOverRows(build, context, LayerTransfer::When::Forward,
                  {tokens * queryWidth, tokens * keyWidth, tokens * valueWidth});
    }
    if (stack.arena)
      shareKeyValueHeads(keyWidth, valueWidth);
    if (model.queryKeyNorm)
      build.stream("query and key norm", tokens * (queryWidth + keyWidth) * 4, tokens * (queryWidth + keyWidth) * 6, 2,
                   4, Bytes(tokens * (queryWidth + keyWidth) * 2));
    double rotated = tokens * (queryWidth + keyWidth);
    if (model.position == PositionKind::Rotary) {
      double bytes = stack.fusedRotary ? 4 : 18;
      build.stream("rotary", rotated * bytes, rotated * bytes, stack.fusedRotary ? 1 : 8, stack.fusedRotary ? 1 : 8,
                   Bytes(0));
    }
    // Separate kernels keep queries and keys from before the rotation too: they lie in one array with the values.
    double before = model.position == PositionKind::Rotary && !stack.fusedRotary ? rotated * 2 : 0;
    build.result().ops.back().saved +=
        Bytes(tokens * (queryWidth + keyWidth + valueWidth) * 2 + before) * context.activationScale();
  }
  exchangeHeads(queryWidth, outputWidth);
  bool windowed = model.slidingWindow && layer % model.slidingWindowEvery == 0;
  if (stack.attentionOfProducts) {
    attentionOfProducts(heads, windowed ? model.slidingWindow : 0);
  } else if (layout.attention == AttentionKernel::Unfused || layout.attention == AttentionKernel::FusedSoftmax) {
    unfusedAttention(heads, double(context.job.sequence));
  } else {
    fusedAttention(heads, kvHeads, windowed ? model.slidingWindow : 0);
    size_t attention = build.result().ops.size() - 1;
    LayerOp priced = build.result().ops[attention];
    if (!stack.arena) // compiled programs: shareKeyValueHeads
      contextExchange(tokens * (keyWidth + valueWidth) * 2, tokens * (queryWidth + outputWidth), priced);
    build.result().ops[attention] = priced;
  }
  sumOverRows(build, context, LayerTransfer::When::Backward, {tokens * outputWidth});
  build.linear("output projection", tokens, features, outputWidth, Bytes(tokens * outputWidth * 2));
  size_t product = build.result().ops.size() - 1;
  leaveTensorParallel("attention output");
  gathersGradient = !model.parallelResidual;
  if (stack.arena && model.parallelResidual) // only the residual stream behind the layer reads it
    endLayer(product);
  overlapTensorParallel(first);
  residual("attention residual");
}

void TransformerLayer::denseBlock(double ffn, bool shared) {
  double width = largestShare(int64_t(ffn), layout.tensorColumns());
  size_t first = build.result().ops.size();
  if (!shared) {
    norm("feed-forward norm", streamTokens, hidden);
    first = build.result().ops.size();
    enterTensorParallel("feed-forward input");
    if (stack.reducesInputGradientsApart && model.gated && layout.tp > 1 && !layout.sequenceParallel) {
      LayerOp &entry = build.result().ops.back();
      entry.backward = 2 * entry.backward;
      entry.backwardLink = 2 * entry.backwardLink;
      entry.backwardKernels *= 2;
    }
  }
  double inner = tokens * width;
  build.linear("feed-forward up-projection", tokens, (model.gated ? 2 : 1) * width, features,
               shared ? Bytes(0) : keptInput(), model.gated && !stack.fusedActivation ? 2 : 1);
  const double parts[] = {inner, inner}; // gate and up-projection
  sumOverRows(build, context, LayerTransfer::When::Forward, llvm::ArrayRef(parts).take_front(model.gated ? 2 : 1));
  if (model.gated) {
    if (stack.fusedActivation)
      build.stream("activation", inner * 6, inner * 10, 1, 1, Bytes(inner * 4));
    else
      build.stream("activation", inner * 10, inner * 18, 2, 3, Bytes(inner * 6));
  } else {
    if (stack.fusedActivation)
      build.stream("activation", inner * 4, inner * 6, 1, 1, Bytes(inner * 2));
    else
      build.stream("activation", inner * 8, inner * 12, 2, 3, Bytes(inner * 4));
  }
  sumOverRows(build, context, LayerTransfer::When::Backward, {inner});
  build.linear("feed-forward down-projection", tokens, features, width, Bytes(inner * 2));
  if (shared)
    return;
  size_t product = build.result().ops.size() - 1;
  leaveTensorParallel("feed-forward output");
  if (stack.arena)
    endLayer(product);
  overlapTensorParallel(first);
  residual("feed-forward residual");
}

/// Of the layer's index branch, which every rank holds whole. It computes nothing where it would choose all keys.
static double indexParameters(const ModelShape &model, int64_t layer) {
  ModelShape without = model;
  without.index = {};
  return double(countLayerParameters(model, layer).total - countLayerParameters(without, layer).total);
}

LayerProgram mlir::ppc::buildLayer(const PricingContext &context, int64_t layer) {
  LayerProgram program;
  program.recomputeStopsEarly = context.stack.recomputeStopsEarly;
  TransformerLayer build(context, program);
  build.attentionBlock(layer);
  if (context.model.hasIndex(layer))
    program.parameters += indexParameters(context.model, layer);
  if (context.model.hasExperts(layer))
    build.expertBlock();
  else
    build.denseBlock(double(context.model.ffn), /*shared=*/false);
  const ParallelLayout &layout = context.layout;
  double tokens = double(layout.microBatch) * double(context.job.sequence) / double(layout.cp);
  double input = tokens * double(context.model.hidden / layout.tpRows) * context.streamBytes();
  program.input =
      Bytes(cutsSequence(layout) ? input / double(sequenceParts(layout)) : input) * context.activationScale();
  if (context.stack.arena)
    setArenaBytes(context, layer, program);
  freezeWeights(context, program, /*isLayer=*/true);
  return program;
}
