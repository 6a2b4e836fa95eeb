// The mixture-of-experts feed-forward on one rank: routing, dispatch, grouped products, combine, shared experts.
#include "TransformerLayer.h"

#include "ppc/Sharding/ReshardPlanner.h"

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

void TransformerLayer::moveTokens(LayerOp &op, LayerTransfer::When when, int64_t bits, double width, bool back,
                                  bool joins, bool wasGathered) {
  enum { Batches, Tensor, Sequences };
  const int64_t batches = layout.expertBatches(), sequences = layout.expertSequences();
  const LayoutAxis grid[] = {{"batches", batches}, {"tp", layout.tp}, {"sequences", sequences}};
  const int64_t shape[] = {layout.microBatch * batches, context.job.sequence / layout.cp * sequences, int64_t(width)};
  joins &= layout.tp > 1 && !layout.sequenceParallel;
  Layout own, whole;
  own.dims.resize(3);
  if (batches > 1)
    own.dims[0] = {Batches};
  if (sequences > 1)
    own.dims[1] = {Sequences};
  if (joins)
    own.partial = {Tensor};
  if (layout.sequenceParallel && layout.tp > 1 && !wasGathered)
    own.dims[1].push_back(Tensor);
  whole.dims.resize(3);
  if (back)
    for (int axis : {int(Batches), int(Tensor), int(Sequences)})
      if (grid[axis].size > 1)
        whole.partial.push_back(axis);
  auto elements = [&](const Layout &of) {
    int64_t count = 1;
    for (int64_t extent : localShape(shape, of, grid))
      count *= extent;
    return count;
  };
  Layout before = back ? whole : own;
  ReshardPlan plan = llvm::cantFail(planReshard(grid, shape, bits / 8, before, back ? own : whole));
  for (const ReshardStep &step : plan.steps) {
    LayerTransfer transfer{when, TransferKind::AllReduce, 1, 1, bits, elements(step.result)};
    if (step.kind == ReshardKind::AllGather || step.kind == ReshardKind::ReduceScatter) {
      transfer.kind = step.kind == ReshardKind::AllGather ? TransferKind::AllGather : TransferKind::ReduceScatter;
      transfer.elements =
          groupSize(step.axes, grid) * elements(step.kind == ReshardKind::AllGather ? before : step.result);
    }
    before = step.result;
    if (step.kind == ReshardKind::Slice)
      continue;
    bool overTensor = llvm::is_contained(step.axes, int(Tensor));
    int64_t inner = llvm::is_contained(step.axes, int(Sequences)) ? sequences : 1; // neighbours behind those of tp
    transfer.ranks = overTensor ? layout.tp * inner : inner;
    transfer.stride = overTensor ? 1 : layout.tp;
    if (llvm::is_contained(step.axes, int(Batches)))
      transfer.outerRanks = batches, transfer.outerStride = layout.tp * layout.cp;
    build.addTransfer(op, transfer);
  }
  if (joins)
    build.addTransfer(op, over(when, TransferKind::AllReduce, bits, tokens * width));
}

bool TransformerLayer::sumsWithShared() const {
  return layout.tp > 1 && model.moe.sharedFfn && !model.moe.sharedGate && !layout.sequenceParallel;
}

void TransformerLayer::gatherForExperts() {
  using When = LayerTransfer::When;
  double choices = double(model.moe.topK), whole = tp * streamTokens;
  LayerOp &op = build.transfers("expert input", {});
  moveTokens(op, When::Forward, 32, hidden, /*back=*/false);
  moveTokens(op, When::Backward, 32, hidden, /*back=*/true, /*joins=*/sumsWithShared());
  // Gradients of the weights of choices: where these are scaled, that is done before the sum.
  moveTokens(op, When::Backward, 32, choices, /*back=*/true, /*joins=*/model.moe.scoreBias);
  for (int i = 0; i < 2; ++i) // which they are, and their weights
    for (When when : {When::Forward, When::Again})
      moveTokens(op, when, 32, choices, /*back=*/false);
  if (layout.tp == 1 || !model.moe.sharedFfn || sumsWithShared())
    return;
  // What shared experts read, and what becomes of it, with the gate's once more.
  LayerTransfer inputs = layout.sequenceParallel ? over(When::Backward, TransferKind::ReduceScatter, 32, whole * hidden)
                                                 : over(When::Backward, TransferKind::AllReduce, 32, tokens * hidden);
  inputs.calls = model.moe.sharedGate ? 2 : 1;
  build.addTransfer(op, inputs);
  if (!layout.sequenceParallel)
    return;
  When again = When::ForWeights;
  if (narrowBits() == 16) { // in f32 forward has it as a part of what is gathered for experts
    build.addTransfer(op, over(When::Forward, TransferKind::AllGather, 16, whole * hidden));
    again = When::AgainForWeights;
  }
  build.addTransfer(op, over(again, TransferKind::AllGather, narrowBits(), whole * hidden));
}

void TransformerLayer::scatterFromExperts() {
  using When = LayerTransfer::When;
  bool isCut = layout.sequenceParallel && layout.tp > 1, hasShared = layout.tp > 1 && model.moe.sharedFfn;
  double whole = tp * streamTokens;
  if (hasShared && model.moe.sharedGate)
    leaveSharedExperts();
  size_t first = build.result().ops.size();
  LayerOp &op = build.transfers("expert output", {});
  moveTokens(op, When::Forward, 32, hidden, /*back=*/true, /*joins=*/sumsWithShared());
  if (isCut && hasShared && !model.moe.sharedGate)
    build.addTransfer(op, over(When::Forward, TransferKind::ReduceScatter, 32, whole * hidden));
  bool narrowShared = narrowBits() == 16 || model.moe.sharedGate;
  if (isCut && hasShared && !narrowShared) { // the shared experts' gradient is gathered, and goes on from there
    build.addTransfer(op, over(When::Backward, TransferKind::AllGather, 32, whole * hidden));
    moveTokens(op, When::Backward, 32, hidden, /*back=*/false, /*joins=*/false, /*wasGathered=*/true);
  } else {
    moveTokens(op, When::Backward, 32, hidden, /*back=*/false);
    if (isCut && hasShared)
      build.addTransfer(op, over(When::Backward, TransferKind::AllGather, narrowBits(), whole * hidden));
  }
  endLayer(first);
}

void TransformerLayer::enterExperts() {
  using When = LayerTransfer::When;
  if (layout.expertRanks() > 1)
    return gatherForExperts();
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

/// Backward reads what the gate scales, and the gate.
void TransformerLayer::leaveSharedExperts() {
  using When = LayerTransfer::When;
  bool isCut = layout.sequenceParallel;
  double whole = tp * streamTokens;
  TransferKind sum = isCut ? TransferKind::ReduceScatter : TransferKind::AllReduce;
  LayerOp &shared =
      build.transfers("shared expert output", {over(When::Forward, sum, 32, isCut ? whole * hidden : tokens * hidden)});
  if (!isCut)
    return;
  build.addTransfer(shared, over(When::Forward, TransferKind::AllGather, 32, whole));
  build.addTransfer(shared, over(When::Backward, TransferKind::AllGather, 32, whole));
}

void TransformerLayer::leaveExperts() {
  using When = LayerTransfer::When;
  if (layout.expertRanks() > 1)
    return scatterFromExperts();
  if (layout.tp == 1)
    return;
  bool isCut = layout.sequenceParallel;
  double whole = tp * streamTokens, elements = isCut ? whole * hidden : tokens * hidden;
  TransferKind sum = isCut ? TransferKind::ReduceScatter : TransferKind::AllReduce;
  bool narrowShared = model.moe.sharedFfn && (narrowBits() == 16 || model.moe.sharedGate);
  if (model.moe.sharedGate)
    leaveSharedExperts();
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
  bool byExpert = layout.ep > 1;
  int64_t experts = moe.experts / layout.ep;
  double rows = tokens * double(layout.expertRanks() * experts);
  double width = byExpert ? double(moe.ffn) : largestShare(moe.ffn, layout.tp), inner = rows * width;
  build.stream("dispatch", rows * hidden * 4, rows * hidden * 4, 1, 1, Bytes(0));
  build.experts("expert up-projection", experts, rows, 2 * width, hidden, Bytes(0));
  build.stream("expert activation", inner * 6, inner * 10, 1, 1, Bytes(0));
  build.experts("expert down-projection", experts, rows, hidden, width, Bytes(0));
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
    build.stream("expert biases", rows * hidden * 28, rows * hidden * 40, 3 * int(groups), 7 * int(groups), Bytes(0))
        .byExpert = true;
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
