// Keys of a config.json without effect on training, in families that do not read them. The key sweep sets each of them
// for each architecture and finds the loss and the gradients of the reference unchanged; a test compares this table
// with its results.
#include "ConfigReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::ppc {

namespace {
struct Row {
  llvm::StringRef key;
  llvm::StringRef values = ""; // a list in JSON; empty: any value
};
} // namespace

/// Bookkeeping, tokens, generation, export, other tasks, implementation choices of the reference; and keys of other
/// families at the value that turns their feature off.
static constexpr Row rows[] = {{"_attn_implementation"},
                               {"_attn_implementation_autoset"},
                               {"_commit_hash"},
                               {"_name_or_path"},
                               {"_num_labels"},
                               {"activation"},
                               {"attention_bias", "[false]"},
                               {"attention_chunk_size", "[null]"},
                               {"attention_out_bias", "[false]"},
                               {"attention_softmax_in_fp32"},
                               {"attn_implementation"},
                               {"attn_logit_softcapping", "[null]"},
                               {"auto_map"},
                               {"aux_loss_alpha"},
                               {"bad_words_ids"},
                               {"begin_suppress_tokens"},
                               {"bias_dropout_fusion"},
                               {"bos_token_id"},
                               {"cache_implementation"},
                               {"chunk_size_feed_forward"},
                               {"classifier_dropout"},
                               {"clip_qkv", "[null]"},
                               {"cls_token_id"},
                               {"decoder_start_token_id"},
                               {"diversity_penalty"},
                               {"do_sample"},
                               {"early_stopping"},
                               {"embedding_multiplier", "[1]"},
                               {"encoder_no_repeat_ngram_size"},
                               {"eos_token_id"},
                               {"ep_size"},
                               {"exponential_decay_length_penalty"},
                               {"final_logit_softcapping", "[null]"},
                               {"finetuning_task"},
                               {"forced_bos_token_id"},
                               {"forced_eos_token_id"},
                               {"gradient_checkpointing"},
                               {"id2label"},
                               {"internal_version"},
                               {"is_composition"},
                               {"is_llama_config"},
                               {"label2id"},
                               {"length_penalty"},
                               {"logit_scale", "[1]"},
                               {"logits_scaling", "[1]"},
                               {"mask_token_id"},
                               {"masked_softmax_fusion"},
                               {"max_length"},
                               {"max_sequence_length"},
                               {"max_window_layers"},
                               {"min_length"},
                               {"mlp_bias", "[false]"},
                               {"model_max_length"},
                               {"moe_router_dtype", R"([null, "float32"])"},
                               {"n_ctx"},
                               {"name_or_path"},
                               {"no_repeat_ngram_size"},
                               {"no_rope_layers", "[null]"},
                               {"num_beam_groups"},
                               {"num_beams"},
                               {"num_labels"},
                               {"num_nextn_predict_layers", "[0, null]"},
                               {"num_return_sequences"},
                               {"offset_alibi"},
                               {"output_attentions"},
                               {"output_hidden_states"},
                               {"output_scores"},
                               {"pad_token_id"},
                               {"partial_rotary_factor", "[1]"},
                               {"per_layer_config", "[null]"},
                               {"prefix"},
                               {"pretraining_tp"},
                               {"problem_type"},
                               {"qkv_bias", "[false]"},
                               {"quantization_config"},
                               {"query_pre_attn_scalar", "[null]"},
                               {"remove_invalid_values"},
                               {"repetition_penalty"},
                               {"residual_dropout", "[0]"},
                               {"residual_multiplier", "[1]"},
                               {"return_dict"},
                               {"return_dict_in_generate"},
                               {"sep_token_id"},
                               {"seq_aux"},
                               {"seq_length"},
                               {"shared_expert_intermediate_size", "[0]"},
                               {"skip_bias_add"},
                               {"skip_bias_add_qkv"},
                               {"sliding_window", "[null]"},
                               {"slow_but_exact"},
                               {"summary_activation"},
                               {"summary_first_dropout"},
                               {"summary_proj_to_labels"},
                               {"summary_type"},
                               {"summary_use_proj"},
                               {"suppress_tokens"},
                               {"task_specific_params"},
                               {"temperature"},
                               {"tf_legacy_loss"},
                               {"tokenizer_class"},
                               {"top_k"},
                               {"top_p"},
                               {"transformers_version"},
                               {"typical_p"},
                               {"unk_token_id"},
                               {"unsloth_fixed"},
                               {"use_bfloat16"},
                               {"use_cache"},
                               {"use_mrope", "[false]"},
                               {"use_qk_norm", "[true]"},
                               {"use_sliding_window", "[false]"},
                               {"vocab_file"}};

/// Keys of rope_scaling and rope_parameters. The sections of multi-dimensional positions assign pairs to coordinates of
/// a picture; for text, all coordinates are equal.
static constexpr Row ropeRows[] = {
    {"finetuned"}, {"mrope_interleaved"}, {"mrope_section"}, {"original_max_position_embeddings"}};

static std::vector<KeyWithoutEffect> parsed(llvm::ArrayRef<Row> rows) {
  std::vector<KeyWithoutEffect> result;
  for (const Row &row : rows) {
    llvm::json::Array values;
    if (!row.values.empty())
      values = std::move(*llvm::cantFail(llvm::json::parse(row.values)).getAsArray());
    result.push_back({row.key, std::vector<llvm::json::Value>(values.begin(), values.end())});
  }
  return result;
}

llvm::ArrayRef<KeyWithoutEffect> keysWithoutEffect() {
  static const std::vector<KeyWithoutEffect> keys = parsed(rows);
  return keys;
}

static std::string listed(llvm::ArrayRef<llvm::json::Value> values) {
  std::string text;
  for (const llvm::json::Value &value : values)
    text += (text.empty() ? "" : " or ") + llvm::formatv("{0}", value).str();
  return text;
}

/// Names of tokens that mark pictures, the ends of turns and the like: no token has a part in the model but by its
/// number.
static bool isTokenName(llvm::StringRef key) {
  return key.ends_with("_token_id") || key.ends_with("_token_ids") || key.ends_with("_token_index");
}

/// Counts unread keys without effect as read and refuses values that have an effect. Returns the keys that were found.
static std::vector<llvm::StringRef> accept(JsonReader &reader, llvm::ArrayRef<KeyWithoutEffect> keys,
                                           llvm::StringRef architecture) {
  std::vector<llvm::StringRef> found;
  for (const KeyWithoutEffect &row : keys) {
    if (!reader.isUnread(row.key))
      continue;
    if (!row.values.empty() && !reader.isOneOf(row.key, row.values))
      reader.refuseValue(row.key, listed(row.values) + ", which changes nothing: other values are not supported for " +
                                      architecture);
    found.push_back(row.key);
  }
  reader.ignore(found);
  return found;
}

void ConfigReader::acceptKeysWithoutEffect() {
  acceptKeysWithoutEffect(reader);
  if (outer)
    acceptKeysWithoutEffect(*outer);
}

void ConfigReader::acceptKeysWithoutEffect(JsonReader &object) {
  mayBeNull(accept(object, keysWithoutEffect(), config.architecture));
  for (const std::string &path : object.unreadKeys()) {
    std::string key = path.substr(object.prefix().size());
    if (isTokenName(key) && !llvm::StringRef(key).contains('.')) {
      object.ignore({key});
      nullable.push_back(key);
    }
  }
}

void ConfigReader::acceptRopeKeysWithoutEffect(JsonReader &rope) {
  static const std::vector<KeyWithoutEffect> keys = parsed(ropeRows);
  accept(rope, keys, config.architecture);
}

} // namespace mlir::ppc
