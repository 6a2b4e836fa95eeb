// One transformer layer on one rank, op by op: attention, dense and expert feed-forward, and the ops that tensor,
// sequence, context and expert parallelism add to them.
#ifndef PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H
#define PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H

#include "SequenceExchange.h"

#include <algorithm>

namespace mlir::ppc {

/// Sizes on one rank, and the parts that layers are built from.
class TransformerLayer {
public:
  TransformerLayer(const PricingContext &context, LayerProgram &program)
      : context(context), model(context.model), layout(context.layout), stack(context.stack), build(context, program),
        tokens(double(layout.microBatch) * double(context.job.sequence) / double(layout.cp)),
        streamTokens(!cutsSequence(layout) ? tokens
                     : stack.arena         ? double(layout.microBatch) *
                                                 largestShare(context.job.sequence / layout.cp, sequenceParts(layout))
                                           : tokens / double(layout.tp)),
        tp(double(layout.tensorColumns())), hidden(double(model.hidden)), features(hidden / double(layout.tpRows)),
        streamBytes(context.streamBytes()), gatheredBytes(std::min(2.0, elementBytes(layout.precision))) {}

  void attentionBlock(int64_t layer);
  void denseBlock(double ffn, bool shared);
  void expertBlock();

private:
  void norm(llvm::StringRef name, double rows, double width);
  void residual(llvm::StringRef name);
  /// Before a column-parallel matmul: gathers the sequence, or reduces the gradient after it.
  void enterTensorParallel(llvm::StringRef name);
  /// After a row-parallel matmul.
  void leaveTensorParallel(llvm::StringRef name);
  /// Code of compiled programs for both; `width`: width of the gathered value, and of its gradient.
  void enterCompiled(llvm::StringRef name, double width);
  void leaveCompiled(llvm::StringRef name);
  /// The entry of attention where sumsKeysEarly.
  void enterWithKeys(double keyWidth);
  /// Keys or values of a sharded sequence, `elements` of all blocks: gathered for attention and again for its
  /// gradients; and these reduce-scattered.
  void gatherSequence(LayerOp &op, int64_t ranks, int64_t stride, double elements);
  void scatterSequence(LayerOp &op, int64_t ranks, int64_t stride, double elements);
  /// Whether gradients of values that are to be summed over `sharing` ranks and scattered over the context-parallel
  /// ones are so few that one sum over all of them is cheaper; the rest is dropped.
  bool sumsAtOnce(int64_t sharing, double elements) const;
  /// Exchange of keys and values among ranks that shard the query heads of one key-value head, or the sequence.
  void shareKeyValueHeads(double keyWidth, double valueWidth);
  /// A value of that width that attention reshards from the sequence to heads, and its gradient.
  void exchangeSequence(LayerOp &op, double width);
  /// The exchange of queries and of attention's output, where there is one.
  void exchangeHeads(double queryWidth, double outputWidth);
  /// Whether attention of a compiled program has whole sequences of 1 / cp of the heads.
  bool exchangesHeads() const { return stack.arena && layout.cp > 1 && layout.contextKind == ContextKind::Ulysses; }
  /// Their transfers over all tensor-parallel ranks.
  LayerTransfer over(LayerTransfer::When when, TransferKind kind, int64_t bits, double elements) const;
  /// Experts of compiled programs, sharded by their inner width like any feed-forward, or by expert.
  void compiledExperts();
  void enterExperts();
  void leaveExperts();
  /// Entry and exit if data-parallel ranks share experts.
  void gatherForExperts();
  void scatterFromExperts();
  /// Collectives that bring tokens to all ranks that have experts for them, or back the sums of the results: the steps
  /// that the compiler uses for a tensor of that width. `joins`: without sequence parallelism, sums over
  /// tensor-parallel ranks come after the others, since their parts are processed before. `wasGathered`: with it, the
  /// tokens have been gathered over these already.
  void moveTokens(LayerOp &op, LayerTransfer::When when, int64_t bits, double width, bool back, bool joins = false,
                  bool wasGathered = false);
  /// Whether the output of shared experts is added before the sum over tensor-parallel ranks.
  bool sumsWithShared() const;
  void leaveSharedExperts();
  void enterLatents();
  /// Collectives run along the outermost dimension; a copy assembles or splits a sequence that is not outermost.
  void copySequence();
  /// Backward reads no part of the results of the ops from `first` on.
  void endLayer(size_t first) {
    for (LayerOp &op : llvm::MutableArrayRef(build.result().ops).drop_front(first))
      op.endsLayer = true;
  }
  void overlapTensorParallel(size_t first);
  /// Hides the experts' exchange, which is among the ops from `first` on.
  void overlapExchange(size_t first);
  void latentProjections();
  /// Matmuls and passes over full rows of scores; backward recomputes the scores. No context parallelism.
  void attentionOfProducts(double heads, int64_t window);
  /// Matmuls of attentionOfProducts, without times.
  llvm::SmallVector<LayerProduct, 0> attentionProducts(double heads, int64_t window) const;
  void unfusedAttention(double heads, double keys);
  void fusedAttention(double heads, double kvHeads, int64_t window);
  void contextExchange(double kvBytes, double queryBytes, LayerOp &attention);

  /// Input of a matmul after enterTensorParallel, as saved for its weight gradient.
  Bytes keptInput() const {
    bool gathered = layout.sequenceParallel && stack.keepsGatheredSequence;
    return Bytes((gathered ? tokens : streamTokens) * features * 2);
  }

  bool gathersGradient = true; // exit of a region: of parallel ones the first does it for both
  const PricingContext &context;
  const ModelShape &model;
  const ParallelLayout &layout;
  const Stack &stack;
  LayerBuilder build;
  double tokens, streamTokens, tp, hidden;
  double features; // number of them on this rank
  double streamBytes;
  int64_t narrowBits() const { return elementBytes(layout.precision) < 4 ? 16 : 32; } // width of matmul operands
  double gatheredBytes; // per element, of operands that are gathered: quantised before
};

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H
