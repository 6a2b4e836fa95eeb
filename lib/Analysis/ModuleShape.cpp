#include "ppc/Analysis/ModuleShape.h"

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Support/Limits.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {

static constexpr llvm::StringLiteral shapeName = "ppc.shape";

/// visit(name, field) for every field of a shape; enumerations as numbers.
template <typename Shape, typename Visit> static void forEachField(Shape &shape, Visit visit) {
  visit("name", shape.name);
  visit("family", shape.family);
  visit("layers", shape.layers);
  visit("hidden", shape.hidden);
  visit("heads", shape.heads);
  visit("kv_heads", shape.kvHeads);
  visit("head_dim", shape.headDim);
  visit("ffn", shape.ffn);
  visit("gated", shape.gated);
  visit("activation", shape.activation);
  visit("vocab", shape.vocab);
  visit("tied_embeddings", shape.tiedEmbeddings);
  visit("norm", shape.norm);
  visit("norm_bias", shape.normBias);
  visit("attention_bias", shape.attentionBias);
  visit("output_bias", shape.outputBias);
  visit("ffn_bias", shape.ffnBias);
  visit("query_key_norm", shape.queryKeyNorm);
  visit("embedding_norm", shape.embeddingNorm);
  visit("scales_embedding", shape.scalesEmbedding);
  visit("offset_norms", shape.offsetNorms);
  visit("position", shape.position);
  visit("rotary_fraction", shape.rotaryFraction);
  visit("max_positions", shape.maxPositions);
  visit("sliding_window", shape.slidingWindow);
  visit("sliding_window_every", shape.slidingWindowEvery);
  visit("parallel_residual", shape.parallelResidual);
  visit("dropout", shape.dropout);
  visit("query_rank", shape.latent.queryRank);
  visit("key_value_rank", shape.latent.keyValueRank);
  visit("nope_head_dim", shape.latent.nopeHeadDim);
  visit("rope_head_dim", shape.latent.ropeHeadDim);
  visit("value_head_dim", shape.latent.valueHeadDim);
  visit("index_top_k", shape.index.topK);
  visit("index_heads", shape.index.heads);
  visit("index_head_dim", shape.index.headDim);
  visit("index_first", shape.index.first);
  visit("index_every", shape.index.every);
  visit("experts", shape.moe.experts);
  visit("top_k", shape.moe.topK);
  visit("expert_ffn", shape.moe.ffn);
  visit("shared_ffn", shape.moe.sharedFfn);
  visit("first_expert_layer", shape.moe.firstLayer);
  visit("experts_every", shape.moe.every);
  visit("expert_groups", shape.moe.groups);
  visit("groups_per_token", shape.moe.groupsPerToken);
  visit("normalizes_top_k", shape.moe.normalizesTopK);
  visit("shared_gate", shape.moe.sharedGate);
  visit("score_bias", shape.moe.scoreBias);
  // No program has prediction layers.
}

namespace {
/// Fields to and from attributes, by type.
struct FieldWriter {
  Builder builder;
  SmallVector<NamedAttribute> entries;

  void operator()(StringRef name, const std::string &text) {
    if (!text.empty())
      entries.push_back(builder.getNamedAttr(name, builder.getStringAttr(text)));
  }
  void operator()(StringRef name, double value) {
    entries.push_back(builder.getNamedAttr(name, builder.getF64FloatAttr(value)));
  }
  void operator()(StringRef name, int64_t value) {
    entries.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  }
  void operator()(StringRef name, bool value) {
    entries.push_back(builder.getNamedAttr(name, builder.getBoolAttr(value)));
  }
  template <typename Enumeration>
  std::enable_if_t<std::is_enum_v<Enumeration>> operator()(StringRef name, Enumeration value) {
    (*this)(name, int64_t(value));
  }
};

struct FieldReader {
  DictionaryAttr entries;
  std::string malformed; // the first entry of a wrong type

  template <typename Attribute> Attribute find(StringRef name) {
    mlir::Attribute any = entries.get(name);
    auto value = dyn_cast_or_null<Attribute>(any);
    if (any && !value && malformed.empty())
      malformed = name.str();
    return value;
  }
  void operator()(StringRef name, std::string &text) {
    if (auto value = find<StringAttr>(name))
      text = value.str();
  }
  void operator()(StringRef name, double &number) {
    if (auto value = find<FloatAttr>(name))
      number = value.getValueAsDouble();
  }
  void operator()(StringRef name, int64_t &number) {
    if (auto value = find<IntegerAttr>(name))
      number = value.getInt();
  }
  void operator()(StringRef name, bool &flag) {
    if (auto value = find<BoolAttr>(name))
      flag = value.getValue();
  }
  template <typename Enumeration>
  std::enable_if_t<std::is_enum_v<Enumeration>> operator()(StringRef name, Enumeration &value) {
    int64_t number = int64_t(value);
    (*this)(name, number);
    value = Enumeration(number);
  }
};
} // namespace

void recordModelShape(ModuleOp module, const ModelShape &shape) {
  FieldWriter writer{Builder(module.getContext()), {}}, defaults{Builder(module.getContext()), {}};
  ModelShape none;
  forEachField(shape, [&](StringRef name, const auto &field) { writer(name, field); });
  forEachField(none, [&](StringRef name, const auto &field) { defaults(name, field); });
  DictionaryAttr known = DictionaryAttr::get(module.getContext(), defaults.entries);
  llvm::erase_if(writer.entries, [&](NamedAttribute entry) { return known.get(entry.getName()) == entry.getValue(); });
  module->setAttr(shapeName, DictionaryAttr::get(module.getContext(), writer.entries));
}

Precision precisionOf(ModuleOp module) {
  if (auto stated = module->getAttrOfType<StringAttr>(attr::precision))
    return stated.getValue() == "bf16" ? Precision::Bf16 : Precision::F32;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), attr::parameter)) {
        Type type = tensorType(argument).getElementType();
        return type.isBF16() ? Precision::Bf16 : type.isF16() ? Precision::Fp16 : Precision::F32;
      }
  return Precision::F32;
}

int64_t logicalDimension(ModuleOp module, StringRef name) {
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims))
        for (auto [dim, size] : llvm::zip(axisNames(dims), tensorType(argument).getShape()))
          if (dim == name)
            return size;
  return 0;
}

/// What the arguments and the layers of a program by hand say.
static llvm::Expected<ModelShape> readProgram(ModuleOp module) {
  ModelShape shape;
  shape.name = "model";
  shape.family = "llama";
  struct {
    StringRef name;
    int64_t *field;
  } dims[] = {{"hidden", &shape.hidden},
              {"ffn", &shape.ffn},
              {"vocab", &shape.vocab},
              {"kv_heads", &shape.kvHeads},
              {"head_dim", &shape.headDim}};
  for (auto [name, field] : dims)
    if (!(*field = logicalDimension(module, name)))
      return llvm::createStringError("no argument has a dimension called \"" + name +
                                     "\" in ppc.dims, which the cost model of transformers needs");
  shape.heads = shape.kvHeads * std::max<int64_t>(1, logicalDimension(module, "head_group"));
  int64_t last = 0, tables = 0, feedForward = 0;
  module.walk([&](Operation *op) {
    if (auto layer = op->getAttrOfType<IntegerAttr>(attr::layer))
      last = std::max(last, layer.getInt());
  });
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      auto dims = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attr::dims);
      if (!dims || !function.getArgAttr(argument.getArgNumber(), attr::parameter))
        continue;
      tables += llvm::is_contained(axisNames(dims), "vocab");
      feedForward += llvm::is_contained(axisNames(dims), "ffn");
    }
  shape.layers = last - 1; // embedding and head are numbered too
  if (shape.layers < 1)
    return llvm::createStringError("ppc.layer numbers no layer between embedding and LM head");
  shape.tiedEmbeddings = tables < 2;
  shape.gated = feedForward >= 3 * shape.layers;
  if (llvm::Error error = verifyModelShape(shape))
    return std::move(error);
  return shape;
}

llvm::Expected<ModelShape> modelShapeOf(ModuleOp module) {
  Attribute recorded = module->getAttr(shapeName);
  if (!recorded)
    return readProgram(module);
  FieldReader reader{dyn_cast<DictionaryAttr>(recorded), {}};
  if (!reader.entries)
    return llvm::createStringError(shapeName + " is not a dictionary");
  ModelShape shape;
  forEachField(shape, [&](StringRef name, auto &field) { reader(name, field); });
  if (!reader.malformed.empty())
    return llvm::createStringError(shapeName + ": '" + reader.malformed + "' has a value of the wrong type");
  if (llvm::Error error = verifyModelShape(shape))
    return std::move(error);
  return shape;
}

llvm::Expected<TrainingJob> trainingJobOf(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), attr::input))
        if (auto type = dyn_cast<RankedTensorType>(argument.getType()); type && type.getRank() == 2) {
          if (type.getDimSize(0) > limits::globalBatch || type.getDimSize(1) > limits::sequenceLength)
            return llvm::createStringError(
                llvm::formatv("input {0} has {1} sequences of {2} tokens, expected at most {3} of {4}",
                              function.getArgAttr(argument.getArgNumber(), attr::input), type.getDimSize(0),
                              type.getDimSize(1), limits::globalBatch, limits::sequenceLength));
          return TrainingJob{type.getDimSize(1), type.getDimSize(0)};
        }
  return llvm::createStringError("no argument is an input [batch, sequence]");
}

} // namespace mlir::ppc
