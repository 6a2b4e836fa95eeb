// The two ends of a model: embedding before the first layer; final norm, logits and loss behind the last.
#include "ArenaMemory.h"
#include "FeatureExchange.h"
#include "SequenceExchange.h"

using namespace mlir::ppc;

static double tokensOf(const PricingContext &context) {
  return double(context.layout.microBatch) * double(context.job.sequence) / double(context.layout.cp);
}

/// Elements of the residual stream of compiled programs, of all blocks of the sequence where it is cut.
static int64_t paddedStream(const PricingContext &context) {
  const ParallelLayout &layout = context.layout;
  int64_t parts = sequenceParts(layout);
  return layout.microBatch * parts * int64_t(largestShare(context.job.sequence / layout.cp, parts)) *
         (context.model.hidden / layout.tpRows);
}

LayerProgram mlir::ppc::buildEmbedding(const PricingContext &context) {
  LayerProgram program;
  LayerBuilder build(context, program);
  const ModelShape &model = context.model;
  const ParallelLayout &layout = context.layout;
  const Stack &stack = context.stack;
  double tokens = tokensOf(context), hidden = double(model.hidden);
  int kernels = layout.tp > 1 && stack.execution == Execution::Eager ? 5 : 2;
  double stream = context.streamBytes();
  build.stream("embedding", tokens * hidden * 2 * stream, tokens * hidden * 4 * stream, kernels, 2, Bytes(tokens * 8));
  bool whole = stack.replicatesEmbedding;
  program.parameters += context.paddedVocabulary() / (whole ? 1 : double(layout.tp)) * hidden; // cut by rows too
  if (layout.tp > 1 && stack.arena) {
    using When = LayerTransfer::When;
    const int64_t columns = layout.tensorColumns();
    if (cutsSequence(layout)) {
      LayerOp &op = build.transfers("embedding output", {});
      sumIntoSequence(build, context, op, When::Forward, double(paddedStream(context)));
      build.addTransfer(
          op, overSequence(context, When::Backward, TransferKind::AllGather, 32, double(paddedStream(context))));
      keepEmbedded(build, context, op);
    } else {
      build.transfers("embedding output",
                      {{When::Forward, TransferKind::AllReduce, columns, 1, 32, paddedStream(context)}});
    }
  } else if (layout.tp > 1 && !whole) {
    Bytes bytes(tokens * hidden * stream);
    if (layout.sequenceParallel)
      build.collective("embedding output", context.tensorGroup, CollectiveKind::ReduceScatter, bytes,
                       CollectiveKind::AllGather, bytes);
    else
      build.collective("embedding output", context.tensorGroup, CollectiveKind::AllReduce, bytes,
                       CollectiveKind::AllReduce, Bytes(0));
  }
  if (model.position == PositionKind::Learned) {
    build.stream("positions", tokens * hidden * 3 * stream, tokens * hidden * stream, 1, 1, Bytes(0));
    program.parameters += double(model.maxPositions) * hidden;
  }
  if (model.dropout > 0)
    build.stream("embedding dropout", tokens * hidden * 5, tokens * hidden * 5, 1, 1, Bytes(tokens * hidden));
  if (stack.arena)
    setEmbeddingArenaBytes(context, program);
  freezeWeights(context, program, /*isLayer=*/false);
  return program;
}

LayerProgram mlir::ppc::buildHead(const PricingContext &context) {
  LayerProgram program;
  LayerBuilder build(context, program);
  const ModelShape &model = context.model;
  const ParallelLayout &layout = context.layout;
  const Stack &stack = context.stack;
  double tokens = tokensOf(context), hidden = double(model.hidden), tp = double(layout.tensorColumns());
  const double features = hidden / double(layout.tpRows);
  double vocab = context.paddedVocabulary(), vocabShare = vocab / tp;
  const double parts = double(sequenceParts(layout)), streamTokens = tokens / parts;
  bool fused = layout.fusedNorm || model.norm == NormKind::LayerNorm;
  double in = context.streamBytes(), logitBytes = stack.logitsF32 ? 4 / context.activationScale() : 2;
  build.stream("final norm", streamTokens * hidden * (fused ? in + 2 : 36),
               streamTokens * hidden * (fused ? 2 * in + 2 : 52), fused ? 1 : 6, fused ? 1 : 9,
               Bytes(streamTokens * hidden * (fused ? 2 : 14)));
  program.parameters += hidden;
  Bytes activation(tokens * hidden * 2), sum(tokens * hidden * in);
  if (layout.tp > 1 && stack.arena) {
    using When = LayerTransfer::When;
    int64_t narrow = elementBytes(layout.precision) < 4 ? 16 : 32, elements = paddedStream(context),
            columns = layout.tensorColumns();
    if (cutsSequence(layout)) {
      auto gather = [&](When when) {
        return overSequence(context, when, TransferKind::AllGather, narrow, double(elements));
      };
      LayerOp &op = build.transfers("head input", {gather(When::Forward)});
      sumIntoSequence(build, context, op, When::Backward, double(elements));
      if (layout.tpRows == 1 || narrow == 16) // else it is kept
        build.addTransfer(op, gather(When::AgainForWeights));
      gatherNorm(build, context, op);
    } else {
      build.transfers("head input", {{When::Backward, TransferKind::AllReduce, columns, 1, 32, elements}});
    }
  } else if (layout.tp > 1) {
    if (layout.sequenceParallel)
      build.collective("head input", context.tensorGroup, CollectiveKind::AllGather, activation,
                       CollectiveKind::ReduceScatter, sum);
    else
      build.collective("head input", context.tensorGroup, CollectiveKind::AllReduce, Bytes(0),
                       CollectiveKind::AllReduce, sum);
  }
  build.linearBf16("logits", tokens, vocabShare, features, Bytes(streamTokens * features * 2));
  sumOverRows(build, context, LayerTransfer::When::Forward, {tokens * vocabShare});
  bool gathered = layout.tp > 1 && !stack.vocabularyParallelLoss;
  if (gathered)
    build.collective("gather logits", context.tensorGroup, CollectiveKind::AllGather, Bytes(tokens * vocab * 2),
                     CollectiveKind::AllReduce, Bytes(0));
  double logits = tokens * (gathered ? vocab : vocabShare);
  if (stack.lossIn16Bits) // log-probabilities beside the logits, then the gradients of both
    build.stream("loss", logits * 4, logits * 8, 2, 3, Bytes(logits * 4));
  else if (stack.fusedLoss)
    build.stream("loss", logits * 2 * logitBytes, logits * (logitBytes + 2), 2, 1, Bytes(logits * logitBytes));
  else if (layout.tp > 1 && !gathered) // cast, maximum, difference, exponential, sum, quotient
    build.stream("loss", logits * 34, logits * 14, 10, 3, Bytes(logits * 6));
  else // cast, log-softmax
    build.stream("loss", logits * 14, logits * 18, 4, 3, Bytes(logits * (gathered ? 8 : 6)));
  if (layout.tp > 1 && stack.arena) { // the logarithm of the sum of exponentials, the target's logit
    build.transfers("loss terms", {{LayerTransfer::When::Forward, TransferKind::AllReduce, layout.tensorColumns(), 1,
                                    32, int64_t(tokens), 2}});
  } else if (layout.tp > 1 && !gathered) {
    Bytes row(tokens * 4);
    build.collective("loss terms", context.tensorGroup, CollectiveKind::AllReduce, row, CollectiveKind::AllReduce,
                     Bytes(0));
    program.ops.back().forward = program.ops.back().forwardLink =
        3 * program.ops.back().forward; // maximum, target logit, sum
    program.ops.back().forwardKernels = 3;
  }
  program.input = Bytes(sum.value / parts) * context.activationScale();
  // Gathered logits live as pieces and whole in 16 bits, as f32, as log-probabilities, and both gradients.
  program.backwardWorkspace = Bytes(logits * (stack.lossIn16Bits ? 4
                                              : stack.fusedLoss  ? 2
                                              : gathered         ? 16
                                                                 : 6)) *
                              context.activationScale();
  if (model.tiedEmbeddings)
    program.parameters -= vocabShare * features;
  if (stack.arena)
    setHeadArenaBytes(context, program);
  freezeWeights(context, program, /*isLayer=*/false);
  return program;
}
