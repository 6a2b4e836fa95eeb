// One transformer layer on one rank, op by op: attention, dense and expert feed-forward, and what tensor, sequence,
// context and expert parallelism add to them.
#ifndef PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H
#define PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H

#include "LayerBuilder.h"

#include <algorithm>

namespace mlir::ppc {

/// Sizes that one rank sees, and the pieces that layers are made of.
class TransformerLayer {
public:
  TransformerLayer(const PricingContext &context, LayerProgram &program)
      : context(context), model(context.model), layout(context.layout), stack(context.stack), build(context, program),
        tokens(double(layout.microBatch) * double(context.job.sequence) / double(layout.cp)),
        streamTokens(layout.sequenceParallel ? tokens / double(layout.tp) : tokens), tp(double(layout.tp)),
        hidden(double(model.hidden)), streamBytes(context.streamBytes()),
        gatheredBytes(std::min(2.0, elementBytes(layout.precision))) {}

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
  /// Collectives work along the outermost dimension; a sequence behind the batch is put together or taken apart by a
  /// copy.
  void copySequence();
  void overlapTensorParallel(size_t first);
  /// Hides the experts' exchange, which is among the ops from `first` on.
  void overlapExchange(size_t first);
  void latentProjections();
  /// Products and passes over whole rows of scores; backward computes the scores again. No context parallelism.
  void attentionOfProducts(double heads);
  void unfusedAttention(double heads, double keys);
  void fusedAttention(double heads, double kvHeads, int64_t window);
  void contextExchange(double kvBytes, double queryBytes, LayerOp &attention);

  /// Input of a product behind enterTensorParallel, as kept for its weight gradient.
  Bytes keptInput() const {
    bool gathered = layout.sequenceParallel && stack.keepsGatheredSequence;
    return Bytes((gathered ? tokens : streamTokens) * hidden * 2);
  }

  const PricingContext &context;
  const ModelShape &model;
  const ParallelLayout &layout;
  const Stack &stack;
  LayerBuilder build;
  double tokens, streamTokens, tp, hidden, streamBytes;
  double gatheredBytes; // per element, of operands that are gathered: quantised before
};

} // namespace mlir::ppc

#endif // PPC_LIB_COSTMODEL_TRANSFORMERLAYER_H
