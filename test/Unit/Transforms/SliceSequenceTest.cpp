// Slices of the sequence change no result: neither the loss nor gradients.
#include "TrainingModels.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

static void checkSlices(OwningOpRef<ModuleOp> model, ArrayRef<int64_t> counts, unsigned seed) {
  ASSERT_TRUE(model);
  OwningOpRef<ModuleOp> plain = model->clone();
  ASSERT_TRUE(succeeded(run(*plain, passes(createBuildBackwardPass()))));
  auto whole = *plain->getOps<func::FuncOp>().begin();
  RankValues arguments = randomArguments(whole, seed);
  FailureOr<RankValues> expected = interpret(whole, arguments);
  ASSERT_TRUE(succeeded(expected));
  for (int64_t count : counts) {
    OwningOpRef<ModuleOp> cut = model->clone();
    ASSERT_TRUE(succeeded(run(*cut, passes(createSliceSequencePass({count})))));
    int64_t slices = 1;
    cut->walk([&](Operation *op) {
      if (auto slice = op->getAttrOfType<IntegerAttr>(attr::slice))
        slices = std::max(slices, slice.getInt() + 1);
    });
    EXPECT_EQ(slices, count);
    ASSERT_TRUE(succeeded(run(*cut, passes(createBuildBackwardPass()))));
    FailureOr<RankValues> results = interpret(*cut->getOps<func::FuncOp>().begin(), arguments);
    ASSERT_TRUE(succeeded(results));
    ASSERT_EQ(results->size(), expected->size());
    for (size_t i = 0; i < results->size(); ++i)
      EXPECT_TRUE(near((*results)[i], (*expected)[i], 1e-11)) << "result " << i << ", " << count << " slices";
  }
}

TEST(SliceSequence, Llama) {
  MLIRContext context;
  checkSlices(buildLlama(context, {2, /*batch=*/2, /*sequence=*/8}), {1, 2, 4, 8}, 1);
  checkSlices(buildLlama(context, {1, /*batch=*/3, /*sequence=*/12, R"(, "tie_word_embeddings": true)"}), {2, 3, 4, 6},
              2);
}

// Weights and samples must not be mistaken for the sequence, whatever the sizes.
TEST(SliceSequence, EqualSizesOfAllDimensions) {
  MLIRContext context;
  checkSlices(buildLlama(context, {2, /*batch=*/4, /*sequence=*/4}), {2, 4}, 3);
}
