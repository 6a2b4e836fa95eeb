// Gradients of whole models against central finite differences.
#include "TrainingModels.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

// (L(p + h) - L(p - h)) / 2h has an error of h^2 times the third derivative plus rounding / h.
static constexpr double kStep = 1e-4, kTolerance = 1e-7;

static void checkAllGradients(OwningOpRef<ModuleOp> model, unsigned seed) {
  ASSERT_TRUE(model);
  OwningOpRef<ModuleOp> training = model->clone();
  ASSERT_TRUE(succeeded(run(*training, passes(createBuildBackwardPass()))));
  auto loss = *model->getOps<func::FuncOp>().begin(), backward = *training->getOps<func::FuncOp>().begin();
  RankValues arguments = randomArguments(loss, seed);
  auto lossOf = [&] { return (*interpret(loss, arguments))[0].data[0]; };
  FailureOr<RankValues> results = interpret(backward, arguments);
  ASSERT_TRUE(succeeded(results));
  EXPECT_DOUBLE_EQ((*results)[findResult(backward, "loss")].data[0], lossOf());
  int64_t wrong = 0;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    auto name = loss.getArgAttrOfType<StringAttr>(i, attr::parameter);
    if (!name)
      continue;
    int result = findResult(backward, "gradient", name);
    ASSERT_GE(result, 0) << name.str();
    const ReferenceTensor &gradient = (*results)[result];
    ASSERT_EQ(gradient.size(), arguments[i].size()) << name.str();
    double largest = 0;
    for (auto [element, value] : llvm::enumerate(arguments[i].data)) {
      double kept = value;
      value = kept + kStep;
      double above = lossOf();
      value = kept - kStep;
      double slope = (above - lossOf()) / (2 * kStep);
      value = kept;
      largest = std::max(largest, std::abs(slope));
      if (std::abs(slope - gradient.data[element]) <= kTolerance * std::max(1.0, std::abs(slope)))
        continue;
      if (++wrong <= 5)
        ADD_FAILURE() << name.str() << " element " << element << ": gradient " << gradient.data[element]
                      << ", finite difference " << slope << " (seed " << seed << ")";
    }
    EXPECT_GT(largest, 1e-3) << name.str() << ": a gradient this small proves nothing (seed " << seed << ")";
  }
  EXPECT_EQ(wrong, 0);
}

TEST(BuildBackward, Mlp) {
  MLIRContext context;
  for (int64_t layers : {1, 2, 4})
    checkAllGradients(buildMlp(context, {layers}), 10 + layers);
}

TEST(BuildBackward, MlpWithTiedParameters) {
  MLIRContext context;
  for (int64_t layers : {2, 3, 5})
    checkAllGradients(buildMlp(context, {layers, /*batch=*/3, /*width=*/4, /*tied=*/true}), 20 + layers);
}

TEST(BuildBackward, LlamaWithGroupedHeads) {
  MLIRContext context;
  checkAllGradients(buildLlama(context, {}), 31);
}

TEST(BuildBackward, LlamaWithTiedEmbeddings) {
  MLIRContext context;
  checkAllGradients(buildLlama(context, {1, 2, 4, R"(, "tie_word_embeddings": true)"}), 32);
}

TEST(BuildBackward, LlamaWithScaledRotary) {
  MLIRContext context;
  checkAllGradients(buildLlama(context, {1, 1, 5, R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16})"}), 33);
}
