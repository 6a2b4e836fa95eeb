// Offload copies overlapped with the layers, and the memory that they free; schedules and steps that result.
#include "../Model/LlamaShape.h"
#include "ppc/CostModel/StepParts.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

using namespace mlir::ppc;

namespace {

struct StageCase {
  ModelShape model = llamaShape(16);
  TrainingJob job{8192, 64};
  ParallelLayout layout;
  Stack stack;
  Cluster cluster = llvm::cantFail(findCluster("dgx-h100:4"));

  StageCase() {
    stack.execution = Execution::Graphs;
    layout.attention = AttentionKernel::Flash3;
  }
  LayerPrice layer(Offload offload, int64_t pp = 4) {
    layout.offload = offload;
    layout.pp = pp;
    PricingContext context(model, job, cluster, layout, stack);
    return priceLayers(context, buildPrograms(context))(LayerKind::Dense, false);
  }
  StepCost step() {
    layout.dp = 32 / (layout.tp * layout.pp * layout.cp);
    StepEstimator estimator;
    return llvm::cantFail(estimator.estimate(model, job, cluster, layout, stack));
  }
};

} // namespace

TEST(StageCost, DevicesShareTheWayToTheHost) {
  Cluster cluster = llvm::cantFail(findCluster("dgx-h100:4"));
  cluster.host = {Bytes(2e12), BytesPerSecond(50e9), 1, BytesPerSecond(0), BytesPerSecond(0)};
  EXPECT_EQ(cluster.hostBandwidth().value, 50e9);
  cluster.host.devicesPerLink = 2;
  EXPECT_EQ(cluster.hostBandwidth().value, 25e9);
  cluster.host.memoryBandwidth = BytesPerSecond(100e9); // streams attain 0.8 of it, for 8 devices
  EXPECT_DOUBLE_EQ(cluster.hostBandwidth().value, 10e9);
}

TEST(StageCost, OverlappedCopiesCostTheMemoryTheyRead) {
  StageCase each;
  each.cluster.host.bandwidth = BytesPerSecond(1e15); // no wait for the link
  LayerPrice kept = each.layer(Offload::None), copied = each.layer(Offload::Activations);
  const Device &device = each.cluster.device();
  double memory = (kept.kept / (device.memoryEfficiency * device.memoryBandwidth)).value;
  ASSERT_GT(memory, 0);
  // A link that fast leaves host memory as the limit: take that away too.
  each.cluster.host.memoryBandwidth = BytesPerSecond(0);
  copied = each.layer(Offload::Activations);
  EXPECT_NEAR((copied.forward - kept.forward).value, memory, 1e-12);
  EXPECT_NEAR((copied.backward - kept.backward).value, memory, 1e-12);
  // A device keeps two chunks' activations: of one stage nothing leaves.
  EXPECT_EQ(each.layer(Offload::Activations, 1).forward.value, each.layer(Offload::None, 1).forward.value);
}

TEST(StageCost, CopiesLongerThanALayerSetItsPace) {
  StageCase each;
  each.cluster.host.bandwidth = BytesPerSecond(2e9);
  LayerPrice kept = each.layer(Offload::None), copied = each.layer(Offload::Activations);
  double copy = (kept.kept / each.cluster.hostBandwidth()).value;
  ASSERT_GT(copy, (kept.backward + kept.weightGradient).value);
  EXPECT_GE(copied.forward.value, copy);
  EXPECT_GE((copied.backward + copied.weightGradient).value, copy);
  EXPECT_LT(copied.forward.value, 1.05 * copy);
}

TEST(StageCost, CopiesWaitForAdaptersOnTheSameLink) {
  // Context parallelism over two nodes sends through the adapters, over one node it does not.
  StageCase each;
  each.layout.contextKind = ContextKind::AllGather;
  auto added = [&](int64_t cp) {
    each.layout.cp = cp;
    each.cluster.host.bandwidth = BytesPerSecond(50e9);
    each.cluster.host.devicesPerLink = 1000; // slow enough to be the pace
    LayerPrice kept = each.layer(Offload::None), copied = each.layer(Offload::Activations);
    return copied.forward.value - (kept.kept / each.cluster.hostBandwidth()).value;
  };
  each.layout.cp = 16;
  PricingContext context(each.model, each.job, each.cluster, each.layout, each.stack);
  Seconds exchange = buildLayer(context, 0).communication();
  ASSERT_GT(exchange.value, 0);
  EXPECT_GE(added(16), 0.99 * exchange.value);
  EXPECT_LT(added(8), exchange.value);
}

TEST(StageCost, OffloadingKeepsTwoMicroBatchesAndWeightGradientOperands) {
  StageCase each;
  each.layout.pp = 4;
  each.layout.schedule = "zb2p";
  StepCost kept = each.step();
  each.layout.offload = Offload::Activations;
  StepCost offloaded = each.step();
  for (size_t stage = 0; stage < 4; ++stage) {
    const MemoryBreakdown &before = kept.stages[stage].memory, &after = offloaded.stages[stage].memory;
    EXPECT_LE(after.activations, before.activations);
    EXPECT_GE((after.activations + after.host).value, 0.999 * before.activations.value) << stage; // peaks may differ
  }
  EXPECT_LT(offloaded.stages[0].memory.activations, kept.stages[0].memory.activations);
  // The last stage defers weight gradients: their operands stay.
  each.layout.schedule = "1f1b";
  StepCost plain = each.step();
  EXPECT_GT(offloaded.stages[3].memory.activations, plain.stages[3].memory.activations);
}

TEST(StageCost, LayersAreOffloadedWithoutAPipelineForWantOfMemory) {
  StageCase each;
  each.layout.zero = 3;
  each.stack.offloadsLayers = true;
  each.stack.fragmentation = 0;
  StepCost kept = each.step();
  each.layout.offload = Offload::Activations;
  EXPECT_EQ(each.step().stages[0].memory.host.value, 0); // everything fits
  const MemoryBreakdown &before = kept.stages[0].memory;
  ASSERT_GT(before.activations.value, 8e9);
  Bytes room = before.total() - Bytes(4e9);
  each.cluster.groups[0].device.memory = room;
  StepCost less = each.step();
  const MemoryBreakdown &after = less.stages[0].memory;
  EXPECT_TRUE(less.fits);
  EXPECT_LE(after.total(), room);
  EXPECT_GT(after.total(), 0.95 * room);
  EXPECT_NEAR((after.activations + after.host).value, before.activations.value, 1);
  each.stack.offloadsLayers = false; // by chunks: of one nothing leaves
  EXPECT_FALSE(each.step().fits);
}

TEST(StageCost, LaterStagesTakeTheRemainingLayers) {
  StageCase each;
  each.model = llamaShape(14);
  each.stack.stageSplit = StageSplit::LaterLayers;
  each.layout.pp = 4;
  each.layout.dp = 8;
  StepDetail detail;
  StepEstimator estimator;
  auto cut = [&] {
    llvm::cantFail(estimator.estimate(each.model, each.job, each.cluster, each.layout, each.stack, &detail));
    return layersPerChunk(each.model, detail.costs.chunks);
  };
  EXPECT_EQ(cut(), (std::vector<int64_t>{3, 3, 4, 4}));
  each.model = llamaShape(20);
  each.layout.vp = 2;
  each.layout.schedule = "interleaved";
  EXPECT_EQ(cut(), (std::vector<int64_t>{2, 2, 3, 3, 2, 2, 3, 3})); // chunk by chunk
}

TEST(StageCost, StepsWithoutABarrierTakeTheLongestDevice) {
  StageCase each;
  each.layout.pp = 4;
  each.layout.schedule = "zb1p";
  StepCost waiting = each.step();
  each.stack.validatesUpdateAfterwards = true;
  StepCost free = each.step();
  EXPECT_LT(free.stepTime, waiting.stepTime);
  double microBatches = double(each.job.globalBatch) / 8;
  for (const StageCost &stage : free.stages)
    EXPECT_GE(free.pipeline.value,
              microBatches * (stage.forward + stage.backward + stage.weightGradient).value * (1 - 1e-9));
}

TEST(StageCost, SchedulesAreFittedWhereTheSoftwareDoesSo) {
  StageCase each;
  each.layout.pp = 4;
  each.layout.schedule = "zb1p";
  each.layout.attention = AttentionKernel::FusedSoftmax; // keeps scores, which weight gradients do not need
  StepCost drawn = each.step();
  each.stack.fittedSchedules = true;
  StepCost fitted = each.step();
  // Later stages fill the memory that the first stage needs with more forwards in flight.
  EXPECT_GT(fitted.stages[3].memory.activations, drawn.stages[3].memory.activations);
  EXPECT_LE(fitted.stepTime.value, drawn.stepTime.value * 1.01);
  each.layout.schedule = "1f1b";
  Seconds plain = each.step().stepTime;
  each.stack.fittedSchedules = false;
  EXPECT_EQ(each.step().stepTime, plain);
}

TEST(StageCost, WaitingForKernelsCostsEachKernel) {
  StageCase each;
  each.stack.execution = Execution::Eager;
  each.stack.launchBlocking = true;
  each.cluster.groups[0].device.hostWait = Seconds(0);
  LayerPrice taken = each.layer(Offload::None);
  each.cluster.groups[0].device.hostWait = Seconds(50e-6);
  LayerPrice waited = each.layer(Offload::None);
  PricingContext context(each.model, each.job, each.cluster, each.layout, each.stack);
  LayerProgram program = buildLayer(context, 0);
  EXPECT_NEAR((waited.forward - taken.forward).value, 50e-6 * program.forwardKernels(), 1e-9);
  EXPECT_NEAR((waited.backward - taken.backward).value, 50e-6 * program.backwardKernels(), 1e-9);
  each.stack.launchBlocking = false;
  each.cluster.groups[0].device.hostWait = Seconds(1);
  EXPECT_LT(each.layer(Offload::None).forward, taken.forward);
}

TEST(StageCost, FullStagesComeFirst) {
  StageCase each;
  each.layout.pp = 12;
  each.stack.stageSplit = StageSplit::FullLayers;
  PricingContext context(each.model, each.job, each.cluster, each.layout, each.stack);
  for (int64_t layers : {12, 13, 24, 71, 72, 78, 83}) {
    each.model.layers = layers;
    std::vector<int64_t> counts = cutLayers(context, buildPrograms(context));
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t(0)), layers);
    EXPECT_TRUE(std::is_sorted(counts.rbegin(), counts.rend())) << layers;
    EXPECT_EQ(counts.front(), (layers + 11) / 12);
    EXPECT_GE(counts.back(), 1);
  }
  each.model.layers = 78;
  EXPECT_EQ(cutLayers(context, buildPrograms(context)), (std::vector<int64_t>{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1}));
}

TEST(StageCost, StateExchangeOfAMachineIsDelayedOncePerStep) {
  StageCase each;
  each.layout.zero = 1;
  each.stack.overlapGradientReduction = false;
  StepCost plain = each.step();
  each.cluster.stateExchangeDelay = Seconds(1e-9);
  StepCost delayed = each.step();
  double parameters = plain.stages[0].memory.parameters.value / 2;
  EXPECT_NEAR((delayed.stepTime - plain.stepTime).value, 1e-9 * parameters, 1e-6);
  Cluster again = llvm::cantFail(parseCluster("again", writeCluster(each.cluster)));
  EXPECT_EQ(again.stateExchangeDelay, each.cluster.stateExchangeDelay);
}

TEST(StageCost, FragmentsNeverEndARun) {
  StageCase each;
  each.layout.tp = 8;
  each.stack.fragmentation = 0;
  Bytes exact = each.step().stages[0].memory.total();
  each.stack.fragmentation = 0.5;
  each.cluster.groups[0].device.memory = exact + Bytes(1e6);
  MemoryBreakdown tight = each.step().stages[0].memory;
  EXPECT_LT(tight.allocator.value, 1e6);
  EXPECT_LE(tight.total(), each.cluster.device().memory);
  each.cluster.groups[0].device.memory = 100 * exact;
  MemoryBreakdown roomy = each.step().stages[0].memory;
  EXPECT_NEAR(roomy.allocator.value, 0.5 * (roomy.activations + roomy.workspace).value, 0.02 * roomy.allocator.value);
}

TEST(StageCost, AttentionIsTheBestThatStackAndDeviceHave) {
  Stack stack;
  Device hopper = llvm::cantFail(findDevice("H100-SXM-80GB")), ampere = llvm::cantFail(findDevice("A100-SXM-80GB"));
  EXPECT_EQ(defaultAttention(hopper, stack), AttentionKernel::Flash3);
  EXPECT_EQ(defaultAttention(ampere, stack), AttentionKernel::Flash2);
  stack.attention = AttentionKernel::FusedSoftmax;
  EXPECT_EQ(defaultAttention(hopper, stack), AttentionKernel::FusedSoftmax);
}

// Experts and an index branch begin at layers of their own and come at distances of their own.
TEST(StageCost, EachLayerHasTheParametersOfItsKind) {
  StageCase test;
  ModelShape &model = test.model;
  model.layers = 12;
  model.kvHeads = model.heads;
  model.latent = {1536, 512, 128, 64, 128};
  model.moe.experts = 16;
  model.moe.topK = 2;
  model.moe.ffn = 1024;
  model.moe.firstLayer = 5;
  model.index.topK = 2048;
  model.index.heads = 32;
  model.index.headDim = 128;
  model.index.first = 3;
  model.index.every = 4;
  ASSERT_FALSE(bool(verifyModelShape(model)));
  PricingContext context(model, test.job, test.cluster, test.layout, test.stack);
  LayerPrograms programs = buildPrograms(context);
  std::array<int64_t, layerKinds> counts{};
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerKind kind = layerKind(model, layer);
    ++counts[int(kind)];
    EXPECT_EQ(hasIndex(kind), model.hasIndex(layer)) << layer;
    EXPECT_EQ(hasExperts(kind), model.hasExperts(layer)) << layer;
    const LayerProgram &program = programs.programs[int(kind)];
    EXPECT_EQ(program.parameters + program.expertParameters, double(countLayerParameters(model, layer).total)) << layer;
  }
  for (LayerKind kind : {LayerKind::Dense, LayerKind::DenseIndex, LayerKind::Expert, LayerKind::ExpertIndex})
    EXPECT_GT(counts[int(kind)], 0) << layerKindName(int(kind)).str();
}
