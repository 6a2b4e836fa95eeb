// Keys of a config.json that change nothing that is trained. The key sweep sets each of them for each architecture and
// finds the loss and the gradients of the reference unchanged; a test holds these lists against its table.
#include "ConfigReader.h"

namespace mlir::ppc {

/// Of any architecture: bookkeeping, tokens, generation, export, other tasks.
static constexpr llvm::StringRef everywhere[] = {"_attn_implementation",
                                                 "_attn_implementation_autoset",
                                                 "_commit_hash",
                                                 "_name_or_path",
                                                 "_num_labels",
                                                 "auto_map",
                                                 "bad_words_ids",
                                                 "begin_suppress_tokens",
                                                 "bos_token_id",
                                                 "chunk_size_feed_forward",
                                                 "classifier_dropout",
                                                 "cls_token_id",
                                                 "decoder_start_token_id",
                                                 "diversity_penalty",
                                                 "do_sample",
                                                 "early_stopping",
                                                 "encoder_no_repeat_ngram_size",
                                                 "eos_token_id",
                                                 "exponential_decay_length_penalty",
                                                 "finetuning_task",
                                                 "forced_bos_token_id",
                                                 "forced_eos_token_id",
                                                 "gradient_checkpointing",
                                                 "id2label",
                                                 "is_composition",
                                                 "label2id",
                                                 "length_penalty",
                                                 "mask_token_id",
                                                 "max_length",
                                                 "min_length",
                                                 "model_max_length",
                                                 "name_or_path",
                                                 "no_repeat_ngram_size",
                                                 "num_beam_groups",
                                                 "num_beams",
                                                 "num_labels",
                                                 "num_return_sequences",
                                                 "output_attentions",
                                                 "output_hidden_states",
                                                 "output_scores",
                                                 "prefix",
                                                 "problem_type",
                                                 "remove_invalid_values",
                                                 "repetition_penalty",
                                                 "return_dict",
                                                 "return_dict_in_generate",
                                                 "sep_token_id",
                                                 "seq_length",
                                                 "summary_activation",
                                                 "summary_first_dropout",
                                                 "summary_proj_to_labels",
                                                 "summary_type",
                                                 "summary_use_proj",
                                                 "suppress_tokens",
                                                 "task_specific_params",
                                                 "temperature",
                                                 "tf_legacy_loss",
                                                 "tokenizer_class",
                                                 "top_k",
                                                 "top_p",
                                                 "transformers_version",
                                                 "typical_p",
                                                 "unk_token_id",
                                                 "use_bfloat16",
                                                 "use_cache",
                                                 "vocab_file"};

static constexpr llvm::StringRef ofLlama[] = {"pretraining_tp"}; // how products are cut at inference
static constexpr llvm::StringRef ofQwen3Moe[] = {"max_window_layers"};
static constexpr llvm::StringRef ofDeepseekV3[] = {"aux_loss_alpha", "ep_size", "pretraining_tp", "seq_aux"};
static constexpr llvm::StringRef ofGpt2[] = {"n_ctx", "pad_token_id"};
static constexpr llvm::StringRef ofGptNeoX[] = {"pad_token_id"};
// How the reference computes, not what.
static constexpr llvm::StringRef ofBloom[] = {"attention_softmax_in_fp32",
                                              "bias_dropout_fusion",
                                              "masked_softmax_fusion",
                                              "offset_alibi",
                                              "pad_token_id",
                                              "pretraining_tp",
                                              "skip_bias_add",
                                              "skip_bias_add_qkv",
                                              "slow_but_exact"};

static llvm::ArrayRef<llvm::StringRef> ofFamily(llvm::StringRef family) {
  if (family == "llama")
    return ofLlama;
  if (family == "qwen3_moe")
    return ofQwen3Moe;
  if (family == "deepseek_v3")
    return ofDeepseekV3;
  if (family == "gpt2")
    return ofGpt2;
  if (family == "gpt_neox")
    return ofGptNeoX;
  if (family == "bloom")
    return ofBloom;
  return {};
}

std::vector<llvm::StringRef> ignoredModelKeys(llvm::StringRef family) {
  std::vector<llvm::StringRef> keys(std::begin(everywhere), std::end(everywhere));
  llvm::append_range(keys, ofFamily(family));
  return keys;
}

} // namespace mlir::ppc
