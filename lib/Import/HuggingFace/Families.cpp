// Names of parameters by family, limits of the importer, and the conversion of a file to a module.
#include "ModelBuilder.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

namespace mlir::ppc {

static ParameterNames llamaNames() {
  ParameterNames names;
  names.embedding = "model.embed_tokens";
  names.layer = "model.layers";
  names.attentionNorm = "input_layernorm";
  names.ffnNorm = "post_attention_layernorm";
  names.attention = "self_attn";
  names.output = "o_proj";
  names.lastNorm = "model.norm";
  names.head = "lm_head";
  names.up = "up_proj";
  names.down = "down_proj";
  return names;
}

static ParameterNames gpt2Names() {
  ParameterNames names;
  names.embedding = "transformer.wte";
  names.positions = "transformer.wpe";
  names.layer = "transformer.h";
  names.attentionNorm = "ln_1";
  names.ffnNorm = "ln_2";
  names.attention = "attn";
  names.qkv = "c_attn";
  names.output = "c_proj";
  names.lastNorm = "transformer.ln_f";
  names.head = "lm_head";
  names.up = "c_fc";
  names.down = "c_proj";
  names.layout = ProjectionLayout::FusedByPart;
  names.transposed = true;
  names.ignoredTensors = {"*.attn.bias", "*.attn.masked_bias"};
  return names;
}

static ParameterNames neoxNames() {
  ParameterNames names;
  names.embedding = "gpt_neox.embed_in";
  names.layer = "gpt_neox.layers";
  names.attentionNorm = "input_layernorm";
  names.ffnNorm = "post_attention_layernorm";
  names.attention = "attention";
  names.qkv = "query_key_value";
  names.output = "dense";
  names.lastNorm = "gpt_neox.final_layer_norm";
  names.head = "embed_out";
  names.up = "dense_h_to_4h";
  names.down = "dense_4h_to_h";
  names.layout = ProjectionLayout::FusedByHead;
  names.ignoredTensors = {"*.attention.bias", "*.attention.masked_bias", "*.rotary_emb.inv_freq"};
  return names;
}

static ParameterNames mixtralNames() {
  ParameterNames names = llamaNames();
  names.storedExperts = "block_sparse_moe";
  names.expertGate = "w1";
  names.expertUp = "w3";
  names.expertDown = "w2";
  return names;
}

static ParameterNames phi3Names() {
  ParameterNames names = llamaNames();
  names.storedQkv = "qkv_proj";
  names.storedGateUp = "gate_up_proj";
  return names;
}

static ParameterNames bloomNames() {
  ParameterNames names = neoxNames();
  names.embedding = "transformer.word_embeddings";
  names.embeddingNorm = "transformer.word_embeddings_layernorm";
  names.layer = "transformer.h";
  names.attention = "self_attention";
  names.lastNorm = "transformer.ln_f";
  names.head = "lm_head";
  return names;
}

const ParameterNames &parameterNames(StringRef family) {
  static const ParameterNames llama = llamaNames(), gpt2 = gpt2Names(), neox = neoxNames(), bloom = bloomNames(),
                              mixtral = mixtralNames(), phi3 = phi3Names();
  return *llvm::StringSwitch<const ParameterNames *>(family)
              .Case("gpt2", &gpt2)
              .Case("gpt_neox", &neox)
              .Case("bloom", &bloom)
              .Case("mixtral", &mixtral)
              .Case("phi3", &phi3)
              .Default(&llama);
}

bool isHuggingFaceModel(llvm::StringRef path) {
  return llvm::sys::fs::is_directory(path) || llvm::sys::path::extension(path) == ".json";
}

llvm::Expected<OwningOpRef<ModuleOp>> buildModel(const ModelConfig &config, const HuggingFaceOptions &options,
                                                 MLIRContext &context) {
  auto refuse = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  if (options.sequenceLength < 1)
    return refuse("sequence length must be at least 1, not " + llvm::Twine(options.sequenceLength));
  if (options.globalBatch < 1)
    return refuse("global batch must be at least 1 sequence, not " + llvm::Twine(options.globalBatch));
  const ModelShape &shape = config.shape;
  llvm::StringRef limit = shape.position == PositionKind::Learned ? "n_positions" : "max_position_embeddings";
  if (shape.maxPositions && options.sequenceLength > shape.maxPositions)
    return refuse(config.file + ": sequence length " + llvm::Twine(options.sequenceLength) + " is longer than " +
                  limit + " " + llvm::Twine(shape.maxPositions) + "; shorten the sequence or raise the key");
  if (shape.index && options.sequenceLength > shape.index.topK)
    return refuse(config.file + ": key \"index_topk\": of " + llvm::Twine(options.sequenceLength) +
                  " tokens, sparse attention reads only the " + llvm::Twine(shape.index.topK) +
                  " that its index branch chooses, which cannot be built; shorten the sequence to " +
                  llvm::Twine(shape.index.topK));
  if (double dropout = std::max(shape.dropout, config.attentionDropout))
    return refuse(config.file + ": key \"" + config.dropoutKey + "\": a dropout of " +
                  llvm::formatv("{0:f2}", dropout).str() +
                  " cannot be built: set the model's dropout probabilities to 0");
  if (shape.activation != ActivationKind::Silu && shape.activation != ActivationKind::Gelu)
    return refuse(config.file + ": key \"" + config.activationKey +
                  "\": the activation of this model cannot be built: only silu and gelu can");
  if (rotaryTableFactor(config) != 1 && (shape.latent || shape.rotaryFraction < 1))
    return refuse(config.file + ": key \"" + config.ropeKey + "\": yarn scales the rotated part of a head by " +
                  llvm::formatv("{0:f3}", rotaryTableFactor(config)).str() +
                  ", which cannot be built where another part is not rotated; give mscale equal to mscale_all_dim");
  if (options.expertCapacityFactor < 0)
    return refuse("expert capacity factor must be at least 0, not " +
                  llvm::formatv("{0}", options.expertCapacityFactor).str());
  context.loadDialect<PpcDialect, func::FuncDialect>();
  return ModelBuilder(config, options, context).build();
}

llvm::Expected<OwningOpRef<ModuleOp>> importHuggingFace(llvm::StringRef path, const HuggingFaceOptions &options,
                                                        MLIRContext &context) {
  llvm::Expected<ModelConfig> config = readModelConfig(path);
  if (!config)
    return config.takeError();
  return buildModel(*config, options, context);
}

} // namespace mlir::ppc
