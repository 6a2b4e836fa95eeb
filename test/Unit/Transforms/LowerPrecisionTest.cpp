// A model whose matmuls read bf16 is the same model: without rounding, which the interpreter does not do, a whole step
// gives the same numbers as in f32. test/Integration/precision.py measures the effect of rounding.
#include "TrainingModels.h"

#include "ppc/Transforms/Precision/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;
using namespace mlir::ppc::test;

static std::string precisionConfig(StringRef type, StringRef sizes) {
  return (R"({"initializer_range": 0.5, "vocab_size": 7, "model_type": ")" + type + "\", " + sizes + "}").str();
}
static const std::string precisionSizes = R"("hidden_size": 4, "intermediate_size": 3, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 2, "max_position_embeddings": 8)";

/// bf16 values that exist in the module.
static int64_t narrowValues(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      count += getElementTypeOrSelf(type).isBF16();
  });
  return count;
}

static void checkStep(MLIRContext &context, StringRef config, unsigned seed) {
  OwningOpRef<ModuleOp> wide =
      buildFromConfig(context, config, {/*sequenceLength=*/3, /*globalBatch=*/4}, /*single=*/true);
  OwningOpRef<ModuleOp> narrow = wide->clone();
  ASSERT_TRUE(succeeded(run(*narrow, passes(createLowerPrecisionPass()))));
  int64_t products = 0;
  narrow->walk([&](Operation *op) { products += isa<MatmulOp, AttentionOp>(op); });
  EXPECT_GT(narrowValues(*narrow), products); // two operands each, some shared
  ASSERT_TRUE(succeeded(buildStep(*wide, 2)));
  ASSERT_TRUE(succeeded(buildStep(*narrow, 2)));
  auto step = *wide->getOps<func::FuncOp>().begin(), lowered = *narrow->getOps<func::FuncOp>().begin();
  ASSERT_EQ(step.getFunctionType(), lowered.getFunctionType()) << "parameters, gradients and states stay f32";
  RankValues arguments = randomArguments(step, seed);
  FailureOr<RankValues> expected = interpret(step, arguments), found = interpret(lowered, arguments);
  ASSERT_TRUE(succeeded(expected) && succeeded(found));
  for (auto [number, pair] : llvm::enumerate(llvm::zip_equal(*expected, *found)))
    EXPECT_TRUE(near(std::get<0>(pair), std::get<1>(pair), 1e-9))
        << config.str() << ": result " << number << " (seed " << seed << ")";
}

TEST(LowerPrecision, AStepComputesTheSame) {
  MLIRContext context;
  std::string experts = precisionSizes + R"(, "num_experts_per_tok": 2, "num_experts": 3, "moe_intermediate_size": 4)";
  const std::string configs[] = {
      precisionConfig("llama", precisionSizes),
      precisionConfig("llama", precisionSizes + R"(, "tie_word_embeddings": true)"),
      precisionConfig("gpt2",
                      R"("n_embd": 4, "n_layer": 2, "n_head": 2, "n_positions": 5, "n_inner": 3, "attn_pdrop": 0,
          "resid_pdrop": 0, "embd_pdrop": 0)"),
      precisionConfig("gpt_neox",
                      R"("hidden_size": 8, "intermediate_size": 3, "num_hidden_layers": 1, "num_attention_heads": 2,
          "rotary_pct": 0.5)"),
      precisionConfig("bloom", R"("hidden_size": 6, "n_layer": 1, "n_head": 3)"),
      precisionConfig("mistral", precisionSizes + R"(, "sliding_window": 2)"),
      precisionConfig("qwen2", precisionSizes),
      precisionConfig("qwen3", precisionSizes),
      precisionConfig("gemma", precisionSizes),
      precisionConfig("qwen2_moe", experts + R"(, "shared_expert_intermediate_size": 4)"),
      precisionConfig("deepseek_v3", R"("hidden_size": 4, "intermediate_size": 3, "num_hidden_layers": 2,
          "num_attention_heads": 2, "num_key_value_heads": 2, "q_lora_rank": 3, "kv_lora_rank": 3, "qk_nope_head_dim": 2,
          "qk_rope_head_dim": 2, "v_head_dim": 1, "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 3,
          "n_shared_experts": 1, "first_k_dense_replace": 1, "n_group": 3, "topk_group": 2, "routed_scaling_factor": 2.5)"),
  };
  for (auto [i, config] : llvm::enumerate(configs))
    checkStep(context, config, 300 + i);
}
