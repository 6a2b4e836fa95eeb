"""NVIDIA dgxc-benchmarking: NeMo and Megatron-Core recipes on H100 and GB200."""
import os
import re

from .row import Row, integer, number, read_csv
from .shapes import gpt

DENSE_BF16 = "dgxc-h100-bf16"
DENSE_FP8 = "dgxc-h100-fp8"
EXPERTS = "dgxc-h100-moe"
BLACKWELL = "dgxc-gb200"

NOT_STATED_SPLIT = "how FSDP and data parallelism share the devices is not stated"


def nemotron_15b(_shapes):
    """Nemotron-4 15B (arXiv 2402.16819): 48 heads, 8 key/value heads, squared ReLU, untied."""
    return dict(layers=32, hidden=6144, heads=48, kv_heads=8, ffn=24576, gated=0, vocab=256000, tied=0)


def nemotron_340b(_shapes):
    return dict(layers=96, hidden=18432, heads=96, kv_heads=8, ffn=73728, gated=0, vocab=256000, tied=0)


def grok(shapes):
    return shapes.experts("Grok-1 314B")


MODELS = {
    "llama3.1 8b": lambda shapes: shapes.llama("Llama 3/3.1 8B"),
    "llama3 8b": lambda shapes: shapes.llama("Llama 3/3.1 8B"),
    "llama3.1 70b": lambda shapes: shapes.llama("Llama 3/3.1 70B"),
    "llama3 70b": lambda shapes: shapes.llama("Llama 3/3.1 70B"),
    "llama2 70b": lambda shapes: shapes.llama("Llama 2 70B"),
    "llama3.1 405b": lambda shapes: shapes.llama("Llama 3.1 405B"),
    "nemotron4 15b": nemotron_15b,
    "nemotron4 340b": nemotron_340b,
    "gpt3 175b": lambda shapes: gpt(96, 12288, 96, 51200),
    "grok1 314b": grok,
    "deepseek-v3 671b": lambda shapes: deepseek_v3(shapes),
}


def deepseek_v3(shapes, predicted=1):
    """The public config.json: latent attention, 3 dense layers, 256 routed experts and one shared, one layer that predicts a second
    token. The restriction of a token's experts to few groups is left out: the sources do not say whether the measured runs kept to
    it."""
    return shapes.config("deepseek-v3" if predicted else "deepseek-v3-no-mtp", dict(
        architectures=["DeepseekV3ForCausalLM"], model_type="deepseek_v3", num_hidden_layers=61, hidden_size=7168,
        num_attention_heads=128, num_key_value_heads=128, intermediate_size=18432, moe_intermediate_size=2048,
        n_routed_experts=256, n_shared_experts=1, num_experts_per_tok=8, n_group=1, topk_group=1, first_k_dense_replace=3, moe_layer_freq=1,
        q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, vocab_size=129280,
        num_nextn_predict_layers=predicted, tie_word_embeddings=False, hidden_act="silu", rms_norm_eps=1e-6,
        max_position_embeddings=163840))


def exclusion(cells):
    notes, model = cells["notes"], cells["model"]
    if "LORA" in notes:
        return "trains adapters only"
    if "hybrid Mamba" in model:
        return "state-space layers, not a transformer"
    if model.startswith("llama4"):
        return "interleaved expert and chunked attention layers have no column; printed VP contradicts the run's name"
    if "split not in table" in cells["zero_stage_or_fsdp"]:
        return NOT_STATED_SPLIT
    if "Same measured numbers as" in notes or "Identical numbers to" in notes:
        return "repeats an earlier release's figures (175B: under another VP)"
    if "Table prints VP=NA" in notes:
        return "printed VP contradicts the other releases"
    if model == "gpt3 5b":
        return NOT_STATED_SPLIT
    return ""


def convert(measured, shapes):
    table = read_csv(os.path.join(measured, "throughput", "dgxc_benchmarking.csv"))
    return [convert_row(index, cells, shapes) for index, cells in enumerate(table)]


def convert_row(index, cells, shapes):
    """NeMo's recipes recompute nothing on H100, shard the optimizer (distributed optimizer), use sequence parallelism with
    tensor parallelism, and hide its communication by userbuffers (llama3.1/pretrain_llama31.py, grok1/configure.sh). Grok-1
    up to v25.04 sets NVTE_FUSED_ATTN=0: FlashAttention-2; expert tensor parallelism is tp where the row does not say.
    DeepSeek-V3 recomputes mla_up_proj on H100 ("none" here) and core_attn on GB200 (deepseek_v3/pretraining/launch.sh), which
    helps only where attention keeps its scores: no fused kernel had its head dimensions (192, 128) there.
    MaxText's remat policy is save_qkv_proj (maxtext/configure.sh): all but the projections of queries, keys and values is
    recomputed, which "full" overstates by a tenth of a forward pass."""
    release = re.search(r"(v[\d.]+)", cells["source"]).group(1)
    gpu, precision, model = cells["gpu"], cells["precision"], cells["model"]
    devices = integer(cells["num_gpus"])
    moe = model.startswith(("grok", "deepseek", "llama4"))
    table = BLACKWELL if gpu == "GB200" else EXPERTS if moe else DENSE_BF16 if precision == "bf16" else DENSE_FP8
    tp, pp, cp = (integer(cells[key]) or 1 for key in ("tp", "pp", "cp"))
    tags = dict(release=release, phase="sft" if "SFT" in cells["notes"] else "pretrain")
    row = Row(table, f"dgxc-{release}-{model.replace(' ', '-').split('(')[0]}-{gpu}-{devices}-{precision}-{index:03d}", {},
              "ok", number(cells["measured_step_time_s"]), excluded=exclusion(cells), model_name=model,
              source=cells["url_or_repo_path"].split(":", 1)[-1], tags=tags)
    row.group = "-".join(str(part) for part in (model, cells["layers"], cells["seq_len"], cells["global_batch"], gpu, devices,
                                                precision, release))
    if row.excluded:
        return row
    inputs = MODELS[model](shapes)
    if cells["layers"] and "model" not in inputs:
        inputs["layers"] = integer(cells["layers"])  # proxies have fewer than the model
    jax = "JAX" in cells["notes"]
    attention, recompute, stack = "cudnn", "none", "nemo-performance"
    if jax:
        recompute, stack = "full", "jax-fsdp"
    elif model.startswith("grok") and release < "v25.05":
        attention = "flash2"
    elif model.startswith("deepseek"):
        stack = "nemo-plain+hybrid-ep+blocking" + ("+latent" if gpu == "H100" else "")
        if gpu == "GB200":
            attention, recompute = "unfused", "selective"
    vp = integer(cells["vp"]) or 1
    ep = integer(cells["ep"]) or 1
    etp = int(re.search(r"expert-TP=(\d+)", cells["notes"] + " expert-TP=" + str(tp)).group(1)) if ep > 1 else None
    inputs.update(
        seq_len=integer(cells["seq_len"]), global_batch=integer(cells["global_batch"]),
        micro_batch=integer(cells["micro_batch"]),
        cluster=f"dgx-h100:{-(-devices // 8)}" if gpu == "H100" else f"gb200-nvl72:{-(-devices // 72)}",
        devices=devices, tp=tp, pp=pp, vp=vp, cp=cp, dp=integer(cells["dp"]), ep=ep if ep > 1 else None, etp=etp,
        sp=int(tp > 1), zero=3 if jax else 1, schedule="interleaved" if vp > 1 else "1f1b",
        recompute=recompute, precision=precision, attention=attention, norm="fused", stack=stack)
    if jax:
        inputs["shard_group"] = int(re.search(r"FSDP=(\d+)", cells["zero_stage_or_fsdp"]).group(1))
    row.set_inputs(inputs)
    return row
