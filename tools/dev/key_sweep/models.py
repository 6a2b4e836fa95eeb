"""The small models that the sweep starts from, one for each architecture that PPC imports.

A base has every key of its configuration class, if possible with a value other than the default, so that a missing key shows.
Values are JSON: None is null.
"""

COMMON = {"vocab_size": 40, "initializer_range": 0.05, "use_cache": False, "tie_word_embeddings": False,
          "bos_token_id": 3, "eos_token_id": 4, "pad_token_id": None, "dtype": "float32"}
LLAMA = COMMON | {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
                  "num_key_value_heads": 2, "head_dim": 8, "hidden_act": "gelu", "max_position_embeddings": 64,
                  "rms_norm_eps": 1e-3, "rope_theta": 500.0, "rope_scaling": None, "attention_dropout": 0.0}
QWEN_WINDOW = {"num_hidden_layers": 3, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 0,
               "layer_types": None}
QWEN_EXPERTS = {"decoder_sparse_step": 2, "moe_intermediate_size": 8, "num_experts_per_tok": 2,
                "norm_topk_prob": True, "output_router_logits": False, "router_aux_loss_coef": 0.01, "mlp_only_layers": []}
LATENT = {key: value for key, value in LLAMA.items() if key != "head_dim"} | {
    "num_hidden_layers": 3, "num_key_value_heads": 4, "q_lora_rank": 12, "kv_lora_rank": 10, "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
    "n_shared_experts": 2, "first_k_dense_replace": 1, "n_group": 4, "topk_group": 2, "norm_topk_prob": False,
    "routed_scaling_factor": 1.5, "attention_bias": False, "num_nextn_predict_layers": 0, "output_router_logits": False}

BASES = {
    "LlamaForCausalLM": LLAMA | {"model_type": "llama", "attention_bias": True, "mlp_bias": True, "pretraining_tp": 1},
    "MistralForCausalLM": LLAMA | {"model_type": "mistral", "sliding_window": 5},
    "GemmaForCausalLM": LLAMA | {"model_type": "gemma", "hidden_activation": None, "hidden_act": "silu", "attention_bias": True,
                                 "use_bidirectional_attention": None, "tie_word_embeddings": True},
    "Qwen2ForCausalLM": LLAMA | QWEN_WINDOW | {"model_type": "qwen2", "head_dim": 4},
    "Qwen3ForCausalLM": LLAMA | QWEN_WINDOW | {"model_type": "qwen3", "attention_bias": True},
    "GPT2LMHeadModel": COMMON | {
        "model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 24, "n_inner": 24,
        "activation_function": "silu", "layer_norm_epsilon": 1e-3, "attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
        "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "reorder_and_upcast_attn": False,
        "summary_type": "cls_index", "summary_use_proj": True, "summary_activation": None, "summary_proj_to_labels": True,
        "summary_first_dropout": 0.1, "add_cross_attention": False, "tie_word_embeddings": False},
    "GPTNeoXForCausalLM": COMMON | {
        "model_type": "gpt_neox", "hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
        "hidden_act": "silu", "max_position_embeddings": 64, "layer_norm_eps": 1e-3, "rotary_pct": 0.5,
        "rotary_emb_base": 500, "attention_dropout": 0.0, "hidden_dropout": 0.0, "classifier_dropout": 0.1,
        "use_parallel_residual": False, "attention_bias": False, "rope_scaling": None, "is_decoder": False},
    "BloomForCausalLM": COMMON | {
        "model_type": "bloom", "hidden_size": 24, "n_layer": 2, "n_head": 6, "layer_norm_epsilon": 1e-3,
        "attention_dropout": 0.0, "hidden_dropout": 0.0, "apply_residual_connection_post_layernorm": False,
        "pretraining_tp": 1, "slow_but_exact": False, "tie_word_embeddings": True},
    "MixtralForCausalLM": LLAMA | {
        "model_type": "mixtral", "sliding_window": 5, "num_local_experts": 4, "num_experts_per_tok": 3,
        "output_router_logits": False, "router_aux_loss_coef": 0.01, "router_jitter_noise": 0.0},
    "Qwen2MoeForCausalLM": LLAMA | QWEN_WINDOW | QWEN_EXPERTS | {
        "model_type": "qwen2_moe", "head_dim": 4, "num_experts": 4, "shared_expert_intermediate_size": 12, "qkv_bias": False,
        "use_sliding_window": False},
    "Qwen3MoeForCausalLM": LLAMA | QWEN_WINDOW | QWEN_EXPERTS | {
        "model_type": "qwen3_moe", "num_experts": 4, "attention_bias": True, "max_window_layers": 3},
    "DeepseekV3ForCausalLM": LATENT | {
        "model_type": "deepseek_v3", "head_dim": 4, "rope_interleave": True, "pretraining_tp": 1},
    "DeepseekV32ForCausalLM": LATENT | {
        "model_type": "deepseek_v32", "index_topk": 24, "index_head_dim": 12, "index_n_heads": 3},
    "GlmMoeDsaForCausalLM": LATENT | {
        "model_type": "glm_moe_dsa", "index_topk": 24, "index_head_dim": 12, "index_n_heads": 3, "indexer_types": None},
    "Phi3ForCausalLM": {key: value for key, value in LLAMA.items() if key != "head_dim"} | {
        "model_type": "phi3", "sliding_window": 5, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "original_max_position_embeddings": 64},
    "SeedOssForCausalLM": LLAMA | {
        "model_type": "seed_oss", "attention_bias": False, "attention_out_bias": True, "mlp_bias": True, "residual_dropout": 0.0,
        "pretraining_tp": 1},
}
for name, base in BASES.items():
    base["architectures"] = [name]
