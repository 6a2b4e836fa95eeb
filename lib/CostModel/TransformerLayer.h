// One transformer layer on one rank, op by op: attention, dense and expert feed-forward, and what tensor, sequence,
// context and expert parallelism add to them.
#ifndef PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H
#define PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H

#include "SequenceExchange.h"

#include <algorithm>

namespace mlir::ppc {

/// Sizes that one rank sees, and the pieces that layers are made of.
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
  /// Before a product whose weights are cut by columns: gather the sequence, or reduce the gradient behind it.
  void enterTensorParallel(llvm::StringRef name);
  /// After a product whose weights are cut by rows.
  void leaveTensorParallel(llvm::StringRef name);
  /// What stands in the code of compiled programs for both; `width`: of what is gathered, and of its gradient.
  void enterCompiled(llvm::StringRef name, double width);
  void leaveCompiled(llvm::StringRef name);
  /// The entry of attention where sumsKeysEarly.
  void enterWithKeys(double keyWidth);
  /// Keys or values of a cut sequence, `elements` of all blocks: gathered for attention and again for its gradients;
  /// and these scattered.
  void gatherSequence(LayerOp &op, int64_t ranks, int64_t stride, double elements);
  void scatterSequence(LayerOp &op, int64_t ranks, int64_t stride, double elements);
  /// Whether gradients of values that are to be summed over `sharing` ranks and scattered over the context-parallel
  /// ones are so few that one sum over all of them is cheaper; the rest is dropped.
  bool sumsAtOnce(int64_t sharing, double elements) const;
  /// What ranks that cut the query heads of one key-value head, or the sequence, exchange of keys and values.
  void shareKeyValueHeads(double keyWidth, double valueWidth);
  /// A value of that width whose cut along the sequence attention exchanges for one of heads, and its gradient.
  void exchangeSequence(LayerOp &op, double width);
  /// The exchange of queries and of attention's output, where there is one.
  void exchangeHeads(double queryWidth, double outputWidth);
  /// Whether attention of a compiled program has whole sequences of 1 / cp of the heads.
  bool exchangesHeads() const { return stack.arena && layout.cp > 1 && layout.contextKind == ContextKind::Ulysses; }
  /// Their transfers over all tensor-parallel ranks.
  LayerTransfer over(LayerTransfer::When when, TransferKind kind, int64_t bits, double elements) const;
  /// Experts of compiled programs, cut by their inner width like any feed-forward, or by expert.
  void compiledExperts();
  void enterExperts();
  void leaveExperts();
  /// The same where data-parallel ranks share experts.
  void gatherForExperts();
  void scatterFromExperts();
  /// From where tokens are to all ranks that have experts for them, or the sums of what these give back: the steps that
  /// the compiler takes for a tensor of that width. `joins`: without sequence parallelism, sums over tensor-parallel
  /// ranks come after the others, since something is done to their parts before. `wasGathered`: with it, they have been
  /// gathered over these already.
  void moveTokens(LayerOp &op, LayerTransfer::When when, int64_t bits, double width, bool back, bool joins = false,
                  bool wasGathered = false);
  /// Whether what shared experts give is added before the sum over tensor-parallel ranks.
  bool sumsWithShared() const;
  void leaveSharedExperts();
  void enterLatents();
  /// Collectives work along the outermost dimension; a sequence behind the batch is put together or taken apart by a
  /// copy.
  void copySequence();
  /// Backward reads nothing of what the ops from `first` on compute.
  void endLayer(size_t first) {
    for (LayerOp &op : llvm::MutableArrayRef(build.result().ops).drop_front(first))
      op.endsLayer = true;
  }
  void overlapTensorParallel(size_t first);
  /// Hides the experts' exchange, which is among the ops from `first` on.
  void overlapExchange(size_t first);
  void latentProjections();
  /// Products and passes over whole rows of scores; backward computes the scores again. No context parallelism.
  void attentionOfProducts(double heads, int64_t window);
  /// The products of attentionOfProducts, without its times.
  llvm::SmallVector<LayerProduct, 0> attentionProducts(double heads, int64_t window) const;
  void unfusedAttention(double heads, double keys);
  void fusedAttention(double heads, double kvHeads, int64_t window);
  void contextExchange(double kvBytes, double queryBytes, LayerOp &attention);

  /// Input of a product behind enterTensorParallel, as kept for its weight gradient.
  Bytes keptInput() const {
    bool gathered = layout.sequenceParallel && stack.keepsGatheredSequence;
    return Bytes((gathered ? tokens : streamTokens) * features * 2);
  }

  bool gathersGradient = true; // what leaves a region: of parallel ones the first does for both
  const PricingContext &context;
  const ModelShape &model;
  const ParallelLayout &layout;
  const Stack &stack;
  LayerBuilder build;
  double tokens, streamTokens, tp, hidden;
  double features; // of them, on this rank
  double streamBytes;
  int64_t narrowBits() const { return elementBytes(layout.precision) < 4 ? 16 : 32; } // of what products read
  double gatheredBytes; // per element, of operands that are gathered: quantised before
};

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H
