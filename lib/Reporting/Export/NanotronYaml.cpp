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

/// The class of nanotron's models that has all of the model's parts; empty: none.
static llvm::StringRef modelClass(const ModelShape &model) {
  bool common = model.gated && model.activation == ActivationKind::Silu && model.norm == NormKind::RmsNorm &&
                model.position == PositionKind::Rotary && model.rotaryFraction == 1 && !model.latent &&
                !model.queryKeyNorm && !model.parallelResidual && !model.outputBias && !model.ffnBias &&
                model.headDim * model.heads == model.hidden && !model.predictionLayers;
  if (!common)
    return "";
  bool window = model.slidingWindow > 0 && model.slidingWindow < model.maxPositions;
  if (!model.moe && !model.attentionBias && !window)
    return "is_llama_config";
  const ExpertShape &moe = model.moe;
  bool experts = !moe || (moe.groups == 1 && !moe.scoreBias && moe.firstLayer == 0 && moe.every == 1);
  return experts && model.slidingWindowEvery == 1 ? "is_qwen2_config" : "";
}

static void writeModel(const ExportInput &input, llvm::StringRef kind, llvm::raw_ostream &out,
                       ExportComments &comments) {
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
    const RopeScaling &scaling = input.config->ropeScaling;
    if (scaling.kind == RopeScaling::Kind::Llama3)
      out << "    rope_scaling: { rope_type: llama3, factor: " << plain(scaling.factor)
          << ", low_freq_factor: " << plain(scaling.lowFrequencyFactor)
          << ", high_freq_factor: " << plain(scaling.highFrequencyFactor)
          << ", original_max_position_embeddings: " << scaling.originalMaxPositions << " }\n";
    else if (scaling.kind != RopeScaling::Kind::None)
      comments.push_back("the scaling of the model's positions is not written");
  } else {
    comments.push_back("rms_norm_eps and rope_theta: the model's file does not say them");
  }
  if (kind == "is_llama_config")
    return;
  if (model.slidingWindow)
    out << "    sliding_window_size: " << model.slidingWindow << '\n';
  if (const ExpertShape &moe = model.moe)
    out << "    moe_config: { num_experts: " << moe.experts << ", top_k: " << moe.topK
        << ", moe_intermediate_size: " << moe.ffn << ", shared_expert_intermediate_size: " << moe.sharedFfn
        << ", enable_shared_expert: " << (moe.sharedFfn ? "true" : "false") << " }\n";
}

llvm::Expected<std::string> mlir::ppc::nanotronYaml(const ExportInput &input, ExportComments &comments) {
  const ParallelLayout &layout = input.layout;
  llvm::StringRef kind = modelClass(input.model);
  if (kind.empty())
    return llvm::createStringError("nanotron has no model like " + input.model.name +
                                   ": its LLaMA and Qwen2 (with experts in every layer) are what is written");
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "general:\n  project: ppc\n  run: plan\n  seed: 42\n"
      << "parallelism:\n  dp: " << layout.dp << "\n  tp: " << layout.tp << "\n  pp: " << layout.pp
      << "\n  context_parallel_size: " << layout.cp << "\n  expert_parallel_size: " << layout.ep
      << "\n  pp_engine: " << (layout.schedule == "gpipe" ? "afab" : "1f1b")
      << "\n  tp_mode: " << (layout.sequenceParallel && layout.tp > 1 ? "REDUCE_SCATTER" : "ALL_REDUCE")
      << "\n  tp_linear_async_communication: " << (layout.sequenceParallel && layout.tp > 1 ? "true" : "false")
      << "\n  recompute_layer: " << (layout.recompute == Recompute::Full ? "true" : "false") << '\n';
  writeModel(input, kind, out, comments);
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
    comments.push_back("nanotron cuts stages by its own costs of blocks, not as the plan does");
  if (layout.cp > 1)
    comments.push_back("the implementation of attention must be one for context parallelism (llama3_ring_attention)");
  comments.push_back(
      "data, tokenizer, optimizer, learning rate and length of training are no part of a plan: the values here "
      "are placeholders");
  return text;
}
