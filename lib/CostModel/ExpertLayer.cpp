// The mixture-of-experts feed-forward on one rank: routing, dispatch, grouped products, combine, shared experts.
#include "TransformerLayer.h"

#include <algorithm>

using namespace mlir::ppc;

void TransformerLayer::expertBlock() {
  const ExpertShape &moe = model.moe;
  norm("feed-forward norm", streamTokens, hidden);
  double etp = double(layout.etp), ep = double(layout.ep);
  // Without sequence parallelism every tensor-parallel rank would hold the same tokens; each sends only its share.
  double localTokens = tokens / tp;
  build.linearBf16("router", streamTokens, double(moe.experts), hidden, Bytes(streamTokens * (hidden * 2 + 8 * double(moe.experts))));
  build.stream("routing", streamTokens * double(moe.experts) * 24, streamTokens * double(moe.experts) * 16, 8, 8, Bytes(0));
  double copies = localTokens * double(moe.topK);
  build.stream("dispatch permutation", copies * hidden * 4, copies * hidden * 4, 2, 2, Bytes(0));
  Bytes sent(copies * hidden * 2);
  size_t dispatch = build.result().ops.size();
  if (layout.ep > 1)
    build.collective("dispatch", context.expertGroup, CollectiveKind::AllToAll, sent, CollectiveKind::AllToAll, sent);
  if (layout.etp > 1)
    build.collective("expert input", context.expertTensorGroup, CollectiveKind::AllGather, etp * sent, CollectiveKind::ReduceScatter, etp * sent);
  size_t dispatched = build.result().ops.size();
  double rows = copies * etp, width = double(moe.ffn) / etp;
  int64_t groups = std::max<int64_t>(1, int64_t(double(moe.experts) / ep + 0.5));
  build.stream("expert permutation", rows * hidden * 4, rows * hidden * 4, 1, 1, Bytes(0));
  build.experts("expert up-projection", groups, rows, 2 * width, hidden, Bytes(rows * hidden * 2));
  build.stream("expert activation", rows * width * 6, rows * width * 10, 1, 1, Bytes(rows * width * 4));
  build.experts("expert down-projection", groups, rows, hidden, width, Bytes(rows * width * 2));
  build.stream("expert un-permutation", rows * hidden * 4, rows * hidden * 4, 1, 1, Bytes(0));
  size_t combine = build.result().ops.size();
  if (layout.etp > 1)
    build.collective("expert output", context.expertTensorGroup, CollectiveKind::ReduceScatter, etp * sent, CollectiveKind::AllGather, etp * sent);
  if (layout.ep > 1)
    build.collective("combine", context.expertGroup, CollectiveKind::AllToAll, sent, CollectiveKind::AllToAll, sent);
  size_t combined = build.result().ops.size();
  if (stack.overlapExperts) {
    // One half of the tokens travels while the other half computes.
    Seconds compute, backward;
    for (size_t i = dispatched; i < combine; ++i) {
      compute += build.result().ops[i].forward;
      backward += build.result().ops[i].backward + build.result().ops[i].weightGradient;
    }
    for (size_t i = dispatch; i < combined; ++i) {
      LayerOp &op = build.result().ops[i];
      if (op.kind != OpClass::Communication)
        continue;
      build.hide(op.forward, 0.5 * compute);
      build.hide(op.backward, 0.5 * backward);
    }
  }
  build.stream("combine permutation", copies * hidden * 4 + localTokens * hidden * 2, copies * hidden * 4, 2, 3, Bytes(copies * hidden * 2));
  if (!layout.sequenceParallel && layout.tp > 1)
    build.collective("gather tokens", context.tensorGroup, CollectiveKind::AllGather, Bytes(tokens * hidden * 2),
                     CollectiveKind::ReduceScatter, Bytes(tokens * hidden * 2));
  if (moe.sharedFfn) {
    size_t first = build.result().ops.size();
    if (layout.sequenceParallel)
      enterTensorParallel("shared expert input");
    denseBlock(double(moe.sharedFfn), /*shared=*/true);
    leaveTensorParallel("shared expert output");
    overlapTensorParallel(first);
  }
  residual("feed-forward residual");
}
