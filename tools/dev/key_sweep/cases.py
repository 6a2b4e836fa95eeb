"""What the sweep changes in a base: each key alone, keys that act together in pairs, and random handfuls of them.

A case is a dictionary {key: value}; the value ABSENT takes the key away.
"""
import itertools
import json
import random

from . import public
from .models import BASES

ABSENT = "(absent)"

ACTIVATIONS = ["silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "gelu_10", "gelu_python",
               "gelu_accurate", "gelu_python_tanh", "relu", "relu2", "relu6", "tanh", "sigmoid", "mish", "linear", "laplace",
               "leaky_relu", "prelu", "xielu", "SiLU", None]
FULL, SLIDING, CHUNKED = "full_attention", "sliding_attention", "chunked_attention"
LAYER_TYPES = [None, [], [FULL] * 2, [FULL] * 3, [SLIDING] * 2, [SLIDING] * 3, [SLIDING, FULL], [FULL, SLIDING],
               [SLIDING, FULL, SLIDING], [FULL, SLIDING, FULL], [FULL, FULL, SLIDING], [CHUNKED] * 3, ["attention"] * 3]
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
YARN = {"factor": 4.0, "original_max_position_embeddings": 16}
LONG = {"short_factor": [1.0, 1.5, 2.0, 2.5], "long_factor": [2.0, 2.5, 3.0, 4.0], "factor": 4.0,
        "original_max_position_embeddings": 16}


def ropes():
    """Values of rope_scaling and rope_parameters."""
    kinds = [None, {}, {"rope_type": "default"}, {"type": "default"}, {"factor": 2.0}, {"rope_theta": 100.0},
             {"rope_type": "default", "rope_theta": 100.0}, {"rope_type": "default", "factor": 2.0},
             {"rope_type": "default", "partial_rotary_factor": 0.5}, {"rope_type": "default", "partial_rotary_factor": 1.0},
             {"rope_type": "default", "mrope_section": [1, 1, 2]}, {"type": "mrope", "mrope_section": [1, 1, 2]},
             {"rope_type": "proportional", "partial_rotary_factor": 0.5, "rope_theta": 100.0}, {"rope_type": "proportional"},
             {"rope_type": None, "rope_theta": 100.0}, {"rope_type": "default", "rope_theta": None},
             {FULL: {"rope_type": "default", "rope_theta": 100.0}}]
    for name in ("rope_type", "type"):
        kinds += [{name: "linear", "factor": factor} for factor in (1.0, 2, 2.5, 0.5)]
        kinds += [{name: "dynamic", "factor": 2.0}, {name: "dynamic", "factor": 4, "alpha": 1000.0},
                  {name: "llama3", **LLAMA3}, {name: "yarn", **YARN}, {name: "longrope", **LONG}, {name: "su", **LONG}]
    kinds += [{"rope_type": "linear"}, {"rope_type": "linear", "factor": None},
              {"rope_type": "linear", "factor": 2.0, "rope_theta": 100.0}, {"rope_type": "linear", "type": "dynamic", "factor": 2.0},
              {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.5}]
    for key in LLAMA3:
        kinds.append({"rope_type": "llama3", **{k: v for k, v in LLAMA3.items() if k != key}})
    kinds += [{"rope_type": "llama3", **LLAMA3, **change} for change in
              ({"factor": 1}, {"factor": 2.0}, {"low_freq_factor": 2}, {"high_freq_factor": 8.0}, {"high_freq_factor": 1.0},
               {"original_max_position_embeddings": 32}, {"original_max_position_embeddings": 8.0},
               {"attention_factor": 2.0}, {"rope_theta": 100.0}, {"low_freq_factor": None})]
    kinds.append({"rope_type": "yarn", "factor": 4.0})
    kinds.append({"rope_type": "yarn", "original_max_position_embeddings": 16})
    kinds += [{"rope_type": "yarn", **YARN, **change} for change in
              ({"factor": 1.0}, {"factor": 2}, {"factor": 0.5}, {"factor": None}, {"attention_factor": 1.0}, {"attention_factor": 1.7},
               {"attention_factor": None}, {"attention_factor": 0}, {"beta_fast": 16}, {"beta_fast": 4, "beta_slow": 2}, {"beta_fast": None},
               {"beta_fast": 1, "beta_slow": 1}, {"beta_fast": 2, "beta_slow": 2}, {"finetuned": True}, {"beta_slow": 2}, {"beta_slow": 0.5}, {"beta_slow": 0}, {"beta_fast": 1, "beta_slow": 2}, {"mscale": 1.0, "mscale_all_dim": 1.0},
               {"mscale": 0.7, "mscale_all_dim": 1.0}, {"mscale": 0.7}, {"mscale_all_dim": 0.7}, {"mscale": 0, "mscale_all_dim": 0.7},
               {"mscale": 0.7, "mscale_all_dim": 0}, {"mscale": None, "mscale_all_dim": None},
               {"truncate": True}, {"truncate": False}, {"original_max_position_embeddings": 32}, {"rope_theta": 100.0},
               {"attention_factor": 1.7, "mscale": 0.7, "mscale_all_dim": 1.0}, {"finetuned": True})]
    return kinds


# Keys whose values do not follow from those of the base.
VALUES = {
    "hidden_act": ACTIVATIONS, "activation_function": ACTIVATIONS, "hidden_activation": ACTIVATIONS,
    "layer_types": LAYER_TYPES, "rope_scaling": ropes(), "rope_parameters": ropes(),
    "sliding_window": [None, 0, 1, 2, 4, 15, 16, 17, 4096, -1, 5.0], "max_window_layers": [0, 1, 2, 3, 4, 28, None],
    "rope_theta": [100, 500, 10000, 1e6, 0.5, None, "500"], "partial_rotary_factor": [0.5, 1.0, 1, 0.75, None],
    "rotary_pct": [0.25, 0.75, 1.0, 1, 0.0, 1.5, None], "rotary_emb_base": [100, 10000, 500.0, None],
    "head_dim": [4, 6, 16, 5, None, 8.0, 0], "qk_head_dim": [10, 3], "num_key_value_heads": [1, 2, 4, 3, 8, None, 0, 2.0],
    "num_attention_heads": [2, 4, 8, 5, 1, None], "n_head": [2, 8, 1, 5], "num_hidden_layers": [1, 3, 4, 0],
    "n_layer": [1, 3], "hidden_size": [8, 32, 18, 17], "n_embd": [8, 32, 18], "n_embed": [12, 48, None],
    "mlp_only_layers": [None, [], [0], [1], [2], [0, 1], [0, 1, 2], [7], [-1]], "decoder_sparse_step": [1, 2, 3, 4, 0, -1],
    "num_experts_per_tok": [1, 2, 3, 4, 5, 8, 0, None], "num_experts": [2, 8, 1, 0, None], "num_local_experts": [2, 8, 1, 0, None],
    "n_routed_experts": [4, 16, 8, 6, None], "n_shared_experts": [0, 1, 3, None], "first_k_dense_replace": [0, 2, 3, 5, None],
    "n_group": [1, 2, 8, 3, None], "topk_group": [1, 3, 4, 5, None], "q_lora_rank": [None, 8, 0], "kv_lora_rank": [8, 1],
    "v_head_dim": [4, 8, None], "qk_rope_head_dim": [2, 8, 3], "qk_nope_head_dim": [4, 8, 0],
    "routed_scaling_factor": [1.0, 2.5, 1, 0.0, -1.0, None], "scoring_func": ["sigmoid", "softmax", "sqrtsoftplus", None],
    "topk_method": ["noaux_tc", "greedy", "group_limited_greedy", None], "moe_layer_freq": [1, 2, [1, 0, 1], None],
    "num_nextn_predict_layers": [0, 1, 2, None], "num_mtp_layers": [0, 1, 2], "rope_interleave": [True, False, None],
    "norm_topk_prob": [True, False, None], "shared_expert_intermediate_size": [0, 8, 24, None],
    "moe_intermediate_size": [4, 16, None], "intermediate_size": [16, 32, None], "n_inner": [16, 64, None, 0],
    "vocab_size": [24, 41, 64, None], "max_position_embeddings": [17, 32, 128, 8, None], "n_positions": [17, 32, 8, None], "n_ctx": [8, 32],
    "rms_norm_eps": [1e-6, 1e-5, 0, 0.1, None, "1e-6"], "layer_norm_eps": [1e-5, 0.1, 0, None], "layer_norm_epsilon": [1e-5, 0.1, 0, None],
    "initializer_range": [0.02, 1.0, 0, None], "attention_dropout": [0.1, 0, None], "hidden_dropout": [0.1, 0, None],
    "attn_pdrop": [0.1, 0, None], "resid_pdrop": [0.1, 0, None], "embd_pdrop": [0.1, 0, None],
    "attention_probs_dropout_prob": [0.0, 0.1], "hidden_dropout_prob": [0.0, 0.1], "dropout": [0.0, 0.1],
    "router_jitter_noise": [0.1, 0, None], "router_aux_loss_coef": [0.001, 0.0, 5.0, None], "output_router_logits": [True, None],
    "aux_loss_alpha": [0.001, 0.1, 0], "seq_aux": [True, False], "ep_size": [1, 2], "pad_token_id": [0, 3, 11, 39, -1, 40, None],
    "bos_token_id": [0, 11, None, -1], "eos_token_id": [0, 11, None, [3, 4]], "dtype": ["bfloat16", "float16", "float64", "auto", None],
    "torch_dtype": ["float32", "bfloat16", "float16", "float64", None], "architectures": [None, [], ["BertModel"]],
    "model_type": [], "use_bidirectional_attention": [True, False, None], "pretraining_tp": [2, 4, 1, None],
    "attn_logit_softcapping": [50.0, None], "final_logit_softcapping": [30.0, None], "query_pre_attn_scalar": [16, 256, None],
    "quantization_config": [None, {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}],
    "per_layer_config": [None, {"1": {"intermediate_size": 32}}, {"0": {"sliding_window": 3}}],
    "attention_bias": [True, False, None], "mlp_bias": [True, False, None], "qkv_bias": [True, False, None],
    "tie_word_embeddings": [True, False, None], "use_sliding_window": [True, False, None], "loss_type": ["ForCausalLM", "ForMaskedLM", None],
    "logit_scale": [0.5, 1.0], "residual_multiplier": [0.5, 1.0], "embedding_multiplier": [2.0, 1.0], "attention_multiplier": [0.5], "logits_scaling": [2.0, 1.0],
    "clip_qkv": [1.0, None], "no_rope_layers": [[1, 0, 1], None], "no_rope_layer_interval": [2], "use_qk_norm": [True, False],
    "sliding_window_pattern": [2], "attention_chunk_size": [4, None], "rope_local_base_freq": [100.0], "attn_temperature_tuning": [4],
    "scale_embeddings": [False], "original_max_position_embeddings": [8, 16], "use_mrope": [False, True], "moe_router_dtype": ["float32", "bfloat16"],
    "attention_out_bias": [False, True], "residual_dropout": [0.0, 0.1],
}
# Keys of the base class, of generation, of older and of other classes: any configuration may hold them.
EVERYWHERE = {
    "_attn_implementation": ["eager", "sdpa"], "attn_implementation": ["eager", "sdpa"], "_attn_implementation_autoset": [True, False],
    "_experts_implementation": ["eager", "grouped_mm"], "experts_implementation": ["eager"],
    "_commit_hash": ["0a1b"], "_name_or_path": ["a/b", ""], "name_or_path": ["a/b"], "_num_labels": [2, 5],
    "auto_map": [{"AutoConfig": "configuration_x.XConfig"}], "bad_words_ids": [[[3]], None], "begin_suppress_tokens": [[3], None],
    "chunk_size_feed_forward": [0, 4], "classifier_dropout": [0.1, 0.5], "cls_token_id": [3, None], "decoder_start_token_id": [3, None],
    "diversity_penalty": [0.0, 1.0], "do_sample": [True, False], "early_stopping": [True, False], "encoder_no_repeat_ngram_size": [0, 3],
    "exponential_decay_length_penalty": [None, [5, 1.5]], "finetuning_task": ["cola", None], "forced_bos_token_id": [3, None],
    "forced_eos_token_id": [3, None], "gradient_checkpointing": [True, False], "id2label": [{"0": "a", "1": "b", "2": "c"}],
    "is_composition": [False, True], "label2id": [{"a": 0, "b": 1}], "length_penalty": [1.0, 2.0], "mask_token_id": [3, None],
    "max_length": [20, 8], "min_length": [0, 4], "model_max_length": [8, 64], "no_repeat_ngram_size": [0, 2],
    "num_beam_groups": [1, 2], "num_beams": [1, 4], "num_labels": [1, 2, 5], "num_return_sequences": [1, 2],
    "output_attentions": [True, False], "output_hidden_states": [True, False], "output_scores": [True, False], "prefix": ["x", None],
    "problem_type": ["regression", "single_label_classification", None], "remove_invalid_values": [True, False],
    "repetition_penalty": [1.0, 1.5], "return_dict": [True, False], "return_dict_in_generate": [True, False], "sep_token_id": [3, None],
    "seq_length": [8, 2048], "summary_activation": ["tanh", None], "summary_first_dropout": [0.1, 0.5], "summary_proj_to_labels": [True, False],
    "summary_type": ["cls_index", "last"], "summary_use_proj": [True, False], "suppress_tokens": [[3], None],
    "task_specific_params": [{"text-generation": {"do_sample": True, "max_length": 50}}], "temperature": [1.0, 0.5],
    "tf_legacy_loss": [True, False], "tokenizer_class": ["T", None], "top_k": [50, 1], "top_p": [1.0, 0.5], "torchscript": [True, False],
    "transformers_version": ["4.40.0", "5.0.0"], "typical_p": [1.0, 0.5], "unk_token_id": [3, None], "use_bfloat16": [True, False],
    "use_cache": [True, False, None], "vocab_file": ["v"], "is_decoder": [True, False], "is_encoder_decoder": [True, False],
    "add_cross_attention": [True, False], "cross_attention_hidden_size": [None, 16], "tie_encoder_decoder": [True, False],
    "pruned_heads": [{}, {"0": [1]}, None], "tie_last_hidden_states": [True, False], "gradient_checkpointing_kwargs": [{"use_reentrant": False}],
    "training": [True, False], "keys_to_ignore_at_inference": [["past_key_values"]],
    "activation": ["swiglu", "relu"], "cache_implementation": ["hybrid", None], "internal_version": ["7b-alpha-v2"], "is_llama_config": [True],
    "max_sequence_length": [8, 4096], "unsloth_fixed": [True], "image_token_id": [11], "image_token_index": [11, None],
    "attention_softmax_in_fp32": [True, False], "bias_dropout_fusion": [True, False], "masked_softmax_fusion": [True, False],
    "offset_alibi": [100], "skip_bias_add": [True, False], "skip_bias_add_qkv": [True, False], "slow_but_exact": [True, False],
}
# Keys that files of a class hold though the class does not list them.
ALSO = {"DeepseekV3ForCausalLM": ["scoring_func", "topk_method", "moe_layer_freq", "aux_loss_alpha", "seq_aux", "ep_size", "quantization_config"],
        "GPT2LMHeadModel": ["n_ctx"], "BloomForCausalLM": ["n_embed", "n_inner", "attention_softmax_in_fp32", "bias_dropout_fusion",
                                                           "masked_softmax_fusion", "skip_bias_add", "skip_bias_add_qkv", "offset_alibi", "seq_length"],
        "GPTNeoXForCausalLM": ["rope_theta", "hidden_dropout_prob", "attention_probs_dropout_prob", "partial_rotary_factor"],
        "Qwen3MoeForCausalLM": ["num_local_experts", "layer_types"], "MistralForCausalLM": ["layer_types"], "MixtralForCausalLM": ["layer_types"]}
SHARED = ("tie_word_embeddings", "pad_token_id", "bos_token_id", "eos_token_id", "dtype", "torch_dtype", "initializer_range")


def values_of(key, base):
    """Values to try for a key: listed, or near what the base says."""
    if key in VALUES:
        return VALUES[key]
    if key in EVERYWHERE:
        return EVERYWHERE[key]
    value = base.get(key)
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, 2 * value, 1, None]
    if isinstance(value, float):
        return [value * 2, 0, 1, None]
    return [1, True, "x", None]


def foreign_keys(name, own):
    """Keys of the other bases, and of models that PPC does not know."""
    others = {key for base in BASES.values() for key in base} | set(VALUES)
    return sorted(others - set(own) - {"model_type", "architectures"})


def single_changes(name, own):
    """Each key taken away and set to other values; `own`: what the configuration class calls its keys."""
    base = BASES[name]
    keys = sorted(set(base) | set(own) | set(EVERYWHERE) | set(SHARED) | set(ALSO.get(name, ())))
    for key in keys:
        if key in base:
            yield {key: ABSENT}
        for value in values_of(key, base):
            if key not in base or json.dumps(base[key]) != json.dumps(value):
                yield {key: value}
    for key in foreign_keys(name, keys):
        values = values_of(key, base)
        yield from ({key: value} for value in [v for v in values if v is not None][:2] + [v for v in values if v is None])
    for other in BASES.values():
        if other is not base:
            yield {"model_type": other["model_type"]}
    yield {"model_type": ABSENT, "architectures": ABSENT}


# Keys that act together: the values that each of them may take in a case of the group.
GROUPS = [
    {"use_sliding_window": [ABSENT, True, False], "sliding_window": [ABSENT, None, 3, 4096], "max_window_layers": [ABSENT, 0, 1, 2, 3, 28],
     "layer_types": [ABSENT, [FULL] * 3, [SLIDING] * 3, [SLIDING, FULL, SLIDING], [FULL, SLIDING, FULL], [FULL, FULL, SLIDING]],
     "num_hidden_layers": [3]},
    {"rope_theta": [ABSENT, 100.0, None], "rope_scaling": [ABSENT, *ropes()], "rope_parameters": [ABSENT, *ropes()],
     "partial_rotary_factor": [ABSENT, ABSENT, 0.5]},
    {"rope_theta": [ABSENT, 100.0], "rope_parameters": ropes(), "rope_scaling": [ABSENT]},
    {"rotary_pct": [ABSENT, 0.5, 1.0], "rotary_emb_base": [ABSENT, 100], "rope_theta": [ABSENT, 50.0], "partial_rotary_factor": [ABSENT, ABSENT, 0.75],
     "rope_parameters": [ABSENT, *ropes()]},
    {"num_attention_heads": [2, 4, 8], "num_key_value_heads": [ABSENT, None, 1, 2, 4], "head_dim": [ABSENT, None, 4, 6], "hidden_size": [16, 24, 18]},
    {"attention_bias": [ABSENT, True, False], "mlp_bias": [ABSENT, True, False], "tie_word_embeddings": [ABSENT, True, False], "qkv_bias": [ABSENT, True, False]},
    {"decoder_sparse_step": [ABSENT, 1, 2, 3], "mlp_only_layers": [ABSENT, [], [0], [1], [2], [0, 2]], "norm_topk_prob": [ABSENT, True, False],
     "num_experts_per_tok": [ABSENT, 1, 2, 4], "shared_expert_intermediate_size": [ABSENT, 0, 8], "num_hidden_layers": [1, 2, 3, 4]},
    {"num_experts": [ABSENT, 4, 6], "num_local_experts": [ABSENT, 4, 6], "n_routed_experts": [ABSENT, 6, 8]},
    {"n_group": [ABSENT, None, 1, 2, 4], "topk_group": [ABSENT, None, 1, 2], "num_experts_per_tok": [2, 4], "norm_topk_prob": [ABSENT, True, False],
     "routed_scaling_factor": [ABSENT, 1.0, 2.0], "n_shared_experts": [ABSENT, 0, 1], "first_k_dense_replace": [ABSENT, 0, 1, 2],
     "scoring_func": [ABSENT, "sigmoid"], "topk_method": [ABSENT, "noaux_tc"], "moe_layer_freq": [ABSENT, 1, 2]},
    {"q_lora_rank": [ABSENT, None, 8], "num_key_value_heads": [ABSENT, None, 2, 4], "head_dim": [ABSENT, 8], "rope_interleave": [ABSENT, True],
     "rope_scaling": [ABSENT, *ropes()], "num_nextn_predict_layers": [ABSENT, 1], "attention_bias": [ABSENT, False]},
    {"hidden_act": [ABSENT, None, "gelu", "silu", "gelu_pytorch_tanh", "relu"], "hidden_activation": [ABSENT, None, "gelu", "gelu_pytorch_tanh", "silu", "relu"]},
    {"n_embd": [16, 32], "hidden_size": [ABSENT, 16, 32], "n_layer": [ABSENT, 1, 2], "num_hidden_layers": [ABSENT, 1, 2], "n_head": [ABSENT, 2, 4],
     "num_attention_heads": [ABSENT, 2, 4], "n_positions": [ABSENT, 24, 32], "max_position_embeddings": [ABSENT, 24, 32], "n_ctx": [ABSENT, 24]},
    {"n_inner": [ABSENT, None, 24, 64], "intermediate_size": [ABSENT, 24], "activation_function": [ABSENT, "gelu", "gelu_new"], "hidden_act": [ABSENT, "relu"]},
    {"scale_attn_weights": [ABSENT, True, False], "scale_attn_by_inverse_layer_idx": [ABSENT, True, False], "reorder_and_upcast_attn": [ABSENT, True, False]},
    {"n_embed": [ABSENT, 12, 24], "hidden_size": [ABSENT, 12, 24, 48], "n_head": [ABSENT, 2, 6], "num_attention_heads": [ABSENT, 2, 6],
     "n_layer": [ABSENT, 1, 2], "num_hidden_layers": [ABSENT, 1, 2]},
    {"use_parallel_residual": [ABSENT, True, False], "attention_bias": [ABSENT, True, False], "tie_word_embeddings": [ABSENT, True, False],
     "attention_dropout": [ABSENT, 0.0], "hidden_dropout": [ABSENT, 0.0], "attention_probs_dropout_prob": [ABSENT, 0.0, 0.1]},
]
# Phi-3's lists of factors, one for each of its pairs, for lengths around the sweep's 16 tokens; not 16, since the reference also reads the
# last target.
LONGER = {"short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0]}
GROUPS.append({
    "original_max_position_embeddings": [ABSENT, 8, 15, 17, 32, 64],
    "rope_scaling": [{"type": kind, **LONGER, **more} for kind, more in
                     (("longrope", {}), ("su", {}), ("yarn", {}), ("longrope", {"factor": 2.0}), ("longrope", {"attention_factor": 1.5}),
                      ("longrope", {"original_max_position_embeddings": 17}), ("longrope", {"short_factor": [1.0]}))]})
ARCHITECTURE = [{"architectures": ABSENT}, {"architectures": None}, {"model_type": ABSENT}, {"model_type": None}]


def group_changes(name, own, count, seed):
    """Up to `count` cases of each group that has at least two keys of this class."""
    source = random.Random(f"{seed} {name}")
    for group in GROUPS:
        known = {key: values for key, values in group.items() if key in own or key in BASES[name] or key in ALSO.get(name, ())}
        if len(known) < 2:
            continue
        every = [dict(zip(known, values)) for values in itertools.product(*known.values())]
        # A smaller count takes the first of a larger one.
        yield from source.sample(every, min(max(count, 40), len(every)))[:count]


def random_changes(name, own, count, seed):
    """Two to five keys of this class at once."""
    source = random.Random(f"{seed} random {name}")
    base = BASES[name]
    keys = sorted((set(own) | set(base) | set(ALSO.get(name, ()))) - {"model_type", "architectures", "vocab_size"})
    for _ in range(count):
        yield {key: source.choice([ABSENT] + values_of(key, base)) for key in source.sample(keys, source.randint(2, 5))}


def public_changes(name, sample, count, seed):
    """What published files of this architecture say, key by key, and `count` of the keys that files of others have."""
    source = random.Random(f"{seed} public {name}")
    own, others = sample.get(name, {}), sample.get(public.OTHERS, {})
    for key, values in own.items():
        yield from ({key: value} for value in values)
    for key in source.sample(sorted(others), min(count, len(others))):
        yield {key: source.choice(others[key])}


def changes(name, own, seed=1, group=60, handfuls=60, sample=None, foreign=30):
    """All cases of an architecture, each once, the base first."""
    seen = set()
    for case in itertools.chain([{}], ARCHITECTURE, single_changes(name, own), group_changes(name, own, group, seed),
                                random_changes(name, own, handfuls, seed),
                                public_changes(name, public.read() if sample is None else sample, foreign, seed)):
        base = BASES[name]
        case = {key: value for key, value in case.items()
                if (value != ABSENT if key not in base else json.dumps(base[key]) != json.dumps(value))}
        text = json.dumps(case, sort_keys=True)
        if text not in seen:
            seen.add(text)
            yield case


def applied(name, case):
    """The config.json of a case."""
    config = {**BASES[name], **case}
    return {key: value for key, value in config.items() if value != ABSENT}
