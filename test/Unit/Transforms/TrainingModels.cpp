// Small models in f64 and numbers to run them on.
#include "TrainingModels.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <regex>

namespace mlir::ppc::test {

OwningOpRef<ModuleOp> buildMlp(MLIRContext &context, const MlpOptions &options) {
  context.loadDialect<PpcDialect, func::FuncDialect>();
  std::string x = llvm::formatv("tensor<{0}x{1}xf64>", options.batch, options.width);
  std::string w = llvm::formatv("tensor<{0}x{0}xf64>", options.width),
              b = llvm::formatv("tensor<{0}xf64>", options.width);
  std::string arguments = "%x: " + x + " {ppc.input = \"x\", ppc.dims = [\"batch\", \"hidden\"]}, %t: " + x +
                          " {ppc.input = \"targets\", ppc.dims = [\"batch\", \"hidden\"]}";
  std::string body;
  auto parameter = [&](std::string name, std::string type, std::string attributes = "") {
    arguments += ", %" + name + ": " + type + " {ppc.parameter = \"" + name + "\"" + attributes + "}";
  };
  if (options.tied) {
    parameter("shared", w);
    parameter("gain", "tensor<f64>");
  }
  std::string before = "%x";
  int64_t last = options.layers - 1;
  for (int64_t k = 0; k <= last; ++k) {
    std::string n = std::to_string(k), attributes = " {ppc.layer = " + n + "} : ";
    auto emit = [&](std::string name, std::string text, std::string types) {
      body += "  %" + name + n + " = ppc." + text + attributes + types + "\n";
      return "%" + name + n;
    };
    auto addTo = [&](std::string name, std::string a, std::string b) { return emit(name, "add " + a + ", " + b, x); };
    parameter("w" + n, w);
    parameter("b" + n, b, ", ppc.no_weight_decay");
    parameter("c" + n, b);
    std::string h = k % 2 ? emit("h", "matmul \"oi,bi->bo\" %w" + n + ", " + before, "(" + w + ", " + x + ") -> " + x)
                          : emit("h", "matmul \"bi,oi->bo\" " + before + ", %w" + n, "(" + x + ", " + w + ") -> " + x);
    std::string bias = emit("bias", "add %b" + n + ", %c" + n, b); // one gradient for two parameters
    h = addTo("g", h, emit("wide", "broadcast " + bias + " dims [0]", b + " to " + x));
    h = emit("s", "silu " + h, x);
    if (options.tied && (k == 0 || k == last || k == options.layers / 2))
      h = addTo("u", h, emit("v", "matmul \"oi,bi->bo\" %shared, " + before, "(" + w + ", " + x + ") -> " + x));
    if (options.tied && (k == 1 || k == last))
      h = emit("m", "mul " + h + ", " + emit("gain", "broadcast %gain dims [0, 1]", "tensor<f64> to " + x), x);
    before = addTo("x", before, h);
    if (k == last && k > 0)
      before = addTo("skip", before, "%s0");
  }
  std::string attributes = " {ppc.layer = " + std::to_string(last) + "} : ";
  body += "  %d = ppc.sub " + before + ", %t" + attributes + x + "\n  %q = ppc.mul %d, %d" + attributes + x +
          "\n  %r = ppc.reduce #ppc.combiner<sum> %q dims [0, 1]" + attributes + x + " to tensor<f64>\n" +
          llvm::formatv("  %l = ppc.scale %r by {0:e20}", 1.0 / double(options.batch * options.width)).str() +
          attributes + "tensor<f64>\n  return %l : tensor<f64>\n";
  return parseSourceString<ModuleOp>("func.func @loss(" + arguments + ") -> tensor<f64> {\n" + body + "}\n", &context);
}

OwningOpRef<ModuleOp> buildLlama(MLIRContext &context, const LlamaOptions &options) {
  std::string json = llvm::formatv(R"({{"model_type": "llama", "hidden_size": 6, "intermediate_size": 5,
    "num_hidden_layers": {0}, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "vocab_size": 7,
    "max_position_embeddings": 32, "rope_theta": 100.0, "initializer_range": 0.5{1})",
                                   options.layers, options.changes);
  return buildFromConfig(context, json + "}", {options.sequence, options.batch});
}

OwningOpRef<ModuleOp> buildFromConfig(MLIRContext &context, StringRef json, const HuggingFaceOptions &options,
                                      bool single) {
  ModelConfig config = llvm::cantFail(parseModelConfig("config.json", json));
  OwningOpRef<ModuleOp> module = llvm::cantFail(buildModel(config, options, context));
  if (single)
    return module;
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return parseSourceString<ModuleOp>(std::regex_replace(text, std::regex("f32\\b"), "f64"), &context);
}

LogicalResult run(ModuleOp module, Passes passes) {
  PassManager manager(module.getContext());
  for (auto &pass : passes)
    manager.addPass(std::move(pass));
  return manager.run(module);
}

LogicalResult buildStep(ModuleOp module, int64_t microBatches, AppendOptimizerPassOptions optimizer) {
  return run(module, passes(createBuildBackwardPass(), createSplitMicrobatchesPass({microBatches}),
                            createAppendOptimizerPass(optimizer)));
}

RankValues randomArguments(func::FuncOp function, unsigned seed) {
  std::mt19937 random(seed);
  int64_t vocabulary = 2;
  for (BlockArgument argument : function.getArguments())
    if (auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims))
      for (auto [dim, name] : llvm::enumerate(dims.getAsRange<StringAttr>()))
        if (name == "vocab")
          vocabulary = tensorType(argument).getDimSize(dim);
  RankValues values;
  for (BlockArgument argument : function.getArguments()) {
    ReferenceTensor tensor = ReferenceTensor::zeros(argument.getType());
    unsigned number = argument.getArgNumber();
    auto state = function.getArgAttrOfType<StringAttr>(number, attr::state);
    auto scalar = function.getArgAttrOfType<StringAttr>(number, attr::scalar);
    std::uniform_real_distribution<double> real(state && state == "v" ? 0.0 : -1.0, 1.0);
    bool isIndex = tensorType(argument).getElementType().isInteger();
    for (double &value : tensor.data)
      value = isIndex ? double(random() % vocabulary) : scalar ? (scalar == "step" ? 3 : 0.01) : real(random);
    values.push_back(std::move(tensor));
  }
  return values;
}

int findArgument(func::FuncOp function, StringRef label, StringRef text, StringRef of) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, label);
    auto owner = function.getArgAttrOfType<StringAttr>(i, attr::of);
    if (name && name == text && (of.empty() || (owner && owner == of)))
      return i;
  }
  return -1;
}

int findResult(func::FuncOp function, StringRef kind, StringRef of) {
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto label = function.getResultAttrOfType<StringAttr>(i, attr::result);
    auto owner = function.getResultAttrOfType<StringAttr>(i, attr::of);
    if (label && label == kind && (of.empty() || (owner && owner == of)))
      return i;
  }
  return -1;
}

bool near(const ReferenceTensor &a, const ReferenceTensor &b, double tolerance) {
  if (a.shape != b.shape)
    return false;
  for (auto [x, y] : llvm::zip_equal(a.data, b.data))
    if (!(std::abs(x - y) <= tolerance * std::max({1.0, std::abs(x), std::abs(y)})))
      return false;
  return true;
}

} // namespace mlir::ppc::test
