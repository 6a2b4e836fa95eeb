// The module that the importer builds: verified, read back, and counted against the config.
#include "ppc/Import/HuggingFace.h"

#include "dialects/ppc/Ppc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::ppc;

static const char *const groupedHeads = R"({"model_type": "llama", "hidden_size": 24, "intermediate_size": 40,
  "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2, "vocab_size": 131,
  "max_position_embeddings": 64, "rope_theta": 1000.0, "initializer_range": 0.2)";

namespace {
class LlamaModule : public testing::Test {
protected:
  void build(llvm::StringRef changes = "") {
    config = llvm::cantFail(parseModelConfig("config.json", groupedHeads + changes.str() + "}"));
    module = llvm::cantFail(buildModel(config, {/*sequenceLength=*/16, /*globalBatch=*/4}, context));
    function = module->lookupSymbol<func::FuncOp>("loss");
    ASSERT_TRUE(function);
  }

  std::string print(ModuleOp op) {
    std::string text;
    llvm::raw_string_ostream(text) << op;
    return text;
  }

  /// "name: dims x type", or "" when there is no such argument.
  std::string argument(StringRef role, StringRef name) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto attribute = function.getArgAttrOfType<StringAttr>(i, role);
      if (!attribute || attribute.getValue() != name)
        continue;
      std::string text;
      llvm::raw_string_ostream(text) << function.getArgAttr(i, attr::dims) << " " << function.getArgumentTypes()[i];
      return text;
    }
    return "";
  }

  int64_t elementsOfParameters() {
    int64_t count = 0;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, attr::parameter))
        count += cast<RankedTensorType>(function.getArgumentTypes()[i]).getNumElements();
    return count;
  }

  MLIRContext context;
  ModelConfig config;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};
} // namespace

TEST_F(LlamaModule, VerifiesAndReadsBack) {
  build();
  EXPECT_TRUE(succeeded(verify(*module)));
  OwningOpRef<ModuleOp> again = parseSourceString<ModuleOp>(print(*module), &context);
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), print(*module));
  SmallVector<Attribute> frequencies[2];
  module->walk([&](RotaryOp op) { frequencies[0].push_back(op.getFrequenciesAttr()); });
  again->walk([&](RotaryOp op) { frequencies[1].push_back(op.getFrequenciesAttr()); });
  EXPECT_EQ(frequencies[0].size(), 4u);
  EXPECT_EQ(frequencies[0], frequencies[1]); // the printed digits suffice
}

TEST_F(LlamaModule, ArgumentsMatchTheReference) {
  build();
  EXPECT_EQ(argument(attr::input, "ids"), R"(["batch", "sequence"] tensor<4x16xi32>)");
  EXPECT_EQ(argument(attr::input, "targets"), R"(["batch", "sequence"] tensor<4x16xi32>)");
  const std::pair<const char *, const char *> parameters[] = {
      {"model.embed_tokens.weight", R"(["vocab", "hidden"] tensor<131x24xf32>)"},
      {"model.layers.1.input_layernorm.weight", R"(["hidden"] tensor<24xf32>)"},
      {"model.layers.1.self_attn.q_proj.weight",
       R"(["kv_heads", "head_group", "head_dim", "hidden"] tensor<2x3x4x24xf32>)"},
      {"model.layers.1.self_attn.k_proj.weight", R"(["kv_heads", "head_dim", "hidden"] tensor<2x4x24xf32>)"},
      {"model.layers.1.self_attn.v_proj.weight", R"(["kv_heads", "head_dim", "hidden"] tensor<2x4x24xf32>)"},
      {"model.layers.1.self_attn.o_proj.weight",
       R"(["hidden", "kv_heads", "head_group", "head_dim"] tensor<24x2x3x4xf32>)"},
      {"model.layers.1.post_attention_layernorm.weight", R"(["hidden"] tensor<24xf32>)"},
      {"model.layers.1.mlp.gate_proj.weight", R"(["ffn", "hidden"] tensor<40x24xf32>)"},
      {"model.layers.1.mlp.up_proj.weight", R"(["ffn", "hidden"] tensor<40x24xf32>)"},
      {"model.layers.1.mlp.down_proj.weight", R"(["hidden", "ffn"] tensor<24x40xf32>)"},
      {"model.norm.weight", R"(["hidden"] tensor<24xf32>)"},
      {"lm_head.weight", R"(["vocab", "hidden"] tensor<131x24xf32>)"},
  };
  for (auto [name, expected] : parameters)
    EXPECT_EQ(argument(attr::parameter, name), expected) << name;
  EXPECT_EQ(function.getNumArguments(), 2u + 3 + 2 * 9);
  EXPECT_EQ(elementsOfParameters(), countParameters(config.shape).total);
}

TEST_F(LlamaModule, NormsStartAtOneAndDoNotDecay) {
  build();
  for (unsigned i = 2; i < function.getNumArguments(); ++i) {
    StringRef name = function.getArgAttrOfType<StringAttr>(i, attr::parameter).getValue();
    auto init = function.getArgAttrOfType<InitAttr>(i, attr::init);
    bool isNorm = name.contains("norm");
    EXPECT_EQ(init.getKind(), isNorm ? InitKind::Ones : InitKind::Normal) << name.str();
    if (!isNorm)
      EXPECT_EQ(init.getStddev().getValueAsDouble(), 0.2);
    EXPECT_EQ(bool(function.getArgAttr(i, attr::noWeightDecay)), isNorm) << name.str();
  }
}

TEST_F(LlamaModule, TiedEmbeddingsAreOneParameter) {
  build(R"(, "tie_word_embeddings": true)");
  EXPECT_TRUE(succeeded(verify(*module)));
  EXPECT_EQ(argument(attr::parameter, "lm_head.weight"), "");
  EXPECT_EQ(elementsOfParameters(), countParameters(config.shape).total);
  EXPECT_EQ(llvm::range_size(function.getArgument(2).getUses()), 2u);
}

TEST_F(LlamaModule, EveryOpHasItsLayerInOrder) {
  build();
  int64_t last = 0;
  for (Operation &op : function.front().without_terminator()) {
    auto layer = op.getAttrOfType<IntegerAttr>(attr::layer);
    ASSERT_TRUE(layer) << op.getName().getStringRef().str();
    EXPECT_GE(layer.getInt(), last);
    EXPECT_LE(layer.getInt(), last + 1);
    last = layer.getInt();
  }
  EXPECT_EQ(last, config.shape.layers + 1);
}

TEST_F(LlamaModule, RefusesShapesWithTheNumbers) {
  build();
  auto message = [&](int64_t sequence, int64_t batch) {
    return llvm::toString(buildModel(config, {sequence, batch}, context).takeError());
  };
  EXPECT_EQ(message(0, 4), "sequence length must be at least 1, not 0");
  EXPECT_EQ(message(16, 0), "global batch must be at least 1 sequence, not 0");
  EXPECT_EQ(message(65, 4), "config.json: sequence length 65 is longer than max_position_embeddings 64; shorten the "
                            "sequence or raise the key");
}
