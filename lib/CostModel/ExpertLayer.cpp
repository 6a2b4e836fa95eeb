// The mixture-of-experts feed-forward on one rank: routing, dispatch, grouped products, combine, shared experts.
#include "TransformerLayer.h"

#include <algorithm>
#include <cmath>

using namespace mlir::ppc;

/// How often a token travels, of its topK copies, when each unit that holds some of its experts gets it once. Experts
/// are drawn evenly, from at most groupsPerToken of the router's groups.
static double travellingShare(const ExpertShape &moe, const GroupPlacement &group, double ranks) {
  double perUnit = group.members.empty() ? 1 : double(group.members.front());
  double units = perUnit < ranks ? ranks / perUnit : ranks;
  double topK = double(moe.topK);
  double met = units * (1 - std::pow(1 - 1 / units, topK));
  if (moe.groups > 1 && units <= double(moe.groups))
    met = std::min(met, double(moe.groupsPerToken) * units / double(moe.groups));
  return std::min(1.0, met / topK);
}

void TransformerLayer::enterExperts() {
  using When = LayerTransfer::When;
  if (layout.tp == 1)
    return;
  double choices = double(model.moe.topK);
  // The gate's factor is between what shared experts give and its sum over ranks, so their parts are summed alone.
  int64_t sums = model.moe.sharedGate ? 3 : 1;
  if (!layout.sequenceParallel) {
    LayerTransfer inputs = over(When::Backward, TransferKind::AllReduce, 32, tokens * hidden);
    inputs.calls = sums;
    build.transfers("expert input", {inputs, over(When::Backward, TransferKind::AllReduce, 32, tokens * choices)});
    return;
  }
  // Tokens in f32 with their choices, which the gradient of what experts give goes by too.
  double whole = tp * streamTokens;
  LayerTransfer inputs = over(When::Backward, TransferKind::ReduceScatter, 32, whole * hidden);
  inputs.calls = sums;
  LayerOp &op =
      build.transfers("expert input", {over(When::Forward, TransferKind::AllGather, 32, whole * hidden), inputs});
  bool isWhole = model.moe.topK == 1 && model.moe.normalizesTopK; // the weight of a single choice is one
  if (isWhole)
    build.addTransfer(op, over(When::Backward, TransferKind::AllReduce, 32, tokens));
  else
    build.addTransfer(op, over(When::Backward, TransferKind::ReduceScatter, 32, whole * choices));
  for (When when : {When::Forward, When::Again}) {
    LayerTransfer chosen = over(when, TransferKind::AllGather, 32, whole * choices);
    chosen.calls = isWhole && when == When::Again ? 1 : 2;
    build.addTransfer(op, chosen);
  }
  if (!model.moe.sharedFfn)
    return;
  if (narrowBits() == 16)
    build.addTransfer(op, over(When::Forward, TransferKind::AllGather, 16, whole * hidden));
  build.addTransfer(op, over(When::AgainForWeights, TransferKind::AllGather, narrowBits(), whole * hidden));
}

void TransformerLayer::leaveExperts() {
  using When = LayerTransfer::When;
  if (layout.tp == 1)
    return;
  bool isCut = layout.sequenceParallel;
  double whole = tp * streamTokens, elements = isCut ? whole * hidden : tokens * hidden;
  TransferKind sum = isCut ? TransferKind::ReduceScatter : TransferKind::AllReduce;
  bool narrowShared = model.moe.sharedFfn && (narrowBits() == 16 || model.moe.sharedGate);
  if (model.moe.sharedGate) { // backward reads what the gate scales
    LayerOp &shared = build.transfers("shared expert output", {over(When::Forward, sum, 32, elements)});
    if (isCut) {
      build.addTransfer(shared, over(When::Forward, TransferKind::AllGather, 32, whole));
      build.addTransfer(shared, over(When::Backward, TransferKind::AllGather, 32, whole));
    }
  }
  size_t first = build.result().ops.size();
  LayerOp &op = build.transfers("expert output", {over(When::Forward, sum, 32, elements)});
  if (isCut) {
    build.addTransfer(op, over(When::Backward, TransferKind::AllGather, 32, elements));
    if (narrowShared)
      build.addTransfer(op, over(When::Backward, TransferKind::AllGather, narrowBits(), elements));
  }
  endLayer(first);
}

void TransformerLayer::compiledExperts() {
  const ExpertShape &moe = model.moe;
  norm("feed-forward norm", streamTokens, hidden);
  build.linearBf16("router", streamTokens, double(moe.experts), hidden, Bytes(0));
  build.stream("routing", streamTokens * double(moe.experts) * 24, streamTokens * double(moe.experts) * 16, 8, 8,
               Bytes(0));
  enterExperts();
  // Every expert has a slot for each token of a sequence; what is not there is zero, and computed all the same.
  double rows = tokens * double(moe.experts), width = largestShare(moe.ffn, layout.tp), inner = rows * width;
  build.stream("dispatch", rows * hidden * 4, rows * hidden * 4, 1, 1, Bytes(0));
  build.experts("expert up-projection", moe.experts, rows, 2 * width, hidden, Bytes(0));
  build.stream("expert activation", inner * 6, inner * 10, 1, 1, Bytes(0));
  build.experts("expert down-projection", moe.experts, rows, hidden, width, Bytes(0));
  build.stream("combine", rows * hidden * 4, rows * hidden * 4, 1, 1, Bytes(0));
  if (moe.sharedFfn) {
    denseBlock(double(moe.sharedFfn), /*shared=*/true);
    if (!moe.sharedGate)
      endLayer(build.result().ops.size() - 1);
  }
  if (moe.sharedGate)
    build.linearBf16("shared expert gate", streamTokens, 1, hidden, Bytes(0));
  leaveExperts();
  residual("feed-forward residual");
}

void TransformerLayer::expertBlock() {
  if (stack.arena)
    return compiledExperts();
  const ExpertShape &moe = model.moe;
  auto &ops = build.result().ops;
  norm("feed-forward norm", streamTokens, hidden);
  double etp = double(layout.etp), ep = double(layout.ep);
  // Without sequence parallelism every tensor-parallel rank would hold the same tokens; each sends only its share.
  double localTokens = tokens / tp, copies = localTokens * double(moe.topK);
  bool fused = stack.fusedExperts;
  build.linearBf16("router", streamTokens, double(moe.experts), hidden,
                   Bytes(streamTokens * (hidden * 2 + 8 * double(moe.experts))));
  build.stream("routing", streamTokens * double(moe.experts) * 24, streamTokens * double(moe.experts) * 16, 8, 8,
               Bytes(0));
  ops.back().forwardKernels = 60; // most of them on a few numbers per expert
  ops.back().backwardKernels = 40;
  size_t first = ops.size();
  if (!stack.capacityExperts)
    build.result().meeting = first; // how many rows each expert has
  if (!fused)
    build.stream("dispatch permutation", copies * hidden * 4, copies * hidden * 4, 2, 2, Bytes(0));
  double travelling = stack.nodeDispatch ? travellingShare(moe, context.expertGroup, ep) : 1;
  Bytes sent(copies * hidden * 2), moved = travelling * sent;
  if (layout.ep > 1)
    build.collective("dispatch", context.expertGroup, CollectiveKind::AllToAll, moved, CollectiveKind::AllToAll, moved);
  if (layout.etp > 1)
    build.collective("expert input", context.expertTensorGroup, CollectiveKind::AllGather, etp * sent,
                     CollectiveKind::ReduceScatter, etp * sent);
  double rows = copies * etp, width = largestShare(moe.ffn, layout.etp);
  int64_t groups = std::max<int64_t>(1, int64_t(double(moe.experts) / ep + 0.5));
  build.stream("expert permutation", rows * hidden * 4, rows * hidden * 4, 1, 1, Bytes(0));
  build.experts("expert up-projection", groups, rows, 2 * width, hidden, Bytes(rows * hidden * 2));
  build.quantizeExperts(groups, rows, 2 * width, hidden, true, !fused);
  if (fused) { // the gate is taken where the product leaves its result, and its gradient where the next product does
    ops[ops.size() - 1].saved += Bytes(rows * width * 4);
  } else {
    // Two clamps and what puts their results together; backward both masks and what joins their gradients.
    double inner = rows * width, forward = stack.clampedGate ? 16 : 0, backward = stack.clampedGate ? 20 : 0;
    int kernels = stack.clampedGate ? 4 : 1;
    LayerOp &gate = build.stream("expert activation", inner * (6 + forward), inner * (10 + backward), kernels, kernels,
                                 Bytes(inner * (stack.clampedGate && !stack.recomputeExpertActivation ? 8 : 4)));
    gate.recomputed = stack.recomputeExpertActivation;
  }
  build.experts("expert down-projection", groups, rows, hidden, width,
                Bytes(stack.recomputeExpertActivation ? 0 : rows * width * 2));
  build.quantizeExperts(groups, rows, hidden, width, !fused, true);
  // Times the router's weight, added, put together, cast; backward the same, with sums over columns and over rows.
  if (stack.separateExpertBiases)
    build.stream("expert biases", rows * hidden * 28, rows * hidden * 40, 3 * int(groups), 7 * int(groups), Bytes(0));
  build.stream("expert un-permutation", rows * hidden * 4, rows * hidden * 4, 1, 1, Bytes(0));
  if (layout.etp > 1)
    build.collective("expert output", context.expertTensorGroup, CollectiveKind::ReduceScatter, etp * sent,
                     CollectiveKind::AllGather, etp * sent);
  if (layout.ep > 1)
    build.collective("combine", context.expertGroup, CollectiveKind::AllToAll, moved, CollectiveKind::AllToAll, moved);
  if (!fused)
    build.stream("combine permutation", copies * hidden * 4 + localTokens * hidden * 2, copies * hidden * 4, 2, 3,
                 Bytes(copies * hidden * 2));
  for (size_t i = first; i < ops.size(); ++i)
    ops[i].unrecorded = stack.eagerExperts;
  if (!layout.sequenceParallel && layout.tp > 1)
    build.collective("gather tokens", context.tensorGroup, CollectiveKind::AllGather, Bytes(tokens * hidden * 2),
                     CollectiveKind::ReduceScatter, Bytes(tokens * hidden * 2));
  if (moe.sharedFfn) {
    size_t shared = ops.size();
    if (layout.sequenceParallel)
      enterTensorParallel("shared expert input");
    denseBlock(double(moe.sharedFfn), /*shared=*/true);
    leaveTensorParallel("shared expert output");
    overlapTensorParallel(shared);
  }
  residual("feed-forward residual");
  if (stack.overlapExperts)
    overlapExchange(first);
}

void TransformerLayer::overlapExchange(size_t first) {
  // The exchange of one micro-batch runs beside the whole layer of another.
  auto &ops = build.result().ops;
  Seconds compute, backward, exchange, backwardExchange;
  for (size_t i = 0; i < ops.size(); ++i) {
    bool exchanged = i >= first && ops[i].kind == OpClass::Communication;
    (exchanged ? exchange : compute) += ops[i].forward;
    (exchanged ? backwardExchange : backward) += ops[i].backward + ops[i].weightGradient;
  }
  Seconds left = exchange, backwardLeft = backwardExchange;
  build.hide(left, compute);
  build.hide(backwardLeft, backward);
  for (size_t i = first; i < ops.size(); ++i) {
    if (ops[i].kind != OpClass::Communication)
      continue;
    ops[i].forward = ops[i].forward * (left / exchange);
    ops[i].backward = ops[i].backward * (backwardLeft / backwardExchange);
  }
}
