// What ranks that share a sequence, or a key-value head, exchange around attention.
#include "CompiledState.h"
#include "TransformerLayer.h"

#include "ppc/Sharding/ReshardPlanner.h"

using namespace mlir::ppc;

void TransformerLayer::gatherSequence(LayerOp &op, int64_t ranks, int64_t stride, double elements) {
  using When = LayerTransfer::When;
  for (When when : {When::Forward, When::Again})
    build.addTransfer(op, {when, TransferKind::AllGather, ranks, stride, narrowBits(), int64_t(elements)});
}

void TransformerLayer::scatterSequence(LayerOp &op, int64_t ranks, int64_t stride, double elements) {
  build.addTransfer(
      op, {LayerTransfer::When::Backward, TransferKind::ReduceScatter, ranks, stride, narrowBits(), int64_t(elements)});
}

void TransformerLayer::exchangeSequence(LayerOp &op, double width) {
  using When = LayerTransfer::When;
  for (When when : {When::Forward, When::Backward})
    build.addTransfer(op, {when, TransferKind::AllToAll, layout.cp, layout.tp, narrowBits(), int64_t(tokens * width)});
}

bool TransformerLayer::sumsAtOnce(int64_t sharing, double elements) const {
  LayoutAxis grid[] = {{"sequence", layout.cp}, {"sharing", sharing}};
  Layout from, to;
  from.dims.resize(2);
  from.partial = {0, 1};
  to.dims = {{0}, {}};
  int64_t rows = layout.cp, columns = int64_t(elements) / layout.cp;
  ReshardPlan plan = llvm::cantFail(planReshard(grid, {rows, columns}, narrowBits() / 8, from, to));
  return plan.steps.front().axes.size() == 2;
}

void TransformerLayer::exchangeHeads(double queryWidth, double outputWidth) {
  if (!exchangesHeads())
    return;
  LayerOp &op = build.transfers("queries and attention output", {});
  exchangeSequence(op, queryWidth);
  exchangeSequence(op, outputWidth);
}

void TransformerLayer::shareKeyValueHeads(double keyWidth, double valueWidth) {
  using When = LayerTransfer::When;
  HeadCut cut = compiledHeads(context);
  if (layout.cp == 1 && (cut.group == 1 || !layout.sequenceParallel))
    return;
  LayerOp &op = build.transfers("keys and values", {});
  if (cut.group > 1 && cut.heads == 1 && layout.sequenceParallel) { // each projects its part of the sequence
    for (double width : {keyWidth, valueWidth}) {
      double elements = double(layout.cp) * tp * streamTokens * width;
      gatherSequence(op, layout.cp * layout.tp, 1, elements);
      scatterSequence(op, layout.cp * layout.tp, 1, elements);
    }
    return;
  }
  double keyElements = double(layout.cp) * tokens * keyWidth, valueElements = double(layout.cp) * tokens * valueWidth;
  // Summed over those that share a head: values where they leave attention, keys behind the rotation.
  bool sums = cut.group > 1 && layout.sequenceParallel, exchanges = exchangesKeys(context),
       atOnce = sums && layout.cp > 1 && !exchanges && sumsAtOnce(cut.group, valueElements);
  if (exchanges) {
    exchangeSequence(op, keyWidth);
    exchangeSequence(op, valueWidth);
  } else if (layout.cp > 1) {
    gatherSequence(op, layout.cp, layout.tp, keyElements);
    gatherSequence(op, layout.cp, layout.tp, valueElements);
    scatterSequence(op, layout.cp, layout.tp, keyElements);
    if (!atOnce)
      scatterSequence(op, layout.cp, layout.tp, valueElements);
  }
  if (!sums)
    return;
  LayerTransfer keys = over(When::Backward, TransferKind::AllReduce, model.queryKeyNorm ? 32 : narrowBits(),
                            tokens * keyWidth),
                values = over(When::Backward, TransferKind::AllReduce, narrowBits(), tokens * valueWidth);
  keys.ranks = values.ranks = cut.group;
  if (atOnce) {
    values.outerRanks = layout.cp;
    values.outerStride = layout.tp;
    values.elements = int64_t(valueElements);
  }
  build.addTransfer(op, keys);
  build.addTransfer(op, values);
  // The gradients of the input, over the others. Blocks that do not divide do not nest: then they are summed whole.
  bool nests = context.job.sequence / layout.cp % layout.tp == 0;
  LayerTransfer inputs =
      over(When::Backward, nests ? TransferKind::ReduceScatter : TransferKind::AllReduce, 32, tokens * hidden);
  inputs.ranks = cut.heads;
  inputs.stride = cut.group;
  inputs.calls = 2;
  build.addTransfer(op, inputs);
}

void TransformerLayer::contextExchange(double kvBytes, double queryBytes, LayerOp &attention) {
  if (layout.cp == 1)
    return;
  double parts = double(layout.cp), slices = double(context.slices), scale = context.activationScale();
  LayerOp op;
  op.name = "context exchange";
  op.kind = OpClass::Communication;
  op.leavesUnit = context.contextGroup.size() > context.contextGroup.members.front();
  op.group = OpGroup::Context;
  op.traffic = Bytes(kvBytes * (parts - 1));
  if (layout.contextKind == ContextKind::Ulysses) {
    Seconds each = slices * collectiveTime(context.cluster, CollectiveKind::AllToAll,
                                           Bytes((queryBytes * 2 + kvBytes) * scale / slices), context.contextGroup);
    op.forward = op.forwardLink = each;
    op.backward = op.backwardLink = each;
  } else if (layout.contextKind == ContextKind::AllGather) {
    auto time = [&](CollectiveKind kind) {
      return slices *
             collectiveTime(context.cluster, kind, Bytes(kvBytes * parts * scale / slices), context.contextGroup);
    };
    op.forward = time(CollectiveKind::AllGather);
    op.backward = op.forward + time(CollectiveKind::ReduceScatter);
    op.forwardLink = op.forward;
    op.backwardLink = op.backward;
  } else {
    // Keys and values go round the ring while each piece is computed; the gradients go round with them in backward.
    // Each rank's pair of a leading and a trailing chunk keeps the causal work even.
    int64_t stride = layout.tp;
    Seconds hop = slices * pointToPointTime(context.cluster, Bytes(kvBytes * scale / slices), stride, layout.tp);
    Seconds forward = (parts - 1) * hop, backward = (parts - 1) * 2 * hop;
    Seconds hidden = attention.forward * ((parts - 1) / parts), hiddenBack = attention.backward * ((parts - 1) / parts);
    op.forwardLink = forward;
    op.backwardLink = backward;
    build.hide(forward, hidden);
    build.hide(backward, hiddenBack);
    op.forward = forward;
    op.backward = backward;
    op.forwardKernels = op.backwardKernels = 2 * int(parts - 1) * int(slices);
    attention.forwardKernels *= int(parts);
    attention.backwardKernels *= int(parts);
  }
  build.result().ops.push_back(op);
  if (layout.contextKind == ContextKind::Ring) {
    // Each piece's result is scaled and added to f32 sums; in backward its gradients are added. The causal piece and
    // one half of the queries or of the keys of each other one.
    double own = queryBytes / 4, pieces = 1 + 0.5 * (parts - 1);
    build.stream("context sums", own * 10 * pieces + kvBytes * 2, own * 6 * pieces + kvBytes * 4 * pieces,
                 2 * int(parts), 3 * int(parts), Bytes(0));
  }
}
