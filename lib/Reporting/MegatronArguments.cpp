// Megatron-LM (core 0.12 and later): names as in megatron/training/arguments.py.
#include "ppc/Reporting/FrameworkArguments.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

namespace {
class ArgumentList {
public:
  void flag(llvm::StringRef name) { lines.push_back("--" + name.str()); }
  void set(llvm::StringRef name, llvm::StringRef value) { lines.push_back(("--" + name + " " + value).str()); }
  void set(llvm::StringRef name, int64_t value) { set(name, std::to_string(value)); }
  void note(const llvm::Twine &text) { notes.push_back(text.str()); }

  FrameworkArguments finish() {
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i)
      text += lines[i] + (i + 1 < lines.size() ? " \\\n" : "\n");
    return {std::move(text), std::move(notes)};
  }

private:
  std::vector<std::string> lines, notes;
};
} // namespace

static void addModel(const ModelShape &model, const TrainingJob &job, ArgumentList &out) {
  out.set("num-layers", model.layers);
  out.set("hidden-size", model.hidden);
  out.set("ffn-hidden-size", model.ffn);
  out.set("num-attention-heads", model.heads);
  if (model.latent) {
    out.flag("multi-latent-attention");
    if (model.latent.queryRank)
      out.set("q-lora-rank", model.latent.queryRank);
    out.set("kv-lora-rank", model.latent.keyValueRank);
    out.set("qk-head-dim", model.latent.nopeHeadDim);
    out.set("qk-pos-emb-head-dim", model.latent.ropeHeadDim);
    out.set("v-head-dim", model.latent.valueHeadDim);
  } else {
    if (model.kvHeads != model.heads) {
      out.flag("group-query-attention");
      out.set("num-query-groups", model.kvHeads);
    }
    if (model.headDim * model.heads != model.hidden)
      out.set("kv-channels", model.headDim);
  }
  out.set("max-position-embeddings", model.maxPositions ? model.maxPositions : job.sequence);
  if (model.position == PositionKind::Rotary) {
    out.set("position-embedding-type", "rope");
    if (model.rotaryFraction != 1)
      out.set("rotary-percent", llvm::formatv("{0}", model.rotaryFraction).str());
  } else if (model.position == PositionKind::None) {
    out.set("position-embedding-type", "none");
  } else if (model.position == PositionKind::Alibi) {
    out.note("the model uses ALiBi positions, which Megatron-LM does not have");
  }
  if (model.slidingWindow && model.slidingWindow < job.sequence)
    out.note("attention to the last " + llvm::Twine(model.slidingWindow) + " tokens only is not written; to all of them it takes longer");
  // 0.1 where nothing is said.
  for (llvm::StringRef name : {"attention-dropout", "hidden-dropout"})
    out.set(name, llvm::formatv("{0}", model.dropout).str());
  if (model.norm == NormKind::RmsNorm)
    out.set("normalization", "RMSNorm");
  if (model.gated && model.activation == ActivationKind::Silu)
    out.flag("swiglu");
  else if (model.activation == ActivationKind::SquaredRelu)
    out.flag("squared-relu");
  else if (model.activation == ActivationKind::Relu || (model.gated && model.activation != ActivationKind::Silu))
    out.note("the activation of the feed-forward has no argument of its own");
  if (!model.ffnBias && !model.outputBias) {
    out.flag("disable-bias-linear");
    if (model.attentionBias)
      out.flag("add-qkv-bias");
  }
  if (!model.tiedEmbeddings)
    out.flag("untie-embeddings-and-output-weights");
  if (model.queryKeyNorm)
    out.flag("qk-layernorm");
  if (!model.moe)
    return;
  const ExpertShape &moe = model.moe;
  out.set("num-experts", moe.experts);
  out.set("moe-router-topk", moe.topK);
  out.set("moe-ffn-hidden-size", moe.ffn);
  if (moe.sharedFfn)
    out.set("moe-shared-expert-intermediate-size", moe.sharedFfn);
  if (moe.firstLayer || moe.every != 1) {
    std::vector<std::string> layers;
    for (int64_t layer = 0; layer < model.layers; ++layer)
      layers.push_back(model.hasExperts(layer) ? "1" : "0");
    out.set("moe-layer-freq", "\"[" + llvm::join(layers, ",") + "]\"");
  }
  out.flag("moe-grouped-gemm");
  out.set("moe-token-dispatcher-type", "alltoall");
}

/// "Et*8|t*8|...|t*7L": E the embedding, t a layer, L the loss.
static std::string pipelineLayout(llvm::ArrayRef<int64_t> counts) {
  std::string text = "E";
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i)
      text += '|';
    if (counts[i] == 1)
      text += 't';
    else if (counts[i] > 1)
      text += "t*" + std::to_string(counts[i]);
  }
  return text + "L";
}

static void addPipeline(const ModelShape &model, const ParallelLayout &layout, ArgumentList &out) {
  out.set("pipeline-model-parallel-size", layout.pp);
  if (layout.pp == 1)
    return;
  bool interleaved = layout.schedule == "interleaved" && layout.vp > 1;
  if (layout.schedule != "1f1b" && !interleaved)
    out.note("schedule " + layout.schedule + ": Megatron-LM runs 1f1b or interleaved; the predicted time does not hold");
  llvm::ArrayRef<int64_t> counts = layout.stageLayers;
  bool even = llvm::all_of(counts, [&](int64_t count) { return count == counts[0]; });
  if (!even) {
    out.set("pipeline-model-parallel-layout", "\"" + pipelineLayout(counts) + "\"");
    return;
  }
  if (counts.empty() && model.layers % (layout.pp * layout.vp))
    out.note(llvm::Twine(model.layers) + " layers are no multiple of " + llvm::Twine(layout.pp * layout.vp) +
             " stages, and the plan does not say how they are cut");
  if (interleaved)
    out.set("num-virtual-stages-per-pipeline-rank", layout.vp);
}

static void addState(const ParallelLayout &layout, ArgumentList &out) {
  if (layout.zero == 0)
    return;
  int64_t copies = layout.shardGroup ? layout.dataRanks() / layout.shardGroup : 1;
  if (layout.zero >= 2) {
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
  switch (layout.recompute) {
  case Recompute::None: break;
  case Recompute::Selective:
    out.set("recompute-granularity", "selective");
    break;
  case Recompute::Full:
    out.set("recompute-granularity", "full");
    if (llvm::ArrayRef<int64_t> numbers = layout.stageRecomputedLayers; !numbers.empty()) {
      // One number for all stages there: the largest fits, and recomputes more than the plan.
      int64_t most = *llvm::max_element(numbers);
      std::string list;
      for (int64_t number : numbers)
        list += (list.empty() ? "" : ", ") + std::to_string(number);
      out.set("recompute-method", "block");
      out.set("recompute-num-layers", most);
      out.note("recomputed layers by stage (" + list + "): Megatron-LM has one number for all stages; with " + llvm::Twine(most) +
               " it takes longer than predicted");
      break;
    }
    out.set("recompute-method", layout.recomputedLayers < 0 ? "uniform" : "block");
    out.set("recompute-num-layers", layout.recomputedLayers < 0 ? 1 : layout.recomputedLayers);
    break;
  }
}

static void addPrecision(const ParallelLayout &layout, ArgumentList &out) {
  switch (layout.precision) {
  case Precision::Fp16: out.flag("fp16"); break;
  case Precision::Bf16: out.flag("bf16"); break;
  case Precision::Fp8:
    out.flag("bf16");
    out.set("fp8-format", "hybrid");
    break;
  case Precision::Mxfp8:
    out.flag("bf16");
    out.set("fp8-format", "e4m3");
    out.set("fp8-recipe", "mxfp8");
    break;
  case Precision::Fp4:
    out.flag("bf16");
    out.set("fp4-format", "e2m1");
    break;
  case Precision::F32:
  case Precision::Tf32:
    break;
  }
}

FrameworkArguments mlir::ppc::megatronArguments(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout) {
  ArgumentList out;
  addModel(model, job, out);
  out.set("seq-length", job.sequence);
  out.set("micro-batch-size", layout.microBatch);
  out.set("global-batch-size", job.globalBatch);
  out.set("tensor-model-parallel-size", layout.tp);
  if (layout.sequenceParallel)
    out.flag("sequence-parallel");
  addPipeline(model, layout, out);
  if (!llvm::all_equal(layout.stageGroups))
    out.note("stages on groups of different devices: start the ranks of each stage on the devices of its group; there is no argument "
             "that says so");
  out.set("context-parallel-size", layout.cp);
  if (layout.cp > 1)
    out.set("cp-comm-type", layout.contextKind == ContextKind::Ring      ? "p2p"
                            : layout.contextKind == ContextKind::Ulysses ? "a2a"
                                                                         : "allgather");
  if (model.moe) {
    out.set("expert-model-parallel-size", layout.ep);
    out.set("expert-tensor-parallel-size", layout.etp);
    if (layout.tp > 1 && !layout.sequenceParallel)
      out.note("experts with tensor parallelism need --sequence-parallel there");
  }
  addState(layout, out);
  addRecompute(layout, out);
  if (layout.offload == Offload::Optimizer) {
    out.flag("optimizer-cpu-offload");
    out.flag("use-precision-aware-optimizer");
  } else if (layout.offload == Offload::Activations) {
    out.note("offload of activations has no argument that means the same");
  }
  addPrecision(layout, out);
  out.set("transformer-impl", "transformer_engine");
  if (layout.attention == AttentionKernel::Unfused || layout.attention == AttentionKernel::FusedSoftmax)
    out.set("attention-backend", "unfused");
  else
    out.set("attention-backend", layout.attention == AttentionKernel::Cudnn ? "fused" : "flash");
  out.note("data parallelism is what is left of the ranks: " + llvm::Twine(layout.dp) + " on " + llvm::Twine(layout.devices()));
  if (model.position == PositionKind::Rotary)
    out.note("--rotary-base (10000 where nothing is said) and its scaling are not part of a plan: take them from the model's config");
  out.note("tokenizer, vocabulary (padded to a multiple of --make-vocab-size-divisible-by x tensor parallelism), epsilon of norms, data, "
           "learning rate and length of training are not part of a plan");
  return out.finish();
}
