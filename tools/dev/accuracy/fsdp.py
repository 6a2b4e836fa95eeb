"""PyTorch FSDP runs: MosaicML llm-foundry, fms-fsdp, KempnerForge."""
import os

from .row import Row, cluster_file, integer, note, number, read_csv, time_from_tokens
from .shapes import llama

LLM_FOUNDRY = "llm-foundry"
FMS_FSDP = "fms-fsdp"
KEMPNER = "kempnerforge"


def convert(measured, shapes):
    def rows(name, function):
        table = read_csv(os.path.join(measured, "throughput", name + ".csv"))
        return [function(index, cells, shapes) for index, cells in enumerate(table)]

    return (rows("mosaicml_llm_foundry_a100", convert_llm_foundry) + rows("fms_fsdp_llama2", convert_fms) +
            rows("kempnerforge_h200", convert_kempner))


def convert_llm_foundry(index, cells, _shapes):
    """MPT: GELU without bias terms, LayerNorm, learned positions, tied embeddings. FlashAttention's first release by the
    triton port. Nodes with 1,600 Gb/s of RoCE are DGX A100's 8 x 200. Composer's mp_mode DEFAULT gathers parameters in
    bf16 and reduces gradients in f32, PURE does both in bf16 (composer/trainer/mosaic_fsdp_utils.py). The total of the
    notes has more digits than the cell per device."""
    devices, notes = integer(cells["num_gpus"]), cells["notes"]
    memory = integer(cells["gpu_mem_GB"])
    preset = "dgx-h100" if cells["gpu"] == "H100" else "a100-roce" if memory == 80 else "dgx-a100-40"
    mode = note(r"mp_mode=(\w+)", cells["zero_stage_or_fsdp"])
    global_batch, seq_len = integer(cells["global_batch"]), integer(cells["seq_len"])
    inputs = dict(layers=integer(cells["layers"]), hidden=integer(cells["hidden"]), heads=integer(cells["heads"]),
                  kv_heads=integer(cells["kv_heads"]), ffn=integer(cells["ffn"]), gated=0, vocab=integer(cells["vocab"]),
                  tied=1)
    inputs.update(
        seq_len=seq_len, global_batch=global_batch, micro_batch=integer(cells["micro_batch"]),
        cluster=f"{preset}:{devices // 8}", devices=devices, tp=1, pp=1, dp=devices, sp=0, zero=3,
        recompute=cells["recompute"], precision="fp8" if "fp8" in cells["precision"] else "bf16", attention="flash1-triton", norm="unfused",
        stack="fsdp" if mode == "PURE" else "fsdp-f32-reduce")
    total = number(note(r"total (\d+) tok/s", notes)) or number(cells["measured_tokens_per_s_per_gpu"]) * devices
    step_time = time_from_tokens(global_batch, seq_len, total / devices, devices)
    name = cells["model"]
    return Row(LLM_FOUNDRY, f"mpt-{name[4:]}-{memory}GB-{seq_len}-{devices}-{index:03d}", inputs, "ok", step_time,
               group=f"{name}-{seq_len}-{global_batch}-{memory}GB-{devices}", model_name=name,
               source=f"benchmarking README, row {index + 1}", tags=dict(mode=mode, memory=memory))


LLAMA_2 = {
    "7b": ("Llama 2 7B", None),
    "13b": ("Llama 2 13B", None),
    "34b": (None, (48, 8192, 64, 8, 22016, 32000)),  # Code Llama 34B
    "70b": ("Llama 2 70B", None),
}


def convert_fms(index, cells, shapes):
    """FSDP1 with torch.compile and SDPA's FlashAttention-2. "selective" recomputes a share of the layers that the table
    does not print; HFU / MFU says it: 1 + share / 3."""
    devices = integer(cells["num_gpus"])
    size = cells["model"].split()[-1]
    known, sizes = LLAMA_2[size]
    inputs = shapes.llama(known) if known else llama(*sizes)
    global_batch, seq_len = integer(cells["global_batch"]), integer(cells["seq_len"])
    share = 3 * (number(note(r"HFU=([\d.]+)", cells["notes"])) / number(cells["measured_mfu_pct"]) - 1)
    recompute = "none" if share < 0.05 else "full" if share > 0.95 else ""
    hybrid = cells["zero_stage_or_fsdp"] == "HSDP"
    speed = note(r"(\d+) Gb/s", cells["inter_bw"])
    inputs.update(
        seq_len=seq_len, global_batch=global_batch, micro_batch=integer(cells["micro_batch"]),
        cluster=cluster_file(f"{cells['gpu'].lower()}-{speed}gbps-node"), devices=devices, tp=1, pp=1, dp=devices, sp=0,
        zero=3, shard_group=8 if hybrid else devices, recompute=recompute, precision="bf16", attention="flash2",
        norm="fused", stack="fsdp-compiled")
    step_time = time_from_tokens(global_batch, seq_len, number(cells["measured_tokens_per_s_per_gpu"]), devices)
    excluded = "" if recompute else "recomputes some layers; which is not stated"
    return Row(FMS_FSDP, f"fms-{size}-{cells['gpu']}", inputs, "ok", step_time, group=f"{size}-{cells['gpu']}",
               excluded=excluded, model_name=size, source=f"README, row {index + 1}")


def convert_kempner(index, cells, shapes):
    """FSDP2, tensor parallelism with sequence parallelism and torch.compile on nodes of four H200. Memory is PyTorch's peak
    of allocated bytes over 2^30 (kempnerforge/metrics/memory.py). The inner widths that the table leaves out
    follow from its parameter counts (8.03B, 14.84B). The report's micro-batch is one for all runs of a size; the script that it
    was made by gives experiments 1 and 2 half of it and twice the accumulation (benchmarks/mfu_scaling/mfu_bench.sh)."""
    devices, notes = integer(cells["num_gpus"]), cells["notes"]
    size = cells["model"].split()[-1]
    inputs = llama(integer(cells["layers"]), integer(cells["hidden"]), integer(cells["heads"]),
                   integer(cells["kv_heads"]), {"7B": 14336, "13B": 17920, "70B": 28672}[size], integer(cells["vocab"]))
    dp = integer(cells["dp"])
    experiment = note(r"(exp \d+)", notes[notes.index(". exp"):])
    inputs.update(
        seq_len=integer(cells["seq_len"]), global_batch=integer(cells["global_batch"]),
        micro_batch=2 if experiment in ("exp 1", "exp 2") else integer(cells["micro_batch"]), cluster=cluster_file("h200-4gpu-node"), devices=devices,
        tp=integer(cells["tp"]), pp=1, dp=dp, sp=int(cells["tp"] != "1"), zero=3 if dp > 1 else 0, shard_group=dp if dp > 1 else None,
        recompute=cells["recompute"], precision="bf16", attention="flash2",
        norm="fused", stack="kempnerforge" if dp > 1 else "kempnerforge-unsharded")
    return Row(KEMPNER, f"kempner-{size}-{devices}-{index:03d}", inputs, "ok", number(cells["measured_step_time_s"]),
               number(note(r"mem/GPU ([\d.]+) GB", notes)), "allocated",
               f"{size}-{devices}-gbs{cells['global_batch']}", "", size, experiment)
