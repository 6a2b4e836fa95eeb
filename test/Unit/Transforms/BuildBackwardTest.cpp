// Gradients of whole models against central finite differences.
#include "TrainingModels.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

// (L(p + h) - L(p - h)) / 2h has an error of h^2 times the third derivative plus rounding / h. If that is too much
// (norms of small vectors), (4 D(h / 2) - D(h)) / 3 has one of h^4 times the fifth, D(h) being the first.
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
      auto difference = [&](double step) {
        value = kept + step;
        double above = lossOf();
        value = kept - step;
        double slope = (above - lossOf()) / (2 * step);
        value = kept;
        return slope;
      };
      auto agrees = [&](double slope) {
        return std::abs(slope - gradient.data[element]) <= kTolerance * std::max(1.0, std::abs(slope));
      };
      double slope = difference(kStep);
      largest = std::max(largest, std::abs(slope));
      if (agrees(slope) || agrees(slope = (4 * difference(kStep / 2) - slope) / 3))
        continue;
      if (++wrong <= 5)
        ADD_FAILURE() << name.str() << " element " << element << ": gradient " << gradient.data[element]
                      << ", finite difference " << slope << " (seed " << seed << ")";
    }
    if (name.getValue().ends_with("e_score_correction_bias")) // selects, and has no gradient
      continue;
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
      "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16})"}),
                    33);
}

/// Small models of the other families: two layers, hidden 4, vocabulary 7.
static std::string configOf(llvm::StringRef type, llvm::StringRef sizes) {
  return (R"({"initializer_range": 0.5, "vocab_size": 7, "model_type": ")" + type + "\", " + sizes + "}").str();
}
static const char *const llamaSizes = R"("hidden_size": 4, "intermediate_size": 3, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2, "max_position_embeddings": 8)";

TEST(BuildBackward, DenseFamilies) {
  MLIRContext context;
  const std::string configs[] = {
      configOf("gpt2", R"("n_embd": 4, "n_layer": 2, "n_head": 2, "n_positions": 5, "n_inner": 3, "attn_pdrop": 0,
          "resid_pdrop": 0, "embd_pdrop": 0)"),
      configOf("gpt_neox",
               R"("hidden_size": 8, "intermediate_size": 3, "num_hidden_layers": 1, "num_attention_heads": 2,
          "rotary_pct": 0.5)"),
      configOf("bloom", R"("hidden_size": 6, "n_layer": 1, "n_head": 3)"),
      configOf("mistral", llamaSizes + std::string(R"(, "sliding_window": 2)")),
      configOf("qwen2", llamaSizes),
      configOf("qwen3", llamaSizes),
      configOf("gemma", llamaSizes),
  };
  for (auto [i, config] : llvm::enumerate(configs))
    checkAllGradients(buildFromConfig(context, config, {/*sequenceLength=*/3, /*globalBatch=*/2}), 70 + i);
}

TEST(BuildBackward, MixturesOfExperts) {
  MLIRContext context;
  std::string experts = std::string(llamaSizes) + R"(, "num_experts_per_tok": 2, "num_local_experts": 3)";
  std::string qwen =
      std::string(llamaSizes) + R"(, "num_experts_per_tok": 2, "num_experts": 3, "moe_intermediate_size": 4)";
  for (double capacity : {0.0, 1.0}) {
    HuggingFaceOptions options{/*sequenceLength=*/3, /*globalBatch=*/2, capacity};
    checkAllGradients(buildFromConfig(context, configOf("mixtral", experts), options), 150);
    std::string shared = qwen + R"(, "shared_expert_intermediate_size": 4)";
    checkAllGradients(buildFromConfig(context, configOf("qwen2_moe", shared), options), 151);
    checkAllGradients(buildFromConfig(context, configOf("qwen3_moe", qwen + R"(, "norm_topk_prob": true)"), options),
                      152);
  }
}

TEST(BuildBackward, LatentAttention) {
  MLIRContext context;
  std::string config = configOf("deepseek_v3", R"("hidden_size": 4, "intermediate_size": 3, "num_hidden_layers": 2,
      "num_attention_heads": 2, "num_key_value_heads": 2, "q_lora_rank": 3, "kv_lora_rank": 3, "qk_nope_head_dim": 2,
      "qk_rope_head_dim": 2, "v_head_dim": 1, "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 3,
      "n_shared_experts": 1, "first_k_dense_replace": 1, "n_group": 3, "topk_group": 2, "routed_scaling_factor": 2.5)");
  checkAllGradients(buildFromConfig(context, config, {/*sequenceLength=*/3, /*globalBatch=*/2}), 60);
}
