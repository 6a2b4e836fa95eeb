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
  auto withIndex = [](ModelConfig &c) { c.shape.index.topK = 2048; };
  EXPECT_EQ(
      message("deepseek-v3", withIndex, 2049),
      "config.json: key \"index_topk\": of 2049 tokens, sparse attention reads only the 2048 that its index branch "
      "chooses, which cannot be built; shorten the sequence to 2048");
  EXPECT_EQ(
      message("mixtral-8x7b", [](ModelConfig &) {}, 8, -1), "expert capacity factor must be at least 0, not -1.00");
}
