// Modules of every family against the counts of the shape: parameters, products, attention; and what cannot be built.
#include "ppc/Import/HuggingFace.h"

#include "dialects/ppc/Ppc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <set>

using namespace mlir;
using namespace mlir::ppc;

static ModelConfig configOf(StringRef name) {
  llvm::Expected<ModelConfig> config =
      readModelConfig((llvm::Twine(PPC_TEST_INPUTS "/Models/") + name + ".json").str());
  if (!config) {
    ADD_FAILURE() << llvm::toString(config.takeError());
    return {};
  }
  config->shape.dropout = config->attentionDropout = 0;
  return *config;
}

/// FLOPs of the module's products, without those of experts' empty slots and of attention's softmax.
struct ModuleCounts {
  int64_t parameters = 0;
  double products = 0, attention = 0;

  explicit ModuleCounts(ModuleOp module) {
    auto function = module.lookupSymbol<func::FuncOp>("loss");
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, attr::parameter) || function.getArgAttr(i, attr::state))
        parameters += cast<RankedTensorType>(function.getArgumentTypes()[i]).getNumElements();
    module.walk([&](MatmulOp op) { products += op.getCost().flops; });
    module.walk([&](AttentionOp op) {
      double qk = tensorType(op.getK()).getDimSize(3), v = tensorType(op.getV()).getDimSize(3);
      double perPair = 2 * (qk + v), softmax = op.getSlopes() ? 7 : 5;
      attention += op.getCost().flops * perPair / (perPair + softmax);
    });
  }
};

TEST(ModelImport, CountsAreThoseOfTheShape) {
  constexpr int64_t sequence = 512, batch = 2; // a multiple of experts / topK, so that slots are as many as tokens
  for (StringRef name : {"llama-3-8b", "llama-3-70b", "llama-3.1-405b", "gpt2", "gpt3-175b", "gpt-neox-20b",
                         "bloom-176b", "mistral-7b", "qwen2-7b", "qwen3-8b", "mixtral-8x7b", "mixtral-8x22b",
                         "qwen2-moe-57b", "qwen3-235b", "deepseek-v3", "megatron-530b", "megatron-1t", "gemma-7b"}) {
    ModelConfig config = configOf(name);
    if (config.shape.slidingWindow)
      config.shape.slidingWindow = 100;
    MLIRContext context;
    OwningOpRef<ModuleOp> module =
        llvm::cantFail(buildModel(config, {sequence, batch, /*expertCapacityFactor=*/1}, context));
    EXPECT_TRUE(succeeded(verify(*module))) << name.str();
    ModuleCounts counts(*module);
    EXPECT_EQ(counts.parameters, countParameters(config.shape).total) << name.str();
    TokenFlops flops = forwardFlopsPerToken(config.shape, sequence, /*causal=*/true);
    double tokens = double(sequence) * batch;
    EXPECT_EQ(counts.products, tokens * (flops.layerProducts + flops.head)) << name.str();
    EXPECT_NEAR(counts.attention / (tokens * flops.attention), 1, 1e-12) << name.str();
  }
}

/// PaLM counts every parameter and all keys; the module multiplies weights only, and what a causal mask leaves.
TEST(ModelImport, PalmCountFromTheModule) {
  ModelConfig config = configOf("llama-3-8b");
  constexpr int64_t sequence = 1024;
  MLIRContext context;
  OwningOpRef<ModuleOp> module = llvm::cantFail(buildModel(config, {sequence, 1}, context));
  ModuleCounts counts(*module);
  ParameterCounts parameters = countParameters(config.shape);
  double fullAttention = counts.attention * 2 * sequence / (sequence + 1);
  double notMultiplied = 6.0 * double(parameters.embedding + parameters.norms);
  double fromModule = 3 * (counts.products + fullAttention) / sequence + notMultiplied;
  EXPECT_NEAR(fromModule / modelFlopsPerToken(config.shape, sequence), 1, 1e-12);
}

TEST(ModelImport, LayersAreInOrder) {
  for (StringRef name : {"gpt2", "bloom-176b", "deepseek-v3"}) {
    ModelConfig config = configOf(name);
    MLIRContext context;
    OwningOpRef<ModuleOp> module = llvm::cantFail(buildModel(config, {16, 1}, context));
    int64_t last = 0;
    for (Operation &op : module->lookupSymbol<func::FuncOp>("loss").front().without_terminator()) {
      auto layer = op.getAttrOfType<IntegerAttr>(attr::layer);
      ASSERT_TRUE(layer) << op.getName().getStringRef().str();
      EXPECT_GE(layer.getInt(), last);
      EXPECT_LE(layer.getInt(), last + 1);
      last = layer.getInt();
    }
    EXPECT_EQ(last, config.shape.layers + 1);
  }
}

TEST(ModelImport, SlotsOfExperts) {
  ModelConfig config = configOf("mixtral-8x7b");
  auto capacity = [&](double factor, int64_t sequence) {
    MLIRContext context;
    OwningOpRef<ModuleOp> module = llvm::cantFail(buildModel(config, {sequence, 1, factor}, context));
    int64_t slots = 0;
    module->walk([&](DispatchOp op) { slots = op.getType().getDimSize(2); });
    return slots;
  };
  EXPECT_EQ(capacity(0, 100), 100);
  EXPECT_EQ(capacity(1, 100), 25);
  EXPECT_EQ(capacity(1.25, 100), 32);
  EXPECT_EQ(capacity(8, 100), 100);
}

TEST(ModelImport, AlibiSlopes) {
  ModelConfig config = configOf("bloom-176b"); // 112 heads: 64 of a power of two, 48 between
  MLIRContext context;
  OwningOpRef<ModuleOp> module = llvm::cantFail(buildModel(config, {8, 1}, context));
  SmallVector<double> slopes;
  module->walk([&](AttentionOp op) {
    auto constant = op.getSlopes().getDefiningOp<ConstantOp>();
    slopes.clear();
    for (const APFloat &slope : cast<DenseFPElementsAttr>(constant.getValue()).getValues<APFloat>())
      slopes.push_back(slope.convertToDouble());
  });
  ASSERT_EQ(slopes.size(), 112u);
  EXPECT_FLOAT_EQ(slopes[0], std::exp2(-0.125));
  EXPECT_FLOAT_EQ(slopes[63], 1.0 / 256);
  EXPECT_FLOAT_EQ(slopes[64], std::exp2(-0.0625));
  EXPECT_FLOAT_EQ(slopes[65], std::exp2(-3 * 0.0625));
}

/// It is loaded, used and saved like every parameter, and nothing changes it: its gradient is zero, and it has no
/// decay.
TEST(ModelImport, ScoreBiasIsAParameterWithoutDecay) {
  ModelConfig config = configOf("deepseek-v3");
  MLIRContext context;
  OwningOpRef<ModuleOp> module = llvm::cantFail(buildModel(config, {8, 1}, context));
  auto function = module->lookupSymbol<func::FuncOp>("loss");
  int64_t biases = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, attr::parameter);
    if (!name || !name.getValue().ends_with("gate.e_score_correction_bias"))
      continue;
    ++biases;
    EXPECT_TRUE(function.getArgAttr(i, attr::noWeightDecay));
    EXPECT_EQ(function.getArgAttrOfType<InitAttr>(i, attr::init).getKind(), InitKind::Zeros);
  }
  EXPECT_EQ(biases, 58);
}

/// How transformers begins a model whose initializer_range is 0.02 (`_init_weights` of each class, and of the class
/// that all have in common): by the name of a parameter without the model's and the layer's, "0", "1", or a standard
/// deviation. Rows of padding tokens are left out.
struct Beginning {
  StringRef model, parameters, value;
};
static constexpr StringLiteral llamaLayer = "self_attn.q_proj.weight self_attn.k_proj.weight self_attn.v_proj.weight "
                                            "self_attn.o_proj.weight embed_tokens.weight lm_head.weight",
                               llamaNorms = "input_layernorm.weight post_attention_layernorm.weight norm.weight",
                               gated = "mlp.gate_proj.weight mlp.up_proj.weight mlp.down_proj.weight",
                               experts = "mlp.gate.weight mlp.experts.gate_up_proj mlp.experts.down_proj",
                               neoxMatrices = "query_key_value.weight dense.weight dense_h_to_4h.weight "
                                              "dense_4h_to_h.weight",
                               neoxBiases = "query_key_value.bias dense.bias dense_h_to_4h.bias dense_4h_to_h.bias";
static constexpr Beginning beginnings[] = {
    {"llama-3-8b", llamaLayer, "0.02"},
    {"llama-3-8b", gated, "0.02"},
    {"llama-3-8b", llamaNorms, "1"},
    {"mistral-7b", llamaLayer, "0.02"},
    {"mistral-7b", gated, "0.02"},
    {"mistral-7b", llamaNorms, "1"},
    {"qwen2-7b", llamaLayer, "0.02"},
    {"qwen2-7b", gated, "0.02"},
    {"qwen2-7b", llamaNorms, "1"},
    {"qwen2-7b", "self_attn.q_proj.bias self_attn.k_proj.bias self_attn.v_proj.bias", "0"},
    {"qwen3-8b", llamaLayer, "0.02"},
    {"qwen3-8b", gated, "0.02"},
    {"qwen3-8b", llamaNorms, "1"},
    {"qwen3-8b", "self_attn.q_norm.weight self_attn.k_norm.weight", "1"},
    {"gemma-7b", llamaLayer, "0.02"},
    {"gemma-7b", gated, "0.02"},
    {"gemma-7b", llamaNorms, "0"}, // they multiply by 1 plus their weight
    {"mixtral-8x7b", llamaLayer, "0.02"},
    {"mixtral-8x7b", experts, "0.02"},
    {"mixtral-8x7b", llamaNorms, "1"},
    {"qwen2-moe-57b", llamaLayer, "0.02"},
    {"qwen2-moe-57b", experts, "0.02"},
    {"qwen2-moe-57b",
     "mlp.shared_expert.gate_proj.weight mlp.shared_expert.up_proj.weight "
     "mlp.shared_expert.down_proj.weight mlp.shared_expert_gate.weight",
     "0.02"},
    {"qwen2-moe-57b", "self_attn.q_proj.bias self_attn.k_proj.bias self_attn.v_proj.bias", "0"},
    {"qwen2-moe-57b", llamaNorms, "1"},
    {"qwen3-235b", llamaLayer, "0.02"},
    {"qwen3-235b", experts, "0.02"},
    {"qwen3-235b", llamaNorms, "1"},
    {"qwen3-235b", "self_attn.q_norm.weight self_attn.k_norm.weight", "1"},
    {"deepseek-v3",
     "self_attn.q_a_proj.weight self_attn.q_b_proj.weight self_attn.kv_a_proj_with_mqa.weight "
     "self_attn.kv_b_proj.weight self_attn.o_proj.weight embed_tokens.weight lm_head.weight",
     "0.02"},
    {"deepseek-v3", gated, "0.02"},
    {"deepseek-v3", experts, "0.02"},
    {"deepseek-v3",
     "mlp.shared_experts.gate_proj.weight mlp.shared_experts.up_proj.weight "
     "mlp.shared_experts.down_proj.weight",
     "0.02"},
    {"deepseek-v3", "mlp.gate.e_score_correction_bias", "0"},
    {"deepseek-v3", llamaNorms, "1"},
    {"deepseek-v3", "self_attn.q_a_layernorm.weight self_attn.kv_a_layernorm.weight", "1"},
    {"gpt2", "wte.weight wpe.weight attn.c_attn.weight mlp.c_fc.weight", "0.02"},
    {"gpt2", "attn.c_proj.weight mlp.c_proj.weight", "0.004082482904638631"}, // 0.02 / sqrt(2 * 12 layers)
    {"gpt2", "attn.c_attn.bias attn.c_proj.bias mlp.c_fc.bias mlp.c_proj.bias", "0"},
    {"gpt2", "ln_1.weight ln_2.weight ln_f.weight", "1"},
    {"gpt2", "ln_1.bias ln_2.bias ln_f.bias", "0"},
    {"gpt-neox-20b", neoxMatrices, "0.02"},
    {"gpt-neox-20b", "embed_in.weight embed_out.weight", "0.02"},
    {"gpt-neox-20b", neoxBiases, "0"},
    {"gpt-neox-20b", "input_layernorm.weight post_attention_layernorm.weight final_layer_norm.weight", "1"},
    {"gpt-neox-20b", "input_layernorm.bias post_attention_layernorm.bias final_layer_norm.bias", "0"},
    {"bloom-176b", neoxMatrices, "0.02"},
    {"bloom-176b", "word_embeddings.weight", "0.02"},
    {"bloom-176b", neoxBiases, "0"},
    {"bloom-176b",
     "input_layernorm.weight post_attention_layernorm.weight ln_f.weight "
     "word_embeddings_layernorm.weight",
     "1"},
    {"bloom-176b", "input_layernorm.bias post_attention_layernorm.bias ln_f.bias word_embeddings_layernorm.bias", "0"},
};

TEST(ModelImport, ParametersBeginAsInTheReference) {
  std::set<StringRef> models;
  for (const Beginning &beginning : beginnings)
    models.insert(beginning.model);
  EXPECT_EQ(models.size(), modelArchitectures().size());
  for (StringRef model : models) {
    ModelConfig config = configOf(model);
    config.initializerRange = 0.02;
    MLIRContext context;
    OwningOpRef<ModuleOp> module = llvm::cantFail(buildModel(config, {8, 1}, context));
    auto function = module->lookupSymbol<func::FuncOp>("loss");
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto name = function.getArgAttrOfType<StringAttr>(i, attr::parameter);
      if (!name)
        continue;
      StringRef expected;
      for (const Beginning &beginning : beginnings) {
        SmallVector<StringRef> suffixes;
        beginning.parameters.split(suffixes, ' ');
        for (StringRef suffix : suffixes)
          if (beginning.model == model && StringRef("." + name.getValue().str()).ends_with("." + suffix.str()))
            expected = beginning.value;
      }
      auto init = function.getArgAttrOfType<InitAttr>(i, attr::init);
      double deviation = init.getStddev().getValueAsDouble();
      std::string found = init.getKind() == InitKind::Zeros  ? "0"
                          : init.getKind() == InitKind::Ones ? "1"
                                                             : llvm::formatv("{0}", deviation).str();
      bool isNormal = expected.contains('.');
      EXPECT_TRUE(isNormal
                      ? init.getKind() == InitKind::Normal && std::abs(deviation - std::stod(expected.str())) < 1e-12
                      : found == expected)
          << model.str() << " " << name.str() << " begins as " << found << ", not " << expected.str();
    }
  }
}

TEST(ModelImport, RefusesWhatCannotBeBuilt) {
  MLIRContext context;
  auto message = [&](StringRef name, function_ref<void(ModelConfig &)> change, int64_t sequence = 8,
                     double capacity = 0) {
    ModelConfig config = configOf(name);
    config.file = "config.json";
    change(config);
    return llvm::toString(buildModel(config, {sequence, 1, capacity}, context).takeError());
  };
  EXPECT_EQ(
      message("gpt2", [](ModelConfig &c) { c.shape.dropout = 0.1; }),
      "config.json: key \"attn_pdrop\": a dropout of 0.10 cannot be built: set the model's dropout probabilities to 0");
  EXPECT_EQ(message(
                "gpt2", [](ModelConfig &) {}, 1025),
            "config.json: sequence length 1025 is longer than n_positions 1024; shorten the sequence or raise the key");
  EXPECT_EQ(message("llama-3-8b", [](ModelConfig &c) { c.shape.activation = ActivationKind::Relu; }),
            "config.json: key \"hidden_act\": the activation of this model cannot be built: only silu and gelu can");
  EXPECT_EQ(
      message("deepseek-v3", [](ModelConfig &c) { c.ropeScaling.magnitude = 0.5; }),
      "config.json: key \"rope_scaling\": yarn scales the rotated part of a head by 0.865, which cannot be built where "
      "another part is not rotated; give mscale equal to mscale_all_dim");
  EXPECT_EQ(
      message("mixtral-8x7b", [](ModelConfig &) {}, 8, -1), "expert capacity factor must be at least 0, not -1.00");
}
