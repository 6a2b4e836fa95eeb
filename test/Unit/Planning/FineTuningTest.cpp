// Fine-tuning as switches of a stack: its costs and savings, against counts by hand.
#include "ppc/Planning/FineTuning.h"
#include "../Model/LlamaShape.h"
#include "ppc/CostModel/StepCost.h"
#include "gtest/gtest.h"

using namespace mlir::ppc;

namespace {

struct Price {
  Seconds step;
  Bytes parameters, gradients, optimizer, activations;
};

Price priceOf(const FineTuning &tuning, ParallelLayout layout = {}) {
  ModelShape model = llamaShape(32);
  TrainingJob job{4096, 16};
  Cluster cluster = llvm::cantFail(restrictCluster(llvm::cantFail(findCluster("dgx-h100:1")), layout.devices()));
  Stack stack = llvm::cantFail(findStack("megatron-core"));
  PlanConstraints constraints;
  EXPECT_FALSE(bool(verifyTuning(tuning, model, job, stack)));
  applyTuning(tuning, job, model, stack, constraints);
  StepEstimator estimator;
  StepCost cost = llvm::cantFail(estimator.estimate(model, job, cluster, layout, stack));
  const MemoryBreakdown &memory = cost.stages[0].memory;
  return {cost.stepTime, memory.parameters, memory.gradients, memory.optimizer, memory.activations};
}

FineTuning lora(int64_t rank, int64_t bits = 16) {
  FineTuning tuning;
  tuning.adapterRank = rank;
  tuning.baseBits = bits;
  return tuning;
}

} // namespace

TEST(FineTuning, AdaptersOfEveryMatmulAreCounted) {
  // Llama 3 8B: 16 x 32 x (4 x (4096 + 4096 or 1024) + 3 x (4096 + 14336)).
  EXPECT_EQ(trainedParameters(lora(16), llamaShape(32)), 41943040);
}

TEST(FineTuning, FrozenWeightsHaveNoGradientsAndNoState) {
  Price all = priceOf({}), adapters = priceOf(lora(16)), narrow = priceOf(lora(16, 4));
  double parameters = double(countParameters(llamaShape(32)).total), trained = 41943040;
  EXPECT_NEAR(all.optimizer.value, 12 * parameters, 0.01 * all.optimizer.value);
  EXPECT_NEAR(adapters.optimizer.value, 12 * trained, 0.01 * 12 * trained);
  EXPECT_NEAR(adapters.gradients.value, 4 * trained, 0.01 * 4 * trained);
  EXPECT_NEAR(adapters.parameters.value, 2 * (parameters + trained), 0.01 * all.parameters.value);
  EXPECT_NEAR(narrow.parameters.value, 0.5 * parameters + 2 * trained, 0.01 * all.parameters.value);
  // Two of three passes over the matmuls are left, and widening takes time.
  EXPECT_LT(adapters.step.value, 0.85 * all.step.value);
  EXPECT_GT(adapters.step.value, 0.6 * all.step.value);
  EXPECT_GT(narrow.step.value, adapters.step.value);
}

TEST(FineTuning, FrozenLayersEndBackward) {
  FineTuning half;
  half.frozenLayers = 16;
  Price all = priceOf({}), frozen = priceOf(half);
  EXPECT_NEAR(frozen.activations.value, 0.5 * all.activations.value, 0.1 * all.activations.value);
  EXPECT_LT(frozen.step.value, 0.75 * all.step.value);
  EXPECT_GT(frozen.step.value, 0.6 * all.step.value);
}

TEST(FineTuning, AReferenceIsACopyOfTheWeights) {
  FineTuning preferences;
  preferences.objective = Objective::Dpo;
  double parameters = double(countParameters(llamaShape(32)).total);
  EXPECT_NEAR((priceOf(preferences).parameters - priceOf({}).parameters).value, 2 * parameters, 0.01 * parameters);
  ParallelLayout sharded;
  sharded.dp = 8;
  sharded.zero = 3;
  EXPECT_NEAR((priceOf(preferences, sharded).parameters - priceOf({}, sharded).parameters).value, 2 * parameters / 8,
              0.01 * parameters);
  // With adapters the policy is its own reference.
  FineTuning both = lora(16);
  both.objective = Objective::Dpo;
  EXPECT_EQ(priceOf(both).parameters.value, priceOf(lora(16)).parameters.value);
}

TEST(FineTuning, PackedDocumentsAttendWithinDocuments) {
  FineTuning packed;
  packed.packedLength = 512;
  EXPECT_LT(priceOf(packed).step.value, priceOf({}).step.value);
  packed.packedLength = 4096;
  EXPECT_EQ(priceOf(packed).step.value, priceOf({}).step.value);
}

TEST(FineTuning, OptionsWithoutEffectAreRefused) {
  ModelShape model = llamaShape(32);
  Stack stack = llvm::cantFail(findStack("megatron-core"));
  auto why = [&](FineTuning tuning, TrainingJob job = {4096, 16}) {
    return llvm::toString(verifyTuning(tuning, model, job, stack));
  };
  FineTuning tuning = lora(16);
  tuning.frozenLayers = 2;
  EXPECT_NE(why(tuning).find("exclude each other"), std::string::npos);
  EXPECT_NE(why(lora(0, 4)).find("give --lora"), std::string::npos);
  EXPECT_NE(why(lora(100000)).find("wider than the model (4096)"), std::string::npos);
  tuning = {};
  tuning.frozenLayers = 32;
  EXPECT_NE(why(tuning).find("32 of 32 layers"), std::string::npos);
  tuning = {};
  tuning.packedLength = 5000;
  EXPECT_NE(why(tuning).find("5000"), std::string::npos);
  tuning = {};
  tuning.objective = Objective::Dpo;
  EXPECT_NE(why(tuning, {4096, 15}).find("odd"), std::string::npos);
  tuning.objective = Objective::Grpo;
  EXPECT_NE(why(tuning).find("--prompt-length"), std::string::npos);
  stack.arena = true;
  EXPECT_NE(why(lora(8)).find("train every weight"), std::string::npos);
}
