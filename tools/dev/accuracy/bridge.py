"""Megatron-Bridge's performance summaries (GB300, GB200, B300, B200) and MoE Parallel Folding (arXiv 2504.14960)."""
import os
import re

from .nemo import deepseek_v3
from .row import Row, integer, note, number, read_csv, time_from_tokens

BRIDGE = "bridge-blackwell"
FOLDING = "moe-folding"


def qwen3(name, layers, hidden, heads, kv_heads, experts, moe_ffn):
    """Qwen3's experts have head dimension 128 whatever hidden / heads is, and norms on queries and keys."""
    return lambda shapes: shapes.config(name, dict(
        architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", num_hidden_layers=layers, hidden_size=hidden,
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=128, intermediate_size=3 * hidden,
        moe_intermediate_size=moe_ffn, num_experts=experts, num_experts_per_tok=8, decoder_sparse_step=1, vocab_size=151936,
        tie_word_embeddings=False, hidden_act="silu", rms_norm_eps=1e-6, max_position_embeddings=40960))


def gpt_oss(layers, experts):
    """Every second layer attends to 128 tokens only, which no column says: at 4,096 tokens that is 6 % of the FLOPs."""
    return lambda _shapes: dict(layers=layers, hidden=2880, heads=64, kv_heads=8, head_dim=64, ffn=2880, gated=1, vocab=201088,
                                tied=0, experts=experts, top_k=4, moe_ffn=2880)


def kimi_k2(shapes):
    """DeepSeek-V3's architecture with 384 experts, 64 heads, one dense layer and no extra prediction layer."""
    return shapes.config("kimi-k2", dict(
        architectures=["DeepseekV3ForCausalLM"], model_type="deepseek_v3", num_hidden_layers=61, hidden_size=7168,
        num_attention_heads=64, num_key_value_heads=64, intermediate_size=18432, moe_intermediate_size=2048,
        n_routed_experts=384, n_shared_experts=1, num_experts_per_tok=8, n_group=1, topk_group=1, first_k_dense_replace=1, moe_layer_freq=1,
        q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, vocab_size=163840,
        num_nextn_predict_layers=0, tie_word_embeddings=False, hidden_act="silu", rms_norm_eps=1e-6,
        max_position_embeddings=131072))


MODELS = {
    "LLAMA3_8B": lambda shapes: shapes.llama("Llama 3/3.1 8B"),
    "LLAMA3_70B": lambda shapes: shapes.llama("Llama 3/3.1 70B"),
    "LLAMA3.1_405B": lambda shapes: shapes.llama("Llama 3.1 405B"),
    "DeepSeekV3": deepseek_v3,
    "DeepSeekV3 (w/ MTP)": deepseek_v3,
    "DeepSeekV3 (w/o MTP)": lambda shapes: deepseek_v3(shapes, predicted=0),
    "Qwen3_30B_a3B": qwen3("qwen3-30b-a3b", 48, 2048, 32, 4, 128, 768),
    "Qwen3_235B_a22B": qwen3("qwen3-235b-a22b", 94, 4096, 64, 4, 128, 1536),
    "GPT OSS 20B": gpt_oss(24, 32),
    "GPT OSS 120B": gpt_oss(36, 128),
    "Kimi_K2": kimi_k2,
}

CLUSTERS = {"GB300": ("gb300-nvl72", 72), "GB200": ("gb200-nvl72", 72), "B300": ("dgx-b300", 8), "B200": ("dgx-b200", 8),
            "H100": ("dgx-h100", 8), "H200": ("dgx-h200", 8)}
# Per-tensor scales, delayed or current ("cs"), cost the same; "sc" scales blocks of 128.
PRECISIONS = {"mxfp8": "mxfp8", "fp8-mx": "mxfp8", "fp8": "fp8", "fp8-cs": "fp8", "fp8-ds": "fp8", "fp8-sc": "fp8",
              "nvfp4": "fp4", "bf16": "bf16"}


def convert(measured, shapes):
    folder = os.path.join(measured, "throughput")
    rows = [convert_bridge(index, cells, shapes) for index, cells in
            enumerate(read_csv(os.path.join(folder, "megatron_bridge_blackwell.csv")))]
    return rows + [convert_folding(index, cells, shapes) for index, cells in
                   enumerate(read_csv(os.path.join(folder, "moe_parallel_folding.csv")))]


def hopper_options(model):
    """On H100, without recorded graphs: Qwen3-235B hides its plain all-to-all behind the other micro-batch; Qwen3-30B uses a fused
    dispatcher; DeepSeek-V3 both (moe_a2a_1f1b, DeepEP)."""
    if model.startswith("Qwen3_235B"):
        return "+overlap"
    if model.startswith("Qwen3_30B"):
        return "+hybrid-ep"
    if model.startswith(("DeepSeek", "Kimi")):
        return "+hybrid-ep+latent+overlap"
    return "+yarn+biases+clamped+norms+gates" if model.startswith("GPT OSS") else ""


def stack_of(model, gpu, precision, release, vp, notes):
    """scripts/performance/configs of Megatron-Bridge. Dense: Llama-3-8B records the whole iteration as a CUDA graph, the others
    nothing. Experts: attention and router are recorded on GB200 and GB300, and from 26.06 on (MXFP8) the whole iteration, with gate
    and quantisation inside the grouped matmuls (cutedsl_fused_grouped_mlp). DeepSeek-V3 hides its all-to-all (moe_a2a_overlap)
    there, too, and on B200 in the interleaved layout, as Qwen3-235B does on B300. Tokens travel once per rank (HybridEP, 25.11 on)
    except where the recipe names none: Qwen3-235B on B200 and B300, Qwen3-30B on B200 before 26.04, GPT-OSS in bf16."""
    if model.startswith("LLAMA"):
        return "nemo-performance+te-loss" + ("+graphs" if model == "LLAMA3_8B" else "")
    if "token-drop" in notes:
        return "nemo-capacity+te-loss" + ("+latent" if model.startswith("DeepSeekV3") else "")
    if gpu in ("H100", "H200"):
        return "nemo-performance+te-loss" + hopper_options(model)
    fused = release >= "26.06" and precision == "mxfp8" and not model.startswith("Kimi") and (
        gpu in ("GB200", "GB300") or gpu == "B300" and (model.startswith("Qwen3") or release > "26.06"))
    options = []
    if fused:
        options += ["graphs", "fused-experts"]
    elif gpu in ("GB200", "GB300"):
        options.append("partial-graphs")
    if model.startswith("DeepSeekV3") and (fused or gpu == "B200" and vp > 1) or (
            model.startswith("Qwen3_235B") and gpu == "B300" and vp > 1):
        options.append("overlap")
    if not (model.startswith("Qwen3_235B") and gpu in ("B200", "B300") or
            model.startswith("Qwen3_30B") and gpu == "B200" and release < "26.04" or model.startswith("GPT OSS") and precision == "bf16"):
        options.append("hybrid-ep")
    if model.startswith(("DeepSeekV3", "Kimi")) and not (fused and gpu == "GB300"):
        options.append("latent")
    if model.startswith("GPT OSS"):
        options += ["yarn"] if fused else ["yarn", "biases", "clamped"]
        if precision == "bf16" and gpu in ("GB200", "B200"):
            options += ["norms", "gates"]
    return "+".join(["nemo-performance", "te-loss"] + options)


def waits(stack, pp, vp):
    return stack + "+blocking" if pp > 1 and vp == 1 else stack


def convert_bridge(index, cells, shapes):
    """Recipes recompute no part of dense models, and of DeepSeek-V3 only cheap parts (mla_up_proj, activations): "none". Llama-3-70B
    under FSDP on GB200 and GB300 keeps activations of 20 to 40 of its 80 layers in host memory."""
    model, gpu, precision = cells["model"], cells["gpu"], cells["precision"]
    release = note(r"([\d.]+) NeMo", cells["source"])
    shape_name = model.replace(" (tokendrop)", "")
    devices, global_batch, seq_len = (integer(cells[key]) for key in ("num_gpus", "global_batch", "seq_len"))
    excluded = ""
    if "LoRA" in cells["notes"]:
        excluded = "trains adapters only"
    elif model.startswith(("Nemotron", "NemotronH")):
        excluded = "state-space layers, not a transformer"
    elif model.startswith("GPT OSS") and release == "26.06.01" and precision == "mxfp8" and gpu.startswith("GB"):
        excluded = "its release notes name a regression of the fused kernels"
    elif shape_name not in MODELS:
        excluded = "the model's sizes are not published with the figures"
    tokens = number(cells["measured_tokens_per_s_per_gpu"])
    row = Row(BRIDGE, f"bridge-{release}-{model.replace(' ', '-')}-{gpu}-{precision}-{index:03d}", {}, "ok",
              time_from_tokens(global_batch, seq_len, tokens, devices) if tokens else None, excluded=excluded,
              model_name=model, source=f"{release}, row {index + 1}",
              group="-".join(str(part) for part in (model, seq_len, global_batch, gpu, devices, precision, release)),
              tags=dict(release=release, gpu=gpu, phase="sft" if "SFT" in cells["notes"] else "pretrain"))
    if row.excluded:
        return row
    inputs = MODELS[shape_name](shapes)
    preset, node = CLUSTERS[gpu]
    tp, pp, cp, vp, ep = (integer(cells[key]) or 1 for key in ("tp", "pp", "cp", "vp", "ep"))
    fsdp = cells["zero_stage_or_fsdp"].startswith("FSDP")
    inputs.update(
        seq_len=seq_len, global_batch=global_batch, micro_batch=integer(cells["micro_batch"]),
        cluster=f"{preset}:{-(-devices // node)}", devices=devices, tp=tp, pp=pp, vp=vp, cp=cp,
        dp=devices // (tp * pp * cp), ep=ep if ep > 1 else None, etp=1 if ep > 1 else None, sp=int(tp > 1),
        zero=3 if fsdp else 1, shard_group=integer(note(r"shard group (\d+)", cells["zero_stage_or_fsdp"])),
        offload="activations" if fsdp and gpu in ("GB200", "GB300") else None,
        schedule="interleaved" if vp > 1 else "1f1b", recompute="none", precision=PRECISIONS[precision],
        attention="cudnn", norm="fused", stack="nemo-fsdp+te-loss" if fsdp else waits(
            stack_of(shape_name, gpu, PRECISIONS[precision], release, vp, cells["notes"]), pp, vp))
    row.set_inputs(inputs)
    if ep > devices // pp:
        row.excluded = "printed expert parallelism exceeds the ranks of a stage"
    return row


def megatron_flops_per_token(shape, seq_len):
    """Model FLOPs of Megatron-Core's `num_floating_point_operations` since March 2025: causal attention counted half, the
    head, routed experts at top_k, no recomputation."""
    hidden, layers = shape["hidden"], shape["layers"]
    grouped = shape["kv_heads"] / shape["heads"]
    inner = 1.5 * (shape["top_k"] * shape["moe_ffn"] + shape.get("shared_experts", 0) * shape["moe_ffn"]) / hidden
    attention = 1 + grouped + seq_len / hidden / 2
    return 12 * layers * hidden**2 * (attention + inner + shape["vocab"] / (2 * layers * hidden))


def folding_shape(name, shapes):
    if name == "Mixtral-8x22B":
        return shapes.experts("Mixtral 8x22B")
    if name == "Qwen2-57B-A14B":  # the shared expert is as wide as eight routed ones (20480 = 8 x 2560)
        shape = dict(shapes.llama("Mixtral 8x22B"), layers=28, hidden=3584, heads=28, kv_heads=4, ffn=18944, vocab=151936)
        shape.update(experts=64, top_k=8, moe_ffn=2560, shared_experts=8)
        return shape
    if name == "Mixtral-8x22B-G8T8":  # fine-grained: 64 experts of an eighth of the width, top-8
        shape = shapes.experts("Mixtral 8x22B", top_k=8)
        shape.update(experts=64, moe_ffn=16384 // 8)
        return shape
    if name == "Llama3-8x70B":  # Llama-3-70B with every feed-forward copied to eight experts, top-2
        shape = shapes.llama("Llama 3/3.1 70B")
        shape.update(experts=8, top_k=2, moe_ffn=shape["ffn"])
        return shape
    return None


# Table 3, by model and strategy: tp, ep, pp, etp. Table 4 uses the same ("All parallel configurations are the same as those identified in
# the performance experiments", appendix 6.4). Without folding, experts are sharded over tp like attention.
FOLDING_LAYOUTS = {
    ("Mixtral-8x22B", "FSDP+EP"): (2, 8, 1, 2),
    ("Mixtral-8x22B", "TP+EP+DP"): (4, 8, 1, 4),
    ("Mixtral-8x22B", "MCore (TP+EP+PP)"): (2, 4, 8, 2),
    ("Mixtral-8x22B", "MCore + Folding"): (2, 8, 8, 1),
    ("Qwen2-57B-A14B", "FSDP+EP"): (1, 8, 1, 1),
    ("Qwen2-57B-A14B", "TP+EP+DP"): (4, 4, 1, 4),
    ("Qwen2-57B-A14B", "MCore (TP+EP+PP)"): (2, 4, 4, 2),
    ("Qwen2-57B-A14B", "MCore + Folding"): (2, 4, 4, 1),
    ("Mixtral-8x22B-G8T8", "FSDP+EP"): (4, 8, 1, 4),
    ("Mixtral-8x22B-G8T8", "TP+EP+DP"): (8, 8, 1, 8),
    ("Mixtral-8x22B-G8T8", "MCore (TP+EP+PP)"): (2, 8, 8, 2),
    ("Mixtral-8x22B-G8T8", "MCore + Folding"): (4, 8, 8, 1),
    ("Llama3-8x70B", "FSDP+EP"): (8, 8, 1, 8),
    ("Llama3-8x70B", "MCore (TP+EP+PP)"): (8, 4, 8, 8),
    ("Llama3-8x70B", "MCore + Folding"): (8, 8, 16, 1),
}


def convert_folding(index, cells, shapes):
    """Step time from MFU, 989.5 TFLOP/s, micro-batch 1. Tokens over capacity factor 1 are dropped: every expert's load is
    the mean. Pipelines interleave with one layer per chunk: raising the batch from 256 to 1,024 sequences gains 6 to 7 %
    (Tables 3 and 4), where stages of 7 layers in one chunk would gain 15 %, and 7 has no other divisor."""
    notes, model = cells["notes"], cells["model"]
    strategy = note(r"strategy=([^;.]*)", notes).strip()
    devices, global_batch, seq_len = (integer(cells[key]) for key in ("num_gpus", "global_batch", "seq_len"))
    shape = folding_shape(model, shapes)
    tp, pp, cp, ep = (integer(cells[key]) or 1 for key in ("tp", "pp", "cp", "ep"))
    etp = integer(note(r"expert-TP=(\d+)", notes)) or (1 if "Folding" in strategy else tp)
    excluded = ""
    if "Layout not tabulated" in notes:
        tp, ep, pp, etp = FOLDING_LAYOUTS[model, strategy]
    elif "OOM." in notes:
        excluded = "out of memory; what else the row says was lost in transcription"
    step_time = None
    if number(cells["measured_mfu_pct"]):
        flops = megatron_flops_per_token(shape, seq_len) * global_batch * seq_len
        step_time = flops / (number(cells["measured_mfu_pct"]) / 100 * 989.5e12 * devices)
    fsdp = cells["zero_stage_or_fsdp"] == "FSDP"
    vp = shape["layers"] // pp if pp > 1 else 1
    inputs = dict(shape)
    inputs.update(
        seq_len=seq_len, global_batch=global_batch, micro_batch=1, cluster=f"eos-h100:{devices // 8}", devices=devices,
        tp=tp, pp=pp, vp=vp, cp=cp, dp=devices // (tp * pp * cp), ep=ep if ep > 1 else None, etp=etp, sp=int(tp > 1),
        zero=3 if fsdp else 1, schedule="interleaved" if vp > 1 else "1f1b", recompute="none", precision="bf16",
        attention="cudnn", norm="fused", stack="megatron-fsdp-capacity" if fsdp else "megatron-core-capacity")
    table = re.search(r"Table \d+", notes).group()
    return Row(FOLDING, f"folding-{model}-{devices}-{seq_len}-{index:03d}", inputs, "oom" if "OOM." in notes else "ok",
               step_time, group=f"{model}-{seq_len}-{global_batch}-{devices}", excluded=excluded, model_name=model,
               source=f"{table}, {strategy}", tags=dict(strategy=strategy, paper_table=table))
