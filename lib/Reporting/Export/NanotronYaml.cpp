// nanotron's YAML: names as in its Config (0.5 at 2411b022).
#include "Exporters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::ppc;

static std::string plain(double number) {
  char text[32];
  snprintf(text, sizeof text, "%.12g", number);
  std::string value = text;
  // YAML 1.1 reads 1e-05 as a word.
  if (size_t at = value.find('e'); at != std::string::npos && value.find('.') == std::string::npos)
    value.insert(at, ".0");
  return value;
}

/// The first part of a model that none of nanotron's has; empty: its LLaMA and Qwen2 have all.
static std::string lackingModelPart(const ExportInput &input) {
  const ModelShape &model = input.model;
  const ExpertShape &moe = model.moe;
  if (!model.gated || model.activation != ActivationKind::Silu)
    return "a feed-forward other than SwiGLU";
  if (model.norm != NormKind::RmsNorm || model.embeddingNorm || model.offsetNorms)
    return "a norm other than RMSNorm before attention and feed-forward";
  if (model.position != PositionKind::Rotary || model.rotaryFraction != 1)
    return "positions other than rotary ones of whole heads";
  if (model.latent)
    return "latent attention";
  if (model.queryKeyNorm)
    return "norms of queries and keys";
  if (model.parallelResidual)
    return "a parallel residual";
  if (model.scalesEmbedding)
    return "a factor on the embedding";
  if (model.outputBias || model.ffnBias)
    return "biases behind attention or in the feed-forward";
  if (model.headDim * model.heads != model.hidden)
    return "heads whose width is not the hidden size over the heads";
  if (model.predictionLayers)
    return "prediction layers";
  if (model.index)
    return "an index branch of sparse attention";
  if (model.slidingWindow && model.slidingWindowEvery != 1)
    return "a sliding window of some layers only";
  if (moe && (moe.groups > 1 || moe.scoreBias || (input.config && input.config->routing.sigmoid)))
    return "a router with groups, sigmoid scores or a bias";
  if (moe && (moe.firstLayer != 0 || moe.every != 1))
    return "dense layers among those with experts";
  return "";
}

/// nanotron's LLaMA has no experts, no biases, no window and no context parallelism; its Qwen2 has, and is a LLaMA
/// without them.
static llvm::StringRef modelClass(const ExportInput &input) {
  const ModelShape &model = input.model;
  bool window = model.slidingWindow > 0 && model.slidingWindow < model.maxPositions;
  return model.moe || model.attentionBias || window || input.layout.cp > 1 ? "is_qwen2_config" : "is_llama_config";
}

static void writeExperts(const ExportInput &input, llvm::raw_ostream &out, ExportNotes &notes) {
  const ExpertShape &moe = input.model.moe;
  out << "    moe_config: { num_experts: " << moe.experts << ", top_k: " << moe.topK
      << ", moe_intermediate_size: " << moe.ffn << ", shared_expert_intermediate_size: " << moe.sharedFfn
      << ", enable_shared_expert: " << (moe.sharedFfn ? "true" : "false") << " }\n";
  if (moe.normalizesTopK && moe.topK > 1)
    notes.comment(Unsaid::Router,
                  "the weights of a token's experts are not divided by their sum there; the model's are");
  if (input.config && input.config->routing.scale != 1)
    notes.comment(Unsaid::Router, "the weights of a token's experts are multiplied by " +
                                      plain(input.config->routing.scale) + " in the model");
  if (!input.config || input.config->routing.balanceLossFactor > 0)
    notes.comment(Unsaid::Router,
                  "there is no loss there that balances the experts: nothing reads router_aux_loss_coef");
  if (moe.sharedGate)
    notes.comment(Unsaid::Router, "the gate of the shared experts is not written");
}

static void writeModel(const ExportInput &input, llvm::StringRef kind, llvm::raw_ostream &out, ExportNotes &notes) {
  const ModelShape &model = input.model;
  out << "model:\n  ddp_bucket_cap_mb: 25\n  dtype: bfloat16\n  init_method:\n    std: "
      << plain(input.config ? input.config->initializerRange : 0.02)
      << "\n  make_vocab_size_divisible_by: 1\n  model_config:\n    " << kind << ": true\n    hidden_act: silu\n"
      << "    hidden_size: " << model.hidden << "\n    intermediate_size: " << model.ffn
      << "\n    max_position_embeddings: " << std::max(model.maxPositions, input.job.sequence)
      << "\n    num_attention_heads: " << model.heads << "\n    num_hidden_layers: " << model.layers
      << "\n    num_key_value_heads: " << model.kvHeads
      << "\n    tie_word_embeddings: " << (model.tiedEmbeddings ? "true" : "false")
      << "\n    vocab_size: " << model.vocab << "\n    attention_bias: " << (model.attentionBias ? "true" : "false")
      << '\n';
  if (input.config) {
    out << "    rms_norm_eps: " << plain(input.config->normEpsilon)
        << "\n    rope_theta: " << plain(input.config->ropeTheta) << '\n';
    // There is a key rope_scaling, which no model of nanotron reads.
    const RopeScaling &scaling = input.config->ropeScaling;
    if (scaling.kind == RopeScaling::Kind::Linear && kind == "is_qwen2_config")
      out << "    rope_seq_len_interpolation_factor: " << plain(scaling.factor) << '\n';
    else if (scaling.kind != RopeScaling::Kind::None)
      notes.comment(Unsaid::Positions, "the scaling of the model's positions is not there: rope_theta alone is read");
  } else {
    notes.comment(Unsaid::UnknownFacts, "rms_norm_eps and rope_theta: the model's file does not say them");
  }
  if (kind == "is_llama_config")
    return;
  if (model.slidingWindow)
    out << "    sliding_window_size: " << model.slidingWindow << '\n';
  if (input.layout.cp > 1)
    out << "    _attn_implementation: llama3_ring_attention\n    ring_attn_heads_k_stride: 1\n";
  if (model.moe)
    writeExperts(input, out, notes);
}

llvm::Expected<std::string> mlir::ppc::nanotronYaml(const ExportInput &input, ExportNotes &notes) {
  const ParallelLayout &layout = input.layout;
  if (std::string part = lackingModelPart(input); !part.empty())
    return notes.refuse(Unsaid::Architecture, "nanotron has no model with " + part + ", which " + input.model.name +
                                                  " has: its LLaMA and Qwen2 are what is written");
  if (input.tuning.adapterRank)
    return notes.refuse(Unsaid::Tuning, "nanotron has no adapters (LoRA)");
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "general:\n  project: ppc\n  run: plan\n  seed: 42\n"
      << "parallelism:\n  dp: " << layout.dp << "\n  tp: " << layout.tp << "\n  pp: " << layout.pp
      << "\n  context_parallel_size: " << layout.cp << "\n  expert_parallel_size: " << layout.ep
      << "\n  pp_engine: " << (layout.schedule == "gpipe" ? "afab" : "1f1b")
      << "\n  tp_mode: " << (layout.sequenceParallel && layout.tp > 1 ? "REDUCE_SCATTER" : "ALL_REDUCE")
      << "\n  tp_linear_async_communication: " << (layout.sequenceParallel && layout.tp > 1 ? "true" : "false")
      << "\n  recompute_layer: " << (layout.recompute == Recompute::Full ? "true" : "false") << '\n';
  writeModel(input, modelClass(input), out, notes);
  out << "tokens:\n  sequence_length: " << input.job.sequence << "\n  micro_batch_size: " << layout.microBatch
      << "\n  batch_accumulation_per_replica: " << layout.microBatches(input.job) << "\n  train_steps: 1000\n"
      << "optimizer:\n  zero_stage: " << layout.zero
      << "\n  accumulate_grad_in_fp32: true\n  clip_grad: 1.0\n  weight_decay: 0.1\n"
      << "  learning_rate_scheduler: { learning_rate: 0.0003, lr_warmup_steps: 100, lr_warmup_style: linear, "
         "lr_decay_style: cosine, min_decay_lr: 0.00003 }\n"
      << "  optimizer_factory: { name: adamW, adam_beta1: 0.9, adam_beta2: 0.95, adam_eps: 1.0e-08, "
         "torch_adam_is_fused: true }\n"
      << "checkpoints: { checkpoints_path: checkpoints, checkpoint_interval: 1000 }\n"
      << "data_stages:\n- { name: all, start_training_step: 1, data: { dataset: null, num_loading_workers: 1, seed: 42 "
         "} }\n"
      << "tokenizer: { tokenizer_name_or_path: gpt2 }\n";
  if (layout.pp > 1)
    notes.comment(Unsaid::Stages, "nanotron cuts stages by its own costs of blocks, not as the plan does");
  noteGroups(layout, notes);
  noteAttention(layout, "_attn_implementation", notes);
  notes.comment(
      Unsaid::Data,
      "data, tokenizer, optimizer, learning rate and length of training are no part of a plan: the values here "
      "are placeholders");
  return text;
}
