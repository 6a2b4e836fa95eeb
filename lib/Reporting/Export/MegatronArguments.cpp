// Megatron-LM: names as its parser has them (main at d98e8a64; core 0.12 and later know all that dense models need).
#include "Exporters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

namespace {
class ArgumentList {
public:
  void flag(llvm::StringRef name) { text += "  --" + name.str() + "\n"; }
  void set(llvm::StringRef name, llvm::StringRef value) { text += "  --" + name.str() + " " + value.str() + "\n"; }
  void set(llvm::StringRef name, int64_t value) { set(name, std::to_string(value)); }
  std::string text;
};
} // namespace

/// The fewest digits that mean the number.
static std::string plain(double number) {
  char text[32];
  snprintf(text, sizeof text, "%.12g", number);
  return text;
}

/// "[1,0,...]": which layers have something.
static std::string layerList(int64_t layers, llvm::function_ref<bool(int64_t)> has) {
  std::vector<std::string> texts;
  for (int64_t layer = 0; layer < layers; ++layer)
    texts.push_back(has(layer) ? "1" : "0");
  return "\"[" + llvm::join(texts, ",") + "]\"";
}

static void addAttention(const ModelShape &model, ArgumentList &out) {
  if (model.latent) {
    out.flag("multi-latent-attention");
    if (model.latent.queryRank)
      out.set("q-lora-rank", model.latent.queryRank);
    out.set("kv-lora-rank", model.latent.keyValueRank);
    out.set("qk-head-dim", model.latent.nopeHeadDim);
    out.set("qk-pos-emb-head-dim", model.latent.ropeHeadDim);
    out.set("v-head-dim", model.latent.valueHeadDim);
    return;
  }
  if (model.kvHeads != model.heads) {
    out.flag("group-query-attention");
    out.set("num-query-groups", model.kvHeads);
  }
  if (model.headDim * model.heads != model.hidden)
    out.set("kv-channels", model.headDim);
}

static void addRopeScaling(const ModelShape &model, const RopeScaling &scaling, ArgumentList &out, ExportNotes &notes) {
  switch (scaling.kind) {
  case RopeScaling::Kind::None:
    if (model.latent)
      out.set("rope-type", "rope");
    return;
  case RopeScaling::Kind::LongRope: // refused
    return;
  case RopeScaling::Kind::Linear:
    out.set("rotary-seq-len-interpolation-factor", plain(scaling.factor));
    return;
  case RopeScaling::Kind::Llama3:
    out.flag("use-rope-scaling");
    out.set("rope-scaling-factor", plain(scaling.factor));
    if (scaling.lowFrequencyFactor != 1 || scaling.highFrequencyFactor != 4 || scaling.originalMaxPositions != 8192)
      notes.comment(
          Unsaid::Positions,
          "rope scaling there has low and high frequency factors of 1 and 4 of 8192 positions; the model has others");
    return;
  case RopeScaling::Kind::Yarn:
    if (model.latent) {
      out.set("rope-type", "yarn");
      out.set("rotary-scaling-factor", plain(scaling.factor));
      out.set("mscale", plain(scaling.magnitude));
      out.set("mscale-all-dim", plain(scaling.magnitudeAllDims));
    } else {
      out.set("yarn-original-max-position-embeddings", scaling.originalMaxPositions);
      out.set("yarn-beta-fast", plain(scaling.betaFast));
      out.set("yarn-beta-slow", plain(scaling.betaSlow));
      notes.comment(
          Unsaid::Positions,
          "the factor of YaRN has no argument of its own there: --rotary-scaling-factor is for latent attention");
    }
    return;
  }
}

static void addPositions(const ExportInput &input, ArgumentList &out, ExportNotes &notes) {
  const ModelShape &model = input.model;
  out.set("max-position-embeddings", std::max(model.maxPositions, input.job.sequence));
  if (model.position == PositionKind::None)
    return out.set("position-embedding-type", "none");
  if (model.position == PositionKind::Learned)
    return out.set("position-embedding-type", "learned_absolute");
  bool yarn = input.config && input.config->ropeScaling.kind == RopeScaling::Kind::Yarn && !model.latent;
  out.set("position-embedding-type", yarn ? "yarn" : "rope");
  if (model.rotaryFraction != 1)
    out.set("rotary-percent", plain(model.rotaryFraction));
  if (!input.config) {
    notes.comment(
        Unsaid::UnknownFacts,
        "--rotary-base (10000 where nothing is said) and scaling of positions: the model's file does not say them");
    return;
  }
  out.set("rotary-base", int64_t(input.config->ropeTheta + 0.5));
  addRopeScaling(model, input.config->ropeScaling, out, notes);
}

static void addRouter(const ExportInput &input, ArgumentList &out, ExportNotes &notes) {
  const ExpertShape &moe = input.model.moe;
  if (moe.groups > 1) {
    out.set("moe-router-num-groups", moe.groups);
    out.set("moe-router-group-topk", moe.groupsPerToken);
  }
  if (moe.scoreBias)
    out.flag("moe-router-enable-expert-bias");
  if (!input.config) {
    notes.comment(Unsaid::UnknownFacts,
                  "score function, scaling and balance loss of the router: the model's file does not say them");
    return;
  }
  const RoutingNumbers &routing = input.config->routing;
  out.set("moe-router-score-function", routing.sigmoid ? "sigmoid" : "softmax");
  out.set("moe-router-dtype", "fp32");
  // Softmax over the chosen scores is softmax over all, divided by the sum of the chosen.
  if (!routing.sigmoid && !moe.normalizesTopK)
    out.flag("moe-router-pre-softmax");
  if (routing.sigmoid && !moe.normalizesTopK && moe.topK > 1)
    notes.comment(Unsaid::Router,
                  "the weights of a token's experts are divided by their sum there; the model does not do so");
  if (routing.scale != 1)
    out.set("moe-router-topk-scaling-factor", plain(routing.scale));
  if (routing.balanceLossFactor > 0) {
    out.set("moe-router-load-balancing-type", "aux_loss");
    out.set("moe-aux-loss-coeff", plain(routing.balanceLossFactor));
  } else {
    out.set("moe-router-load-balancing-type", "none");
  }
}

static void addExperts(const ExportInput &input, ArgumentList &out, ExportNotes &notes) {
  const ModelShape &model = input.model;
  const ExpertShape &moe = model.moe;
  out.set("num-experts", moe.experts);
  out.set("moe-router-topk", moe.topK);
  out.set("moe-ffn-hidden-size", moe.ffn);
  if (moe.sharedFfn)
    out.set("moe-shared-expert-intermediate-size", moe.sharedFfn);
  if (moe.sharedGate)
    out.flag("moe-shared-expert-gate");
  if (moe.firstLayer || moe.every != 1)
    out.set("moe-layer-freq", layerList(model.layers, [&](int64_t layer) { return model.hasExperts(layer); }));
  addRouter(input, out, notes);
  out.flag("moe-grouped-gemm");
  out.set("moe-token-dispatcher-type", "alltoall");
  out.set("expert-model-parallel-size", input.layout.ep);
  out.set("expert-tensor-parallel-size", input.layout.etp);
}

static void addModel(const ExportInput &input, ArgumentList &out, ExportNotes &notes) {
  const ModelShape &model = input.model;
  out.set("num-layers", model.layers);
  out.set("hidden-size", model.hidden);
  out.set("ffn-hidden-size", model.ffn);
  out.set("num-attention-heads", model.heads);
  addAttention(model, out);
  addPositions(input, out, notes);
  if (model.slidingWindow && model.slidingWindow < input.job.sequence) {
    out.set("window-size", llvm::formatv("\"({0},0)\"", model.slidingWindow - 1).str());
    if (model.slidingWindowEvery != 1)
      out.set("window-attn-skip-freq", layerList(model.layers, [&](int64_t layer) { return model.hasWindow(layer); }));
  }
  out.set("attention-dropout", plain(input.config ? input.config->attentionDropout : model.dropout));
  out.set("hidden-dropout", plain(model.dropout));
  if (model.norm == NormKind::RmsNorm)
    out.set("normalization", "RMSNorm");
  if (input.config) {
    out.set("norm-epsilon", plain(input.config->normEpsilon));
    out.set("init-method-std", plain(input.config->initializerRange));
    if (input.config->normWeightOffset == 1)
      out.flag("apply-layernorm-1p");
    if (input.config->embeddingScale != 1)
      notes.comment(Unsaid::EmbeddingFactor, "the rows of the embedding are multiplied by " +
                                                 plain(input.config->embeddingScale) +
                                                 " in the model; there is no argument for that");
  } else {
    notes.comment(Unsaid::UnknownFacts, "--norm-epsilon and --init-method-std: the model's file does not say them");
  }
  if (model.gated)
    out.flag("swiglu");
  else if (model.activation == ActivationKind::SquaredRelu)
    out.flag("squared-relu");
  else if (model.activation == ActivationKind::Relu)
    notes.comment(Unsaid::Activation, "ReLU has no argument of its own: GELU is what runs, in the same time");
  if (!model.ffnBias && !model.outputBias) {
    out.flag("disable-bias-linear");
    if (model.attentionBias)
      out.flag("add-qkv-bias");
  }
  if (!model.tiedEmbeddings)
    out.flag("untie-embeddings-and-output-weights");
  if (model.queryKeyNorm)
    out.flag("qk-layernorm");
  if (model.predictionLayers)
    out.set("mtp-num-layers", model.predictionLayers);
  if (model.moe)
    addExperts(input, out, notes);
}

static void addPipeline(const ModelShape &model, const ParallelLayout &layout, ArgumentList &out, ExportNotes &notes) {
  out.set("pipeline-model-parallel-size", layout.pp);
  noteGroups(layout, notes);
  if (layout.pp == 1)
    return;
  if (!isEven(layout.stageLayers))
    return out.set("pipeline-model-parallel-layout",
                   "\"" + megatronPipelineLayout(layout.stageLayers, model.predictionLayers) + "\"");
  if (layout.vp > 1)
    out.set("num-virtual-stages-per-pipeline-rank", layout.vp);
}

/// Whether the state of data-parallel ranks is cut by Megatron-FSDP.
static bool usesFsdp(const ParallelLayout &layout) { return layout.zero >= 2; }

static void addState(const ParallelLayout &layout, ArgumentList &out) {
  if (layout.zero == 0)
    return;
  int64_t copies = layout.shardGroup ? layout.dataRanks() / layout.shardGroup : 1;
  if (usesFsdp(layout)) {
    out.flag("use-megatron-fsdp");
    out.set("data-parallel-sharding-strategy", layout.zero == 2 ? "optim_grads" : "optim_grads_params");
    out.set("ckpt-format", "fsdp_dtensor");
    out.flag("no-gradient-accumulation-fusion");
  }
  out.flag("use-distributed-optimizer");
  out.flag("overlap-grad-reduce");
  out.flag("overlap-param-gather");
  if (copies > 1)
    out.set("num-distributed-optimizer-instances", copies);
}

static void addRecompute(const ParallelLayout &layout, ArgumentList &out) {
  if (layout.recompute == Recompute::None)
    return;
  out.set("recompute-granularity", toString(layout.recompute));
  if (layout.recompute == Recompute::Selective)
    return;
  out.set("recompute-method", layout.recomputedLayers < 0 ? "uniform" : "block");
  out.set("recompute-num-layers", layout.recomputedLayers < 0 ? 1 : layout.recomputedLayers);
}

static void addPrecision(const ParallelLayout &layout, ArgumentList &out) {
  bool wide = layout.precision == Precision::F32 || layout.precision == Precision::Tf32;
  if (!wide)
    out.flag(layout.precision == Precision::Fp16 ? "fp16" : "bf16");
  if (layout.precision == Precision::Fp8) {
    out.set("fp8-format", "hybrid");
    out.set("fp8-recipe", "tensorwise");
  } else if (layout.precision == Precision::Mxfp8) {
    out.set("fp8-format", "e4m3");
    out.set("fp8-recipe", "mxfp8");
  } else if (layout.precision == Precision::Fp4) {
    out.set("fp4-format", "e2m1");
    out.set("fp4-recipe", "nvfp4");
  }
  out.set("transformer-impl", "transformer_engine");
  bool unfused = layout.attention == AttentionKernel::Unfused || layout.attention == AttentionKernel::FusedSoftmax;
  out.set("attention-backend", unfused ? "unfused" : layout.attention == AttentionKernel::Cudnn ? "fused" : "flash");
}

llvm::Expected<std::string> mlir::ppc::megatronArguments(const ExportInput &input, ExportNotes &notes) {
  const ModelShape &model = input.model;
  const ParallelLayout &layout = input.layout;
  if (llvm::Error error = checkMegatronModel(model, notes))
    return std::move(error);
  if (input.config && input.config->ropeScaling.kind == RopeScaling::Kind::LongRope)
    return notes.refuse(Unsaid::Architecture,
                        "Megatron-LM has no argument for LongRope's factors, which " + model.name + " has");
  if (input.tuning.adapterRank)
    return notes.refuse(Unsaid::Tuning,
                        "Megatron-LM has no adapters (LoRA); Megatron-Bridge has: --emit megatron-bridge");
  ArgumentList out;
  addModel(input, out, notes);
  out.set("seq-length", input.job.sequence);
  out.set("micro-batch-size", layout.microBatch);
  out.set("global-batch-size", input.job.globalBatch);
  out.set("tensor-model-parallel-size", layout.tp);
  if (layout.sequenceParallel && layout.tp > 1)
    out.flag("sequence-parallel");
  addPipeline(model, layout, out, notes);
  out.set("context-parallel-size", layout.cp);
  if (layout.cp > 1)
    out.set("cp-comm-type", layout.contextKind == ContextKind::Ring      ? "p2p"
                            : layout.contextKind == ContextKind::Ulysses ? "a2a"
                                                                         : "all_gather");
  addState(layout, out);
  addRecompute(layout, out);
  if (layout.offload == Offload::Optimizer) {
    out.flag("optimizer-cpu-offload");
    out.flag("use-precision-aware-optimizer");
  }
  addPrecision(layout, out);
  noteWideProducts(layout, notes);
  notes.comment(Unsaid::DataParallelism, "data parallelism is what is left of the ranks: " + std::to_string(layout.dp) +
                                             " on " + std::to_string(layout.devices()));
  notes.comment(Unsaid::Data,
                "data, tokenizer, learning rate and length of training are no part of a plan; the last line of the "
                "array tries it without");
  // Of the ranks that share a device's connections, collectives must start in the order in which they are issued;
  // Megatron-FSDP needs the opposite.
  std::string environment = usesFsdp(layout) ? "unset CUDA_DEVICE_MAX_CONNECTIONS   # Megatron-FSDP wants more than 1\n"
                            : layout.tp > 1 || layout.cp > 1 ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                                                             : "";
  std::string trial =
      llvm::formatv("  # --mock-data --tokenizer-type NullTokenizer --vocab-size {0} --train-iters 10 --lr 1e-4\n",
                    model.vocab - 1)
          .str();
  return environment + "MEGATRON_ARGS=(\n" + out.text + trial + ")\n";
}
