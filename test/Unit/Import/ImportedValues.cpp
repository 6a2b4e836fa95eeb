// The importer, the interpreter and random numbers.
#include "ImportedValues.h"

#include "dialects/ppc/Ppc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "ppc/Interpreter/Interpreter.h"
#include "ppc/Transforms/Autodiff/Passes.h"

namespace mlir::ppc::test {

static uint64_t hashOf(StringRef name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : name.bytes())
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

static uint64_t splitmix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

double drawnNumber(StringRef name, uint64_t index) {
  return double(splitmix(hashOf(name) + index) >> 11) * 0x1p-52 - 1;
}

ImportedModel importText(StringRef config, MLIRContext &context, int64_t sequence) {
  llvm::Expected<ModelConfig> parsed = parseModelConfig("config.json", config);
  if (parsed)
    return importConfig(*parsed, context, sequence);
  ImportedModel imported;
  imported.refusal = llvm::toString(parsed.takeError());
  return imported;
}

/// The spelling of keys in a file, and the padding token, do not affect the results of the module.
static void forgetSpelling(ModuleOp module) {
  NamedAttrList weights(module->getAttrOfType<DictionaryAttr>("ppc.weights"));
  weights.erase("config_keys");
  weights.erase("padding_token");
  module->setAttr("ppc.weights", weights.getDictionary(module.getContext()));
}

ImportedModel importConfig(const ModelConfig &config, MLIRContext &context, int64_t sequence) {
  ImportedModel imported;
  llvm::Expected<OwningOpRef<ModuleOp>> module = buildModel(config, {sequence, sweepBatch}, context);
  if (!module) {
    imported.refusal = llvm::toString(module.takeError());
    return imported;
  }
  imported.module = std::move(*module);
  forgetSpelling(*imported.module);
  llvm::raw_string_ostream(imported.text) << *imported.module;
  return imported;
}

static func::FuncOp lossOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

static std::string parameterName(func::FuncOp function, unsigned index) {
  for (StringRef role : {attr::parameter, attr::state})
    if (auto name = function.getArgAttrOfType<StringAttr>(index, role))
      return name.str();
  return "";
}

int64_t parameterCount(ModuleOp module) {
  func::FuncOp function = lossOf(module);
  int64_t count = 0;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (!parameterName(function, index).empty())
      count += cast<RankedTensorType>(type).getNumElements();
  return count;
}

/// Small embeddings, so that the epsilons of norms count; norms near 1.
static double parameterValue(StringRef name, uint64_t index) {
  double drawn = drawnNumber(name, index);
  bool norm = name.contains("norm") || name.contains("ln_");
  if (norm && name.ends_with(".weight"))
    return float(1 + 0.3 * drawn);
  bool embedding = name.contains("embed_tokens") || name.contains("embed_in") || name.contains("wte.") ||
                   name.contains("wpe.") || name.contains("word_embeddings.");
  return float((embedding ? 0.1 : 0.5) * drawn);
}

/// Row r has the tokens r (sequence + 1), ... of one stream; its targets are the same, one later.
static RankValues drawArguments(func::FuncOp function, int64_t vocabulary) {
  RankValues arguments;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    ReferenceTensor &tensor = arguments.emplace_back(ReferenceTensor::zeros(type));
    std::string name = parameterName(function, index);
    if (!name.empty()) {
      for (auto [element, value] : llvm::enumerate(tensor.data))
        value = parameterValue(name, element);
      continue;
    }
    int64_t later = function.getArgAttrOfType<StringAttr>(index, attr::input) == "targets";
    for (int64_t element = 0; element < tensor.size(); ++element) {
      int64_t at = element / sweepSequence * (sweepSequence + 1) + element % sweepSequence + later;
      tensor.data[element] =
          std::min<double>(vocabulary - 1, std::floor((drawnNumber("tokens", at) + 1) / 2 * vocabulary));
    }
  }
  return arguments;
}

ImportedValues computeValues(ModuleOp module, bool gradients) {
  OwningOpRef<ModuleOp> copy = module.clone();
  int64_t vocabulary = 0;
  copy->walk([&](CrossEntropyOp op) { vocabulary = tensorType(op.getLogits()).getShape().back(); });
  if (gradients) {
    PassManager manager(module.getContext());
    manager.addPass(createBuildBackwardPass());
    if (failed(manager.run(*copy)))
      llvm::report_fatal_error("ppc-build-backward failed");
  }
  func::FuncOp function = lossOf(*copy);
  FailureOr<RankValues> results = interpret(function, drawArguments(function, vocabulary));
  if (failed(results))
    llvm::report_fatal_error("the interpreter failed");
  ImportedValues values;
  values.loss = results->front().data[0];
  for (unsigned index = 1; index < results->size(); ++index)
    values.gradients[function.getResultAttrOfType<StringAttr>(index, "ppc.of").str()] = (*results)[index].data;
  return values;
}

} // namespace mlir::ppc::test
