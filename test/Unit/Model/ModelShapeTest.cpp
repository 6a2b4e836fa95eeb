// Parameters and FLOPs of published models against the published figures, and against sums by hand on small ones.
#include "ppc/Model/ModelShape.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir::ppc;

static ModelShape modelOf(llvm::StringRef name) {
  llvm::Expected<ModelShape> model = readModelShape((llvm::Twine(PPC_TEST_INPUTS "/Models/") + name + ".json").str());
  if (model)
    return *model;
  ADD_FAILURE() << llvm::toString(model.takeError());
  return {};
}

TEST(ModelShape, ParametersOfPublishedModels) {
  struct {
    const char *name;
    int64_t total;
  } published[] = {{"llama-3-8b", 8030261248},    {"llama-3-70b", 70553706496},    {"llama-3.1-405b", 405853388800},
                   {"gpt2", 124439808},           {"gpt-neox-20b", 20554567680},   {"bloom-176b", 176247271424},
                   {"mistral-7b", 7241732096},    {"qwen2-7b", 7615616512},        {"qwen3-8b", 8190735360},
                   {"mixtral-8x7b", 46702792704}, {"mixtral-8x22b", 140620634112}, {"qwen3-235b", 235093634560},
                   {"deepseek-v3", 671026419200}, {"gemma-7b", 8537680896}};
  for (auto [name, total] : published)
    EXPECT_EQ(countParameters(modelOf(name)).total, total) << name;
}

/// Papers give these in billions: arXiv 2104.04473 (table 1), 2401.04088, 2407.10671, 2412.19437, 2505.09388.
TEST(ModelShape, RoundedFiguresOfPapers) {
  auto billions = [](int64_t count, double unit) { return std::round(double(count) / 1e9 / unit) * unit; };
  EXPECT_NEAR(billions(countParameters(modelOf("gpt3-175b")).total, 0.1), 174.6, 1e-6);
  EXPECT_NEAR(billions(countParameters(modelOf("megatron-530b")).total, 0.1), 529.6, 1e-6);
  EXPECT_NEAR(billions(countParameters(modelOf("megatron-1t")).total, 0.1), 1008.0, 1e-6);
  EXPECT_NEAR(billions(countParameters(modelOf("mixtral-8x7b")).active, 0.1), 12.9, 1e-6);
  EXPECT_NEAR(billions(countParameters(modelOf("qwen2-moe-57b")).total, 0.1), 57.4, 1e-6);
  EXPECT_NEAR(billions(countParameters(modelOf("qwen2-moe-57b")).active, 1), 14, 1e-6);
  EXPECT_NEAR(billions(countParameters(modelOf("qwen3-235b")).active, 1), 22, 1e-6);
  // 37B of the paper leaves the input embedding out.
  ParameterCounts deepseek = countParameters(modelOf("deepseek-v3"));
  EXPECT_NEAR(billions(deepseek.active - deepseek.embedding, 1), 37, 1e-6);
}

TEST(ModelShape, PartsSumToTheWhole) {
  for (const char *name : {"llama-3-8b", "gpt2", "bloom-176b", "qwen2-moe-57b", "deepseek-v3"}) {
    ModelShape model = modelOf(name);
    ParameterCounts all = countParameters(model);
    int64_t layers = 0;
    for (int64_t layer = 0; layer < model.layers; ++layer)
      layers += countLayerParameters(model, layer).total;
    int64_t lastNorm = model.hidden * (model.normBias ? 2 : 1);
    EXPECT_EQ(all.total, layers + all.embedding + all.head + lastNorm) << name;
    EXPECT_LE(all.active, all.total);
    EXPECT_EQ(all.active == all.total, !model.moe);
  }
}

TEST(ModelShape, PredictionLayerOfDeepSeek) {
  ModelShape model = modelOf("deepseek-v3");
  EXPECT_EQ(model.predictionLayers, 1);
  // The published files hold 684,531,386,000 values: the model, the prediction layer with its own copies of embedding
  // and LM head, and one scale for each 128 x 128 block of the values stored in 8 bits (all but embeddings, routers,
  // norms).
  ParameterCounts all = countParameters(model), extra = countPredictionLayer(model);
  double copies = double(all.embedding + all.head);
  double scaled = double(all.attention + all.denseFfn + all.experts + all.sharedExperts + extra.attention +
                         extra.experts + extra.sharedExperts);
  EXPECT_NEAR(double(all.total + extra.total) + copies + scaled / (128 * 128), 684531386000, 1e5);
}

TEST(ModelShape, PalmFlopsOfLlama) {
  ModelShape model = modelOf("llama-3-8b");
  EXPECT_EQ(modelFlopsPerToken(model, 8192), 6.0 * 8030261248 + 12.0 * 32 * 4096 * 8192);
}

TEST(ModelShape, ForwardFlopsCountOnlyMatmulParameters) {
  ModelShape model = modelOf("llama-3-8b");
  TokenFlops flops = forwardFlopsPerToken(model, 8192, /*causal=*/false);
  ParameterCounts counts = countParameters(model);
  EXPECT_EQ(flops.layerProducts, 2.0 * (counts.attention + counts.denseFfn));
  EXPECT_EQ(flops.head, 2.0 * counts.head);
  EXPECT_EQ(3 * flops.attention, 12.0 * 32 * 4096 * 8192);
  EXPECT_EQ(modelFlopsPerToken(model, 8192) - 3 * flops.total(), 6.0 * (counts.embedding + counts.norms));

  ModelShape mixture = modelOf("deepseek-v3");
  ParameterCounts parts = countParameters(mixture);
  TokenFlops active = forwardFlopsPerToken(mixture, 4096, /*causal=*/false);
  double inactive = double(parts.total - parts.active);
  double latentNorms = 61.0 * (1536 + 512), scoreBiases = 58.0 * 256;
  EXPECT_EQ(active.layerProducts,
            2.0 * (double(parts.attention) - latentNorms + double(parts.denseFfn + parts.experts) - inactive +
                   double(parts.sharedExperts + parts.router) - scoreBiases));
}

TEST(ModelShape, AverageKeysCountsUnmaskedKeys) {
  ModelShape model = modelOf("mistral-7b");
  model.slidingWindowEvery = 2;
  for (int64_t window : {0, 1, 3, 8, 100}) {
    model.slidingWindow = window;
    for (int64_t layer : {0, 1})
      for (int64_t sequence : {1, 7, 8, 9}) {
        int64_t keys = 0;
        for (int64_t query = 0; query < sequence; ++query)
          for (int64_t key = 0; key <= query; ++key)
            keys += !model.hasWindow(layer) || query - key < window;
        EXPECT_EQ(averageKeys(model, layer, sequence), double(keys) / double(sequence)) << window << " " << sequence;
      }
  }
}

TEST(ModelShape, LayersWithExperts) {
  ModelShape model = modelOf("deepseek-v3");
  EXPECT_FALSE(model.hasExperts(2));
  EXPECT_TRUE(model.hasExperts(3));
  model.moe.every = 2;
  EXPECT_FALSE(model.hasExperts(4));
  EXPECT_TRUE(model.hasExperts(5));
}

TEST(ModelShape, VerifierNamesFieldAndValue) {
  auto message = [](void (*change)(ModelShape &), llvm::StringRef name = "qwen2-moe-57b") {
    ModelShape model = modelOf(name);
    change(model);
    return llvm::toString(verifyModelShape(model));
  };
  EXPECT_EQ(message([](ModelShape &) {}), "");
  EXPECT_EQ(message([](ModelShape &m) { m.layers = 0; }), "qwen2-moe-57b: layers is 0; expected 1 to 2147483648");
  EXPECT_EQ(message([](ModelShape &m) { m.kvHeads = 5; }), "qwen2-moe-57b: kvHeads 5 does not divide heads 28");
  EXPECT_EQ(message([](ModelShape &m) { m.moe.topK = 65; }), "qwen2-moe-57b: topK is 65; there are only 64 experts");
  EXPECT_EQ(message([](ModelShape &m) { m.moe.groups = 5; }), "qwen2-moe-57b: groups 5 does not divide experts 64");
  EXPECT_EQ(message([](ModelShape &m) { m.moe.groups = 16; }),
            "qwen2-moe-57b: topK is 8; 1 groups hold only 4 experts");
  EXPECT_EQ(message([](ModelShape &m) { m.dropout = 1; }),
            "qwen2-moe-57b: dropout is 1.00; expected a probability below 1");
  EXPECT_EQ(message([](ModelShape &m) { m.ffn = 0; }), "");
  EXPECT_EQ(message([](ModelShape &m) { m.ffn = 0; }, "gpt2"), "gpt2: ffn is 0; expected 1 to 2147483648");
  EXPECT_EQ(message([](ModelShape &m) { m.hidden = m.vocab = m.ffn = int64_t(1) << 31; }),
            "qwen2-moe-57b: the model would have more than 2^60 parameters");
  EXPECT_EQ(message([](ModelShape &m) { m.kvHeads = 64; }, "deepseek-v3"),
            "deepseek-v3: kvHeads is 64; latent attention has a key for each of the 128 heads");
}
