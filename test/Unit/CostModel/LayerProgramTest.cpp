// Ops of layers: those that low precision, experts, context parallelism, chunked matmuls and recomputation add.
#include "../Model/LlamaShape.h"
#include "ppc/CostModel/StepCost.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir::ppc;

namespace {

ModelShape denseModel() { return llamaShape(8); }

ModelShape expertModel() {
  ModelShape model = denseModel();
  model.name = "experts";
  model.moe.experts = 64;
  model.moe.topK = 8;
  model.moe.ffn = 1536;
  return model;
}

/// A model, a layout and a stack on nodes of eight H100.
struct LayerCase {
  ModelShape model = denseModel();
  TrainingJob job{4096, 128};
  ParallelLayout layout;
  Stack stack;
  Cluster cluster;

  LayerCase() : cluster(llvm::cantFail(findCluster("dgx-h100:4"))) {
    layout.attention = AttentionKernel::Cudnn;
    layout.zero = 1;
    stack.execution = Execution::Graphs; // no host time
  }
  LayerProgram layer() const {
    PricingContext context(model, job, cluster, layout, stack);
    return buildLayer(context, model.layers - 1);
  }
  StepCost step() {
    layout.dp = 32 / (layout.tp * layout.pp * layout.cp);
    StepEstimator estimator;
    return llvm::cantFail(estimator.estimate(model, job, cluster, layout, stack));
  }
};

Seconds timeOf(const LayerProgram &program, llvm::StringRef name) {
  Seconds total;
  for (const LayerOp &op : program.ops)
    if (op.name == name)
      total += op.forward + op.backward + op.weightGradient;
  return total;
}

Seconds total(const LayerProgram &program) { return program.forward() + program.backward() + program.weightGradient(); }

Bytes trafficOf(const LayerProgram &program, llvm::StringRef name) {
  Bytes sum;
  for (const LayerOp &op : program.ops)
    if (op.name == name)
      sum += op.traffic;
  return sum;
}

} // namespace

TEST(LayerProgram, NarrowMatmulsQuantizeTheirOperands) {
  LayerCase wide, narrow;
  narrow.layout.precision = Precision::Fp8;
  EXPECT_EQ(timeOf(wide.layer(), "quantization").value, 0);
  EXPECT_GT(timeOf(narrow.layer(), "quantization").value, 0);
  EXPECT_LT(total(narrow.layer()), total(wide.layer()));
  // Forward makes the operands of the four matmuls, 4 bytes an element, and once a step the weights.
  double tokens = 4096, inputs = 4096 + 4096 + 4096 + 14336;
  double weights = 4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 3 * 4096.0 * 14336;
  PricingContext context(narrow.model, narrow.job, narrow.cluster, narrow.layout, narrow.stack);
  double microBatches = double(narrow.layout.microBatches(narrow.job));
  EXPECT_NEAR(trafficOf(narrow.layer(), "quantization").value, 4 * (tokens * inputs + weights / microBatches), 1);
}

TEST(LayerProgram, FourBitsReadTheirOperandsTwice) {
  LayerCase eight, four;
  eight.cluster = four.cluster = llvm::cantFail(findCluster("dgx-b200:4"));
  eight.layout.precision = Precision::Mxfp8;
  four.layout.precision = Precision::Fp4;
  // 2 + 2 bytes an element against 2 + 2 + 1.
  EXPECT_NEAR(trafficOf(four.layer(), "quantization") / trafficOf(eight.layer(), "quantization"), 5.0 / 4, 1e-6);
}

TEST(LayerProgram, HeadAndRouterStayInSixteenBits) {
  LayerCase narrow;
  narrow.model = expertModel();
  narrow.layout.precision = Precision::Fp8;
  LayerCase wide = narrow;
  wide.layout.precision = Precision::Bf16;
  EXPECT_EQ(timeOf(narrow.layer(), "router"), timeOf(wide.layer(), "router"));
  PricingContext left(narrow.model, narrow.job, narrow.cluster, narrow.layout, narrow.stack);
  PricingContext right(wide.model, wide.job, wide.cluster, wide.layout, wide.stack);
  EXPECT_EQ(buildHead(left).forward(), buildHead(right).forward());
}

TEST(LayerProgram, MegatronsSoftmaxTakesBlocksOfFourMatrices) {
  LayerCase each;
  each.layout.attention = AttentionKernel::FusedSoftmax;
  each.layout.tp = 8; // four heads
  each.stack.causalSoftmax = true;
  auto scores = [&](int64_t heads, int64_t microBatch) {
    each.model.heads = each.model.kvHeads = 8 * heads;
    each.layout.microBatch = microBatch;
    return timeOf(each.layer(), "attention softmax") / Seconds(double(heads * microBatch));
  };
  double fused = scores(4, 1);
  EXPECT_NEAR(scores(2, 2), fused, 0.02 * fused);
  EXPECT_NEAR(scores(8, 1), fused, 0.02 * fused);
  EXPECT_GT(scores(2, 1), 5 * fused);
  EXPECT_GT(scores(3, 2), 5 * fused);
  each.stack.causalSoftmax = false;
  EXPECT_LT(scores(2, 1), 2 * fused);
}

TEST(LayerProgram, TokensTravelOncePerNode) {
  LayerCase all, once;
  all.model = once.model = expertModel();
  all.layout.ep = once.layout.ep = 32;
  once.stack.nodeDispatch = true;
  // Eight experts on four nodes: 4 (1 - (3/4)^8) nodes are met on average.
  double met = 4 * (1 - std::pow(0.75, 8));
  EXPECT_NEAR(trafficOf(once.layer(), "dispatch") / trafficOf(all.layer(), "dispatch"), met / 8, 1e-9);
  EXPECT_LT(timeOf(once.layer(), "dispatch"), timeOf(all.layer(), "dispatch"));
  once.model.moe.groups = 8;
  once.model.moe.groupsPerToken = 4;
  EXPECT_NEAR(trafficOf(once.layer(), "dispatch") / trafficOf(all.layer(), "dispatch"), 2.0 / 8, 1e-9);
}

TEST(LayerProgram, FusedExpertsDropTheFusedOps) {
  LayerCase apart, fused;
  apart.model = fused.model = expertModel();
  apart.layout.ep = fused.layout.ep = 8;
  apart.layout.precision = fused.layout.precision = Precision::Fp8;
  fused.stack.fusedExperts = true;
  EXPECT_GT(timeOf(apart.layer(), "expert activation").value, 0);
  EXPECT_EQ(timeOf(fused.layer(), "expert activation").value, 0);
  EXPECT_EQ(timeOf(fused.layer(), "dispatch permutation").value, 0);
  EXPECT_LT(timeOf(fused.layer(), "quantization"), timeOf(apart.layer(), "quantization"));
  EXPECT_EQ(timeOf(fused.layer(), "expert up-projection"), timeOf(apart.layer(), "expert up-projection"));
}

TEST(LayerProgram, OverlappedExchangeHidesNoMoreThanItself) {
  LayerCase plain, overlapped;
  plain.model = overlapped.model = expertModel();
  plain.layout.ep = overlapped.layout.ep = 32;
  overlapped.stack.overlapExperts = true;
  Seconds exchange = timeOf(plain.layer(), "dispatch") + timeOf(plain.layer(), "combine");
  EXPECT_LT(total(overlapped.layer()), total(plain.layer()));
  EXPECT_GT(total(overlapped.layer()), total(plain.layer()) - exchange);
}

TEST(LayerProgram, RecomputationStopsAtTheLastValueThatIsRead) {
  LayerCase whole, early;
  early.stack.recomputeStopsEarly = true;
  EXPECT_EQ(whole.layer().recomputeFull(), whole.layer().forward());
  Seconds unread = early.layer().forward() - early.layer().recomputeFull();
  Seconds last;
  for (const LayerOp &op : early.layer().ops)
    if (op.name == "feed-forward down-projection" || op.name == "feed-forward residual")
      last += op.forward;
  EXPECT_NEAR(unread.value, last.value, 1e-12);
}

TEST(LayerProgram, ModulesAreRecomputedAndNotKept) {
  LayerCase kept, again;
  kept.model = again.model = expertModel();
  again.stack.recomputeExpertActivation = true;
  EXPECT_EQ(kept.layer().recomputePartial(false).value, 0);
  EXPECT_GT(again.layer().recomputePartial(false).value, 0);
  EXPECT_LT(again.layer().saved(), kept.layer().saved());
}

TEST(LayerProgram, PaddedVocabulariesKeepTheRateOfTheLogits) {
  LayerCase each;
  each.model.vocab = 250680; // 31,335 columns on each of eight ranks
  each.layout.tp = 8;
  PricingContext odd(each.model, each.job, each.cluster, each.layout, each.stack);
  EXPECT_EQ(odd.paddedVocabulary(), 250680);
  each.stack.vocabularyMultiple = 128;
  PricingContext padded(each.model, each.job, each.cluster, each.layout, each.stack);
  EXPECT_EQ(padded.paddedVocabulary(), 250880);
  LayerProgram slow = buildHead(odd), fast = buildHead(padded);
  EXPECT_LT(timeOf(fast, "logits"), 0.6 * timeOf(slow, "logits"));
  EXPECT_EQ(fast.parameters - slow.parameters, 25.0 * double(each.model.hidden));
}

TEST(LayerProgram, ClampedGatesPassOverTheirInputsAgain) {
  LayerCase each;
  each.model = expertModel();
  each.layout.ep = 8;
  LayerProgram plain = each.layer();
  each.stack.clampedGate = true;
  LayerProgram clamped = each.layer();
  EXPECT_GT(timeOf(clamped, "expert activation"), 2 * timeOf(plain, "expert activation"));
  EXPECT_GT(clamped.saved(), plain.saved());
  each.stack.recomputeExpertActivation = true;
  LayerProgram again = each.layer();
  each.stack.clampedGate = false;
  EXPECT_EQ(again.saved(), each.layer().saved());
}

TEST(LayerProgram, ContextParallelAttentionCostsMoreThanItsShare) {
  LayerCase whole, cut;
  whole.job.sequence = cut.job.sequence = 16384;
  cut.layout.cp = 4;
  double share = timeOf(cut.layer(), "attention") / timeOf(whole.layer(), "attention");
  EXPECT_GT(share, 0.2); // unmasked chunks waste nothing on the diagonal
  EXPECT_LT(share, 0.35);
  EXPECT_GT(timeOf(cut.layer(), "context sums").value, 0);
  EXPECT_EQ(timeOf(whole.layer(), "context sums").value, 0);
}

TEST(LayerProgram, ChunkedMatmulsHideTheirCollectives) {
  LayerCase exposed, cut;
  exposed.layout.tp = cut.layout.tp = 4;
  exposed.layout.sequenceParallel = cut.layout.sequenceParallel = true;
  exposed.stack.asyncTensorBackward = cut.stack.asyncTensorBackward = false;
  cut.stack.overlapTensorParallel = true;
  EXPECT_LT(cut.layer().communication(), exposed.layer().communication());
  // Hidden collectives cost the matmuls their share of multiprocessors.
  EXPECT_GT(cut.layer().communication().value, 0);
}

TEST(StepCost, PredictionLayersCostAboutALayerAndAHead) {
  LayerCase without, with;
  with.model.predictionLayers = 1;
  PricingContext context(without.model, without.job, without.cluster, without.layout, without.stack);
  LayerProgram head = buildHead(context), layer = without.layer();
  Seconds expected = 4 * (total(head) + total(layer)); // four micro-batches on 32 devices
  EXPECT_NEAR((with.step().pipeline - without.step().pipeline).value, expected.value, 0.02 * expected.value);
}

TEST(StepCost, LaunchingExpertsOneByOneSlowsExpertsDown) {
  LayerCase graphs, eager;
  graphs.model = eager.model = expertModel();
  graphs.layout.precision = eager.layout.precision = Precision::Mxfp8;
  graphs.job.sequence = eager.job.sequence = 512; // little for the device to do
  eager.stack.execution = Execution::Eager;
  LayerCase partial = graphs;
  partial.stack.eagerExperts = true;
  EXPECT_LT(graphs.step().stepTime, partial.step().stepTime);
  EXPECT_LE(partial.step().stepTime, eager.step().stepTime);
}

TEST(StepCost, CopiesOfShardsCostTimeUnderFullShardingOnly) {
  LayerCase plain, copied;
  copied.stack.copiesShards = true;
  EXPECT_EQ(plain.step().stepTime, copied.step().stepTime);
  plain.layout.zero = copied.layout.zero = 3;
  EXPECT_LT(plain.step().stepTime, copied.step().stepTime);
}
