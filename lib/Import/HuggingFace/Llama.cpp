// LlamaConfig -> the model in the ppc dialect.
#include "ppc/Import/HuggingFace.h"

#include "dialects/ppc/Ppc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/Twine.h"

#include <cmath>

namespace mlir::ppc {

namespace {
/// Builds @loss front to back; each use of a parameter appends a function argument, so arguments are in Hugging Face's
/// order of first use.
class LlamaBuilder {
public:
  LlamaBuilder(const LlamaConfig &config, const HuggingFaceOptions &options, MLIRContext &context)
      : config(config), batch(options.globalBatch), sequence(options.sequenceLength), builder(&context),
        loc(UnknownLoc::get(&context)), frequencies(rotaryFrequencies(config)) {}

  OwningOpRef<ModuleOp> build() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc, "llama");
    builder.setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(builder, loc, "loss", builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(function.addEntryBlock());

    Value ids = addInput("ids"), targets = addInput("targets");
    Value table = embeddingTable("model.embed_tokens.weight");
    startLayer("model.embed_tokens");
    Value x = create<EmbeddingOp>(hiddenType(), table, ids, BlockAttr());
    for (int64_t index = 0; index < config.layers; ++index)
      x = decoderLayer(x, ("model.layers." + Twine(index)).str());
    startLayer("model.norm");
    x = rmsNorm(x, "model.norm");
    Value head = config.tiedEmbeddings ? table : embeddingTable("lm_head.weight");
    at("lm_head");
    Value logits = matmul("bsh,vh->bsv", x, head);
    at("loss");
    auto crossEntropy = create<CrossEntropyOp>(TypeRange{perTokenType(), perTokenType()}, logits, targets);
    auto combiner = CombinerAttr::get(builder.getContext(), Combiner::Sum);
    Value sum = create<ReduceOp>(tensorOf({}), combiner, crossEntropy.getNll(), builder.getDenseI64ArrayAttr({0, 1}));
    Value mean = create<ScaleOp>(tensorOf({}), sum, builder.getF64FloatAttr(1.0 / (double(batch) * double(sequence))));

    func::ReturnOp::create(builder, loc, mean);
    function.setFunctionType(builder.getFunctionType(function.front().getArgumentTypes(), mean.getType()));
    for (auto [index, attributes] : llvm::enumerate(argumentAttributes))
      function.setArgAttrs(index, attributes);
    return module;
  }

private:
  Value decoderLayer(Value x, const std::string &name) {
    startLayer(name);
    Value attended = attention(rmsNorm(x, name + ".input_layernorm"), name + ".self_attn");
    at(name);
    x = create<AddOp>(x.getType(), x, attended);
    Value y = mlp(rmsNorm(x, name + ".post_attention_layernorm"), name + ".mlp");
    at(name);
    return create<AddOp>(x.getType(), x, y);
  }

  /// Query head (k, g) is head k * group + g of the reference: the weights keep their order.
  Value attention(Value x, const std::string &name) {
    int64_t group = config.heads / config.kvHeads;
    SmallVector<Dimension> queryDims = {
        {"kv_heads", config.kvHeads}, {"head_group", group}, {"head_dim", config.headDim}};
    SmallVector<Dimension> keyDims = {{"kv_heads", config.kvHeads}, {"head_dim", config.headDim}};
    Dimension hidden{"hidden", config.hidden};
    auto projection = [&](const char *which, SmallVector<Dimension> dims, const char *spec) {
      dims.push_back(hidden);
      Value weight = matrix(name + which + ".weight", dims);
      at(name + which);
      return matmul(spec, x, weight);
    };
    Value q = projection(".q_proj", queryDims, "bsh,kgdh->bskgd");
    Value k = projection(".k_proj", keyDims, "bsh,kdh->bskd");
    Value v = projection(".v_proj", keyDims, "bsh,kdh->bskd");
    queryDims.insert(queryDims.begin(), hidden);
    Value outWeight = matrix(name + ".o_proj.weight", queryDims);

    at(name);
    q = rotary(q);
    k = rotary(k);
    Value out = create<AttentionOp>(q, k, v, 1.0 / std::sqrt(double(config.headDim)), /*causal=*/true).getOut();
    at(name + ".o_proj");
    return matmul("bskgd,hkgd->bsh", out, outWeight);
  }

  Value mlp(Value x, const std::string &name) {
    Dimension hidden{"hidden", config.hidden}, ffn{"ffn", config.ffn};
    Value gateWeight = matrix(name + ".gate_proj.weight", {ffn, hidden});
    Value upWeight = matrix(name + ".up_proj.weight", {ffn, hidden});
    Value downWeight = matrix(name + ".down_proj.weight", {hidden, ffn});
    at(name + ".gate_proj");
    Value gate = matmul("bsh,fh->bsf", x, gateWeight);
    at(name + ".up_proj");
    Value up = matmul("bsh,fh->bsf", x, upWeight);
    at(name);
    Value active = create<SiluOp>(gate.getType(), gate);
    Value product = create<MulOp>(gate.getType(), active, up);
    at(name + ".down_proj");
    return matmul("bsf,hf->bsh", product, downWeight);
  }

  Value rmsNorm(Value x, const std::string &name) {
    auto ones = InitAttr::get(builder.getContext(), InitKind::Ones, builder.getF64FloatAttr(0));
    Value weight = addParameter(name + ".weight", {{"hidden", config.hidden}}, ones, /*decays=*/false);
    at(name);
    return create<RmsNormOp>(x.getType(), x, weight, builder.getF64FloatAttr(config.normEpsilon));
  }

  Value rotary(Value x) {
    return create<RotaryOp>(x.getType(), x, builder.getDenseF64ArrayAttr(frequencies), /*inverse=*/UnitAttr());
  }

  Value matmul(StringRef spec, Value lhs, Value rhs) { return create<MatmulOp>(spec, lhs, rhs); }

  //===---- Arguments ----===//

  struct Dimension {
    StringRef name;
    int64_t extent;
  };

  Value embeddingTable(const Twine &name) {
    return matrix(name.str(), {{"vocab", config.vocab}, {"hidden", config.hidden}});
  }

  Value matrix(const std::string &name, ArrayRef<Dimension> dims) {
    auto normal =
        InitAttr::get(builder.getContext(), InitKind::Normal, builder.getF64FloatAttr(config.initializerRange));
    return addParameter(name, dims, normal, /*decays=*/true);
  }

  Value addInput(StringRef name) {
    return addArgument(attr::input, name, {{"batch", batch}, {"seq", sequence}}, builder.getI32Type(), {});
  }

  Value addParameter(const std::string &name, ArrayRef<Dimension> dims, InitAttr init, bool decays) {
    SmallVector<NamedAttribute> attributes = {builder.getNamedAttr(attr::init, init)};
    if (!decays)
      attributes.push_back(builder.getNamedAttr(attr::noWeightDecay, builder.getUnitAttr()));
    return addArgument(attr::parameter, name, dims, builder.getF32Type(), attributes);
  }

  Value addArgument(StringRef role, StringRef name, ArrayRef<Dimension> dims, Type elementType,
                    SmallVector<NamedAttribute> attributes) {
    SmallVector<int64_t> shape;
    SmallVector<StringRef> names;
    for (const Dimension &dim : dims) {
      shape.push_back(dim.extent);
      names.push_back(dim.name);
    }
    attributes.push_back(builder.getNamedAttr(role, builder.getStringAttr(name)));
    attributes.push_back(builder.getNamedAttr(attr::dims, builder.getStrArrayAttr(names)));
    argumentAttributes.push_back(builder.getDictionaryAttr(attributes));
    return function.front().addArgument(RankedTensorType::get(shape, elementType), locationOf(name));
  }

  //===---- Ops ----===//

  Location locationOf(StringRef name) { return NameLoc::get(builder.getStringAttr(name)); }
  /// The module of the reference that the next ops belong to.
  void at(StringRef name) { loc = locationOf(name); }
  /// The next ops belong to the next element of the chain of layers.
  void startLayer(StringRef name) {
    ++layer;
    at(name);
  }

  template <typename OpType, typename... Args> OpType create(Args &&...args) {
    auto op = OpType::create(builder, loc, std::forward<Args>(args)...);
    op->setAttr(attr::layer, builder.getI64IntegerAttr(layer));
    return op;
  }

  RankedTensorType tensorOf(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, builder.getF32Type()); }
  RankedTensorType hiddenType() { return tensorOf({batch, sequence, config.hidden}); }
  RankedTensorType perTokenType() { return tensorOf({batch, sequence}); }

  const LlamaConfig &config;
  int64_t batch, sequence;
  OpBuilder builder;
  Location loc;
  std::vector<double> frequencies;
  func::FuncOp function;
  SmallVector<DictionaryAttr> argumentAttributes;
  int64_t layer = -1; // 0: embedding, 1..L: decoder layers, L + 1: norm, head and loss
};
} // namespace

llvm::Expected<OwningOpRef<ModuleOp>> buildLlama(const LlamaConfig &config, const HuggingFaceOptions &options,
                                                 MLIRContext &context) {
  auto refuse = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  if (options.sequenceLength < 1)
    return refuse("sequence length must be at least 1, not " + llvm::Twine(options.sequenceLength));
  if (options.globalBatch < 1)
    return refuse("global batch must be at least 1 sequence, not " + llvm::Twine(options.globalBatch));
  if (options.sequenceLength > config.maxPositions)
    return refuse(config.file + ": sequence length " + llvm::Twine(options.sequenceLength) +
                  " is longer than max_position_embeddings " + llvm::Twine(config.maxPositions) +
                  "; shorten the sequence or raise the key");
  context.loadDialect<PpcDialect, func::FuncDialect>();
  return LlamaBuilder(config, options, context).build();
}

llvm::Expected<OwningOpRef<ModuleOp>> importHuggingFace(llvm::StringRef path, const HuggingFaceOptions &options,
                                                        MLIRContext &context) {
  llvm::Expected<LlamaConfig> config = readLlamaConfig(path);
  if (!config)
    return config.takeError();
  return buildLlama(*config, options, context);
}

} // namespace mlir::ppc
