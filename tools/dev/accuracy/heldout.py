"""Published training steps that no constant was set with: test/Accuracy/heldout. Each file's columns are its source's own.
README.md there says where they are from, and what is assumed where a source says nothing."""
import os

from .bridge import MODELS as BRIDGE_MODELS, hopper_options, waits
from .nemo import nemotron_340b
from .row import Row, cluster_file, integer, number, read_csv, time_from_tokens
from .score import mean, quantile
from .shapes import gpt

VTRAIN = "vtrain-multi-node"
VTRAIN_NODE = "vtrain-one-node"
LLM_FOUNDRY = "llm-foundry-h100"
LLM_FOUNDRY_FP8 = "llm-foundry-h100-fp8"
NEMO = "nemo-24.07-h100-fp8"
BRIDGE = "bridge-h100"
AUTOMODEL = "automodel-h100"
TORCHTITAN = "torchtitan"
SC21 = "sc21"
MT_NLG = "mt-nlg"
MEGASCALE = "megascale-baseline"
TABLES = (VTRAIN, VTRAIN_NODE, SC21, MT_NLG, MEGASCALE, LLM_FOUNDRY, LLM_FOUNDRY_FP8, NEMO, BRIDGE, AUTOMODEL, TORCHTITAN)

MPT = {  # layers, hidden, heads
    "70b": (80, 8192, 64), "30b": (48, 7168, 56), "13b": (40, 5120, 40), "7b": (32, 4096, 32), "3b": (32, 2560, 20),
    "1b": (24, 2048, 16), "760m": (24, 1536, 12), "350m": (24, 1024, 16),
}
GPT2_VOCABULARY = 50257
AUTOMODEL_GATE = "its gate sends every token to neighbouring experts (fake_balanced_gate), which no column says"


def nemotron_3(layers, hidden, heads):
    """Nemotron-3 8B and 22B (NVIDIA/NeMo, nemo/collections/llm/gpt/model/nemotron.py): squared ReLU, no grouped queries."""
    return dict(layers=layers, hidden=hidden, heads=heads, kv_heads=heads, ffn=4 * hidden, gated=0, vocab=256000, tied=0)


MODELS = dict(BRIDGE_MODELS, **{
    "GPT3-5B": lambda _: gpt(24, 4096, 32, 51200),  # NVIDIA/NeMo-Megatron-Launcher, launcher_scripts/conf/training/gpt3
    "GPT3-20B": lambda _: gpt(44, 6144, 48, 51200),
    "GPT3-175B": lambda _: gpt(96, 12288, 96, 51200),
    "LLAMA2-7B": lambda shapes: shapes.llama("Llama 2 7B"),
    "LLAMA2-13B": lambda shapes: shapes.llama("Llama 2 13B"),
    "LLAMA2-70B": lambda shapes: shapes.llama("Llama 2 70B"),
    "LLAMA3-8B": lambda shapes: shapes.llama("Llama 3/3.1 8B"),
    "LLAMA3-70B": lambda shapes: shapes.llama("Llama 3/3.1 70B"),
    "Nemotron-8B": lambda _: nemotron_3(32, 4096, 32),
    "Nemotron-22B": lambda _: nemotron_3(40, 6144, 48),
    "Nemotron-340B": nemotron_340b,
})


def convert(folder, shapes):
    rows = []
    for name, function in (("vtrain_a100", convert_vtrain), ("vtrain_node", convert_vtrain), ("megatron_a100", convert_megatron),
                           ("llm_foundry_h100", convert_llm_foundry), ("nvidia_h100", convert_nvidia),
                           ("torchtitan", convert_torchtitan)):
        for index, cells in enumerate(read_csv(os.path.join(folder, name + ".csv"))):
            rows.append(function(index, cells, shapes))
    return rows


def degrees(cells, *names):
    return (integer(cells[name]) or 1 for name in names)


def convert_vtrain(index, cells, shapes):
    """vTrain's validation data (arXiv 2312.12391): GPT by Megatron-DeepSpeed without sequence parallelism, every layer
    recomputed, 1F1B; nodes of 8 A100 with 800 Gb/s between them (its configurations). Assumed: fp16, dropout 0.1, ZeRO off."""
    devices, dp, tp, pp = (integer(cells[name]) for name in ("gpus", "dp", "tp", "pp"))
    one_node = devices <= 8
    inputs = shapes.gpt2(*(integer(cells[name]) for name in ("layers", "hidden", "heads")), GPT2_VOCABULARY,
                         integer(cells["seq_len"]), 0.1)
    inputs.update(
        seq_len=integer(cells["seq_len"]), global_batch=integer(cells["global_batch"]), micro_batch=integer(cells["micro_batch"]),
        cluster=f"a100-hdr-800:{-(-devices // 8)}", devices=devices, tp=tp, pp=pp, dp=dp, sp=0, zero=0, schedule="1f1b",
        recompute="full", precision="fp16", attention="fused-softmax", norm="fused",
        stack="megatron-2021")
    size = f"{cells['layers']}x{cells['hidden']}"
    return Row(VTRAIN_NODE if one_node else VTRAIN, f"vtrain-{size}-{devices}-{index:04d}", inputs, "ok",
               number(cells["step_ms"]) / 1e3, group=f"{size}-{devices}-{cells['global_batch']}", model_name=size,
               source=f"ground_truth_{'single' if one_node else 'multi'}.csv, row {index + 1}")


def sc21_flops(cells):
    """Equation 3 of arXiv 2104.04473: with recomputation."""
    layers, hidden, vocab, seq_len = (integer(cells[name]) for name in ("layers", "hidden", "vocab", "seq_len"))
    return 96 * integer(cells["global_batch"]) * seq_len * layers * hidden**2 * (
        1 + seq_len / (6 * hidden) + vocab / (16 * layers * hidden))


def convert_megatron(index, cells, shapes):
    """arXiv 2104.04473: Selene, full recomputation, chunks by examples/sc21/run_table_1.sh; models up to 18.4B reduced gradients by
    PyTorch's DistributedDataParallel, overlapped with backward. MT-NLG (arXiv 2201.11990): Selene, Megatron-DeepSpeed. MegaScale's
    baseline (arXiv 2402.15627): Megatron-LM of 2023; assumed as in arXiv 2205.05198: selective recomputation with sequence
    parallelism."""
    source, notes, devices = cells["source"], cells["notes"], integer(cells["gpus"])
    table = {"SC21": SC21, "MT-NLG": MT_NLG, "MegaScale": MEGASCALE}[source]
    step_time = number(cells["step_time_s"]) or sc21_flops(cells) / (number(cells["tflops_per_gpu"]) * 1e12 * devices)
    tp, pp, vp = degrees(cells, "tp", "pp", "vp")
    inputs = shapes.gpt2(*(integer(cells[name]) for name in ("layers", "hidden", "heads", "vocab", "seq_len")), 0.1)
    sharded = notes == "ZeRO-3"
    inputs.update(
        seq_len=integer(cells["seq_len"]), global_batch=integer(cells["global_batch"]), micro_batch=integer(cells["micro_batch"]),
        cluster=f"{'a100-roce' if source == 'MegaScale' else 'dgx-a100'}:{devices // 8}", devices=devices, tp=tp, pp=pp, vp=vp,
        dp=devices // (tp * pp), sp=int(source == "MegaScale"), zero=3 if sharded else 0,
        schedule="interleaved" if vp > 1 else "1f1b", recompute="selective" if source == "MegaScale" else "full",
        precision="bf16" if source == "MT-NLG" else "fp16", attention="fused-softmax", norm="fused",
        stack="fsdp" if sharded else "megatron-deepspeed-unsharded-bf16+launching-ahead" if source == "MT-NLG" else
        "megatron-torch-ddp" if source == "SC21" and pp == 1 else "megatron-2021")
    return Row(table, f"{table}-{cells['model']}-{devices}-{index:03d}", inputs, "ok", step_time,
               group=f"{cells['model']}-{devices}-{cells['row']}", model_name=cells["model"], source=f"{source}, {cells['row']}",
               excluded="virtual stages not stated" if "not stated" in notes else "",
               tags=dict(strategy="ZeRO-3" if sharded else "PTD"))


def convert_llm_foundry(index, cells, _shapes):
    """The H100 tables of mosaicml/llm-foundry, scripts/train/benchmarking/README.md. As the A100 tables, but FlashAttention-2
    (assumed: its release is older than the tables), and nodes with eight 400 Gb/s adapters (assumed)."""
    devices, fp8 = integer(cells["gpus"]), cells["precision"] == "amp_fp8"
    global_batch, seq_len = integer(cells["global_batch"]), integer(cells["seq_len"])
    inputs = gpt(*MPT[cells["model"]], 50368)
    inputs.update(
        seq_len=seq_len, global_batch=global_batch, micro_batch=integer(cells["micro_batch"]), cluster=f"dgx-h100:{devices // 8}",
        devices=devices, tp=1, pp=1, dp=devices, sp=0, zero=3, recompute="full" if cells["checkpointing"] == "True" else "none",
        precision="fp8" if fp8 else "bf16", attention="flash1-triton", norm="unfused", stack="fsdp-f32-reduce")
    return Row(LLM_FOUNDRY_FP8 if fp8 else LLM_FOUNDRY, f"mpt-h100-{cells['model']}-{seq_len}-{devices}-{index:03d}", inputs, "ok",
               global_batch * seq_len / number(cells["tokens_per_s"]), group=f"{cells['model']}-{seq_len}-{global_batch}-{devices}",
               model_name=cells["model"], source=f"benchmarking README, H100, row {index + 1}",
               tags=dict(checkpointing=cells["checkpointing"]))


def nvidia_stack(table, model, fsdp, vp, pp, notes):
    """NeMo as in the dgxc tables, Megatron-Bridge as in its Blackwell tables."""
    if table == AUTOMODEL:
        return "automodel-pipeline" if pp > 1 else "automodel"
    if fsdp:
        return "nemo-fsdp+te-loss"
    dropped = notes == "token-drop"
    name = ("nemo-capacity" if dropped else "nemo-performance") + ("+te-loss" if table == BRIDGE else "")
    return waits(name + ("" if dropped else hopper_options(model)), pp, vp)


def convert_nvidia(index, cells, shapes):
    source, model, notes = cells["source"], cells["model"], cells["notes"]
    table = NEMO if source.startswith("NeMo") else BRIDGE if source.startswith("Megatron") else AUTOMODEL
    devices, global_batch, seq_len, fsdp = (integer(cells[name]) for name in ("gpus", "global_batch", "seq_len", "fsdp"))
    tp, pp, cp, vp, ep = degrees(cells, "tp", "pp", "cp", "vp", "ep")
    inputs = MODELS[model](shapes)
    inputs.update(
        seq_len=seq_len, global_batch=global_batch, micro_batch=integer(cells["micro_batch"]), cluster=f"dgx-h100:{-(-devices // 8)}",
        devices=devices, tp=tp, pp=pp, vp=vp, cp=cp, dp=devices // (tp * pp * cp), ep=ep if ep > 1 else None,
        etp=1 if ep > 1 else None, sp=int(tp > 1), zero=3 if fsdp else 1, shard_group=fsdp or None,
        schedule="interleaved" if vp > 1 else "1f1b", recompute="full" if table == AUTOMODEL and not model.startswith("GPT OSS") else "none",
        precision=cells["precision"], attention="cudnn", norm="fused",
        stack=nvidia_stack(table, model, fsdp, vp, pp, notes))
    tokens = number(cells["tokens_per_s_per_gpu"])
    step_time = number(notes[5:-2]) if notes.startswith("step ") else time_from_tokens(global_batch, seq_len, tokens, devices)
    release = source.split()[-1]
    return Row(table, f"{table}-{release}-{model.replace(' ', '-')}-{devices}-{index:03d}", inputs, "ok", step_time,
               group=f"{model}-{devices}-{release}-{global_batch}", excluded=AUTOMODEL_GATE if table == AUTOMODEL else "",
               model_name=model, source=f"{source}, row {index + 1}", tags=dict(release=release, phase="sft" if notes == "SFT" else "pretrain"))


TITAN = {"8B": "Llama 3/3.1 8B", "70B": "Llama 3/3.1 70B", "405B": "Llama 3.1 405B", "L2-13B": "Llama 2 13B", "L2-70B": "Llama 2 70B"}


def convert_torchtitan(index, cells, shapes):
    """FSDP2 with bf16 parameters and f32 reduction. A pipeline splits the local batch into as many micro-batches as stages (the
    default of that release). H100-96: HBM2e at 2.4 TB/s, 500 W. The A100 runs name no network: 1600 Gb/s assumed."""
    devices, tp, pp, cp = (integer(cells[name]) for name in ("gpus", "tp", "pp", "cp"))
    global_batch, seq_len, fsdp, recompute = integer(cells["global_batch"]), integer(cells["seq_len"]), integer(cells["fsdp"]), \
        cells["recompute"]
    dp = devices // (tp * pp * cp)
    excluded = ""
    if recompute == "op":
        excluded = "recomputes every second matmul of a layer, which no column states"
    elif not cells["vp"]:
        excluded = "virtual stages not stated"
    cluster = {"H100-96": cluster_file("grand-teton-h100"), "H200": f"dgx-h200:{devices // 8}", "A100": f"a100-roce:{devices // 8}"}
    inputs = shapes.llama(TITAN[cells["model"]])
    inputs.update(
        seq_len=seq_len, global_batch=global_batch, micro_batch=integer(cells["micro_batch"]) or global_batch // dp // pp,
        cluster=cluster[cells["gpu"]], devices=devices, tp=tp, pp=pp, vp=1, cp=cp, dp=dp, sp=int(tp > 1), zero=3,
        shard_group=fsdp * cp, schedule="1f1b", recompute="none" if excluded else {"layer": "full"}.get(recompute, recompute),
        recomputed_layers=inputs["layers"] // 2 if recompute == "layer" else None, precision=cells["precision"],
        attention="flash2", norm="fused" if cells["compile"] == "1" else "unfused",
        stack=("fsdp-f32-reduce" if cells["compile"] != "1" else "torchtitan-pipeline" if pp > 1 else "torchtitan") +
        ("+async-tp" if cells["async_tp"] == "1" else ""))
    tokens = number(cells["tokens_per_s_per_gpu"])
    return Row(TORCHTITAN, f"titan-{cells['model']}-{cells['gpu']}-{devices}-{index:03d}", inputs, "ok",
               time_from_tokens(global_batch, seq_len, tokens, devices), number(cells["memory_GiB"]),
               "reserved" if cells["memory_GiB"] else "", f"{cells['model']}-{devices}-{seq_len}-{global_batch}", excluded,
               cells["model"], f"{cells['source']}, {cells['table']}")


def read_tables(folder, shapes, stacks):
    """Rows by table."""
    rows = {table: [] for table in TABLES}
    for row in convert(folder, shapes):
        row.inputs["stack"] = stacks.name(row.inputs["stack"])
        rows[row.table].append(row)
    return rows
