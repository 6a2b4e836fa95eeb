// Micro-batching changes no result.
#include "TrainingModels.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

static void checkCounts(OwningOpRef<ModuleOp> model, ArrayRef<int64_t> counts, unsigned seed) {
  ASSERT_TRUE(model);
  ASSERT_TRUE(succeeded(run(*model, passes(createBuildBackwardPass()))));
  auto whole = *model->getOps<func::FuncOp>().begin();
  RankValues arguments = randomArguments(whole, seed);
  FailureOr<RankValues> expected = interpret(whole, arguments);
  ASSERT_TRUE(succeeded(expected));
  for (int64_t count : counts) {
    OwningOpRef<ModuleOp> cut = model->clone();
    ASSERT_TRUE(succeeded(run(*cut, passes(createSplitMicrobatchesPass({count})))));
    auto function = *cut->getOps<func::FuncOp>().begin();
    AccumulateOp accumulate = *function.getOps<AccumulateOp>().begin();
    EXPECT_EQ(int64_t(accumulate.getMicroBatches()), count);
    FailureOr<RankValues> results = interpret(function, arguments);
    ASSERT_TRUE(succeeded(results));
    ASSERT_EQ(results->size(), expected->size());
    for (size_t i = 0; i < results->size(); ++i)
      EXPECT_TRUE(near((*results)[i], (*expected)[i], 1e-12)) << "result " << i << ", " << count << " micro-batches";
  }
}

TEST(SplitMicrobatches, Mlp) {
  MLIRContext context;
  checkCounts(buildMlp(context, {3, /*batch=*/12, /*width=*/3, /*tied=*/false}), {1, 2, 3, 4, 6, 12}, 1);
  checkCounts(buildMlp(context, {3, /*batch=*/12, /*width=*/3, /*tied=*/true}), {1, 2, 3, 4, 6, 12}, 2);
}

TEST(SplitMicrobatches, Llama) {
  MLIRContext context;
  checkCounts(buildLlama(context, {2, /*batch=*/6, /*sequence=*/4}), {1, 2, 3, 6}, 3);
  checkCounts(buildLlama(context, {1, /*batch=*/4, /*sequence=*/4, R"(, "tie_word_embeddings": true)"}), {1, 2, 4}, 4);
}

// The weights of a micro-batch must not be mistaken for its samples, whatever the sizes.
TEST(SplitMicrobatches, EqualSizesOfAllDimensions) {
  MLIRContext context;
  checkCounts(buildMlp(context, {2, /*batch=*/4, /*width=*/4, /*tied=*/true}), {2, 4}, 5);
}
