// The planner's communication time equals the sum over the entries of the per-rank accounting, and nothing else: for
// random models and layouts of compiled programs, tensor parallelism in rows among them (FeatureExchange.cpp; ledger.py
// compares the entries with programs: "tp-rows").
#include "ppc/CostModel/PricedLedger.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace mlir::ppc;

namespace {

struct LedgerCase {
  std::mt19937 random;
  ModelShape model;
  TrainingJob job;
  ParallelLayout layout;
  Stack stack = llvm::cantFail(findStack("ppc-host"));
  Cluster cluster = llvm::cantFail(findCluster("local:64"));

  explicit LedgerCase(unsigned seed) : random(seed) {
    model.layers = 1 + pick(5);
    model.headDim = 1 + pick(16);
    model.kvHeads = 1 + pick(6);
    model.heads = model.kvHeads * (1 + pick(4));
    model.hidden = 16 * (1 + pick(8));
    model.ffn = 1 + pick(200);
    model.gated = pick(2);
    model.vocab = 64 + pick(500);
    model.tiedEmbeddings = pick(2);
    model.queryKeyNorm = pick(2);
    model.attentionBias = pick(2);
    if (pick(3) == 0)
      model.moe.experts = 4, model.moe.topK = 2, model.moe.ffn = 8 + pick(9), model.moe.sharedFfn = 8 * pick(2);
    layout.precision = pick(2) ? Precision::F32 : Precision::Bf16;
    layout.tp = 1 + pick(std::min<int64_t>(4, model.heads));
    layout.pp = 1 + pick(3);
    layout.dp = 1 + pick(3);
    layout.sequenceParallel = layout.tp > 1 && pick(2);
    layout.zero = pick(2);
    layout.microBatch = 1 + pick(3);
    layout.schedule = pick(2) ? "1f1b" : "zb1p";
    layout.recompute = Recompute(pick(3));
    job = {4 + pick(60), layout.dp * layout.microBatch * (1 + pick(4))};
    layout.tpRows = layout.sequenceParallel && layout.tp % 2 == 0 ? 1 + pick(2) : 1;
  }
  int64_t pick(int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); }
};

bool isNear(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-15; }

TEST(PricedLedger, SecondsMatchTheEntries) {
  int priced = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LedgerCase drawn(seed);
    drawn.stack.asyncTensorBackward = false; // rows are what is communicated, hidden or not
    StepDetail detail;
    llvm::Expected<StepCost> cost =
        StepEstimator().estimate(drawn.model, drawn.job, drawn.cluster, drawn.layout, drawn.stack, &detail);
    if (!cost) { // more stages than layers
      llvm::consumeError(cost.takeError());
      continue;
    }
    ++priced;
    PricingContext context(drawn.model, drawn.job, drawn.cluster, drawn.layout, drawn.stack);
    Ledger ledger = priceLedger(context, detail);
    std::map<int64_t, double> inLayers, reduced, gathered;
    for (const TransferRow &row : ledger.transfers) {
      if (row.kind == TransferKind::Message)
        continue;
      bool once = row.phase == LedgerPhase::Prepare || row.phase == LedgerPhase::Update;
      std::map<int64_t, double> &sums = !once ? inLayers : row.kind == TransferKind::AllGather ? gathered : reduced;
      sums[row.device] += transferTime(context, row).value;
    }
    double microBatches = double(drawn.layout.microBatches(drawn.job));
    for (size_t device = 0; device < cost->stages.size(); ++device) {
      const StageCost &stage = cost->stages[device];
      EXPECT_TRUE(isNear(stage.communication.value * microBatches, inLayers[device]));
      EXPECT_TRUE(isNear(stage.parameterGather.value, gathered[device]));
      double delay = drawn.layout.dataRanks() > 1 ? drawn.cluster.stateExchangeDelay.value : 0;
      EXPECT_EQ(delay, 0);
      EXPECT_TRUE(isNear(stage.gradientReduction.value, reduced[device]));
    }
  }
  EXPECT_GT(priced, 200);
}

/// A machine on which only matmuls and collectives take time.
void takeTimeOnlyForRows(Cluster &cluster) {
  Device &device = cluster.groups.front().device;
  device.memoryBandwidth = BytesPerSecond(1e40);
  device.launchFloor = Seconds(0);
  device.communicationShare = 0;
}

TEST(PricedLedger, SecondsOfMatmulsMatchTheEntries) {
  int priced = 0, attention = 0, recomputed = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LedgerCase drawn(seed);
    takeTimeOnlyForRows(drawn.cluster);
    StepDetail detail;
    llvm::Expected<StepCost> cost =
        StepEstimator().estimate(drawn.model, drawn.job, drawn.cluster, drawn.layout, drawn.stack, &detail);
    if (!cost) { // more stages than layers
      llvm::consumeError(cost.takeError());
      continue;
    }
    ++priced;
    PricingContext context(drawn.model, drawn.job, drawn.cluster, drawn.layout, drawn.stack);
    std::map<int64_t, double> seconds;
    std::map<std::tuple<int64_t, LedgerPhase, bool>, int64_t> flops;
    for (const ProductRow &row : priceProducts(context, detail)) {
      seconds[row.device] += double(row.times) * productTime(context.device(), row.product).value;
      flops[{row.device, row.phase, row.attention}] += row.times * row.product.calls * row.product.flops();
      attention += row.attention;
    }
    recomputed += drawn.layout.recompute != Recompute::None;
    double microBatches = double(drawn.layout.microBatches(drawn.job));
    for (size_t device = 0; device < cost->stages.size(); ++device) {
      const StageCost &stage = cost->stages[device];
      Seconds all = stage.forward + stage.backward + stage.weightGradient - stage.communication;
      EXPECT_TRUE(isNear(all.value * microBatches, seconds[device]))
          << all.value * microBatches << " " << seconds[device];
    }
    for (const WorkRow &row : priceLedger(context, detail).work)
      EXPECT_EQ(row.flops, (flops[{row.device, row.phase, row.attention}]));
  }
  EXPECT_GT(priced, 200);
  EXPECT_GT(attention, 200);
  EXPECT_GT(recomputed, 100);
}

TEST(PricedLedger, RowsOfOtherStacksAreNone) {
  LedgerCase drawn(1);
  drawn.stack = llvm::cantFail(findStack("megatron-core"));
  drawn.layout = {};
  drawn.job = {64, 8};
  llvm::Expected<Ledger> ledger = priceLedger(drawn.model, drawn.job, drawn.cluster, drawn.layout, drawn.stack);
  ASSERT_TRUE(bool(ledger));
  EXPECT_TRUE(ledger->transfers.empty());
}

} // namespace
