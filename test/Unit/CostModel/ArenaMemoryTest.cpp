// Bytes in the arenas of compiled programs, for random shapes: linear in the micro-batch, never more with more sharding
// or narrower values.
#include "lib/CostModel/ArenaMemory.h"
#include "../Support/TestSeed.h"

#include "ppc/CostModel/StepCost.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir::ppc;

namespace {
struct ArenaCase {
  std::mt19937 random;
  ModelShape model;
  TrainingJob job;
  ParallelLayout layout;
  Stack stack = llvm::cantFail(findStack("ppc-host"));
  Cluster cluster = llvm::cantFail(findCluster("local:64"));

  explicit ArenaCase(unsigned seed) : random(seed) {
    model.layers = 4;
    model.headDim = 16 << pick(3);
    model.heads = 8 << pick(2);
    model.kvHeads = pick(2) ? model.heads : model.heads / 2;
    model.hidden = model.heads * model.headDim;
    model.ffn = model.hidden * (2 + pick(3));
    model.gated = pick(2);
    model.vocab = 1024 << pick(4);
    model.tiedEmbeddings = pick(2);
    job = {int64_t(64) << pick(3), 64};
    layout.precision = Precision::F32;
    layout.tp = int64_t(1) << pick(3);
    layout.sequenceParallel = layout.tp > 1 && pick(2);
    layout.microBatch = int64_t(1) << pick(3);
    layout.dp = 2;
  }
  int64_t pick(int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random); }

  struct Held {
    double kept = 0, scratch = 0, forward = 0, backward = 0; // layer and head; messages
  };
  Held held() const {
    PricingContext context(model, job, cluster, layout, stack);
    ModelCosts costs;
    static_cast<LayerPrograms &>(costs) = buildPrograms(context);
    Held sum;
    for (LayerKind kind : {LayerKind::Embedding, LayerKind::Dense, LayerKind::Head}) {
      const LayerProgram &program = costs.programs[int(kind)];
      for (const LayerOp &op : program.ops)
        sum.kept += op.saved.value;
      sum.scratch += program.backwardWorkspace.value;
    }
    auto [forward, backward] = arenaMessages(context);
    sum.forward = forward.value;
    sum.backward = backward.value;
    return sum;
  }
};

void expectNoMore(const ArenaCase::Held &a, const ArenaCase::Held &b) {
  EXPECT_LE(a.kept, b.kept * (1 + 1e-12));
  EXPECT_LE(a.scratch, b.scratch * (1 + 1e-12));
  EXPECT_LE(a.forward, b.forward * (1 + 1e-12));
  EXPECT_LE(a.backward, b.backward * (1 + 1e-12));
}
} // namespace

TEST(ArenaMemory, GrowsWithTheMicroBatchAndShrinksWithSharding) {
  unsigned seed = testSeed();
  for (unsigned round = 0; round < 200; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed + round));
    ArenaCase each(seed + round);
    ArenaCase::Held held = each.held();
    ASSERT_GT(held.kept, 0);
    ASSERT_GT(held.scratch, 0);
    // Saved and scratch bytes are proportional to tokens.
    ArenaCase twice = each;
    twice.layout.microBatch *= 2;
    ArenaCase::Held more = twice.held();
    EXPECT_NEAR(more.kept, 2 * held.kept, 1e-9 * more.kept);
    EXPECT_NEAR(more.scratch, 2 * held.scratch, 1e-9 * more.scratch);
    EXPECT_EQ(more.forward, 2 * held.forward);
    EXPECT_EQ(more.backward, 2 * held.backward);
    // Rounded values take half the bytes; partial sums stay wide.
    ArenaCase narrow = each;
    narrow.layout.precision = Precision::Bf16;
    ArenaCase::Held rounded = narrow.held();
    EXPECT_LT(rounded.kept, held.kept);
    EXPECT_LE(held.kept, 2 * rounded.kept);
    EXPECT_LE(rounded.backward, held.backward);
    // A message forward is the residual stream in f32, either way.
    EXPECT_EQ(rounded.forward, held.forward);
    double tokens = double(each.layout.microBatch) * double(each.job.sequence) /
                    (each.layout.sequenceParallel ? double(each.layout.tp) : 1);
    EXPECT_EQ(held.forward, 4 * tokens * double(each.model.hidden));
    // Twice as many ranks for a tensor hold no more of it.
    ArenaCase cut = each;
    cut.layout.tp *= 2;
    expectNoMore(cut.held(), held);
    if (each.layout.tp > 1) {
      ArenaCase along = each, whole = each;
      along.layout.sequenceParallel = true;
      whole.layout.sequenceParallel = false;
      EXPECT_LT(along.held().kept, whole.held().kept);
    }
  }
}
