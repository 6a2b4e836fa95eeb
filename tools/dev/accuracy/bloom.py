"""BLOOM's search for a layout on Jean Zay (bigscience tr11-176B chronicles-prequel.md): 8 to 384 A100-80GB."""
import os

from .row import Row, integer, note, number, read_csv
from .shapes import gpt

TABLE = "bloom"
SEQ_LEN = 2048
VOCAB = 250680


def old_flops_per_token(layers, hidden):
    """Hardware FLOPs (forward, recomputed forward, backward) as the log counted them up to 02-20: 96 L h^2, neither
    attention nor head. Rows of known depth confirm it to 0.05 %."""
    return 96 * layers * hidden**2


def new_flops_per_token(layers, hidden, seq_len=SEQ_LEN, vocab=VOCAB):
    """The same after the fix of 02-21 (the formula of arXiv 2104.04473)."""
    return 96 * layers * hidden**2 * (1 + seq_len / (6 * hidden) + vocab / (16 * layers * hidden))


def layers_from_tflops(tflops, step_time, devices, global_batch, hidden):
    """Depth of rows that print a size only ("194B"; the log says depth was changed to divide by PP): the printed
    TFLOPs and time of one row give it exactly, by the formula of that date."""
    return tflops * 1e12 * step_time * devices / (global_batch * SEQ_LEN * 96 * hidden**2)


def memory(notes):
    """The log's 'GB' are nvidia-smi's MiB with the last three digits dropped: it prints up to 80, which MiB / 1024
    cannot reach on this device (81,251 MiB can be allocated)."""
    if "L634;" in notes:  # 65 GB with micro-batch 2, 56 GB with 4, everything else equal: a misprint
        return None
    value = note(r"peak mem \(first/last node\) (\d+)GB", notes)
    return int(value) * 1000 / 1024 if value else None


def heads(cells):
    """Given for most rows. The 14400-wide model was defined once, with 96 heads ("Best TFLOPs"); "all NHEADS=64 (above
    too)" of 02-23 covers the 13824-wide one."""
    return integer(cells["heads"]) or {14400: 96, 13824: 64}[integer(cells["hidden"])]


def convert(measured, _shapes):
    table = read_csv(os.path.join(measured, "throughput", "bloom_prequel_a100.csv"))
    return [convert_row(index, cells) for index, cells in enumerate(table)]


def convert_row(index, cells):
    notes = cells["notes"]
    hidden, devices = integer(cells["hidden"]), integer(cells["num_gpus"])
    global_batch, tflops = integer(cells["global_batch"]), number(cells["measured_tflops_per_gpu"])
    step_time, layers = number(cells["measured_step_time_s"]), integer(cells["layers"])
    if not layers:
        layers = round(layers_from_tflops(tflops, step_time, devices, global_batch, hidden))
    if not step_time and tflops:  # the section on hanging prints TFLOPs only, by the old formula
        step_time = old_flops_per_token(layers, hidden) * global_batch * SEQ_LEN / (tflops * 1e12 * devices)
    section = note(r"section '([^']*)'", notes) or note(r"L\d+; ([^;]*);", notes)
    rebalanced = section == "Rebalancing layers"
    # 02-27 on for the 106-layer model, 02-28 on for all: `type:transformer|embedding` gives embedding and head a slot
    # each; the BF16 optimizer of 02-28 accumulates gradients in f32.
    stack = "megatron-deepspeed-bf16" if rebalanced else "megatron-deepspeed-fp16"
    if layers == 106 and not rebalanced:
        stack = "megatron-deepspeed-embedding"
    fixed = "After cluster PCIe/NUMA fix" in notes
    inputs = gpt(layers, hidden, heads(cells), VOCAB)
    precision = "bf16" if cells["precision"].startswith("bf16") else cells["precision"]
    inputs.update(
        seq_len=SEQ_LEN, global_batch=global_batch, micro_batch=integer(cells["micro_batch"]),
        cluster=f"jean-zay-a100:{devices // 8}", devices=devices, tp=integer(cells["tp"]), pp=integer(cells["pp"]),
        dp=integer(cells["dp"]), sp=0, zero=integer(cells["zero_stage_or_fsdp"][-1]), schedule="1f1b", recompute="full",
        precision=precision, attention="fused-softmax", norm="fused", stack=stack)
    status = "oom" if "OOM." in notes else "ok"
    excluded = ""
    if status == "ok" and not step_time:
        excluded = "no time, no memory, no error printed"
    elif inputs["dp"] * inputs["tp"] * inputs["pp"] != devices:
        excluded = "tp x pp x dp is not the number of devices"
    line = note(r"(L\d+)", notes)
    group = "-".join(str(part) for part in (f"L{layers}", f"h{hidden}", f"a{heads(cells)}", f"gbs{global_batch}", devices, precision,
                                            "rebalanced" if rebalanced else "fixed" if fixed else "before-fix"))
    return Row(TABLE, f"bloom-{line}-{index:03d}", inputs, status, step_time, memory(notes), "device", group, excluded,
               cells["params"], f"chronicles-prequel.md {line}, {section}",
               dict(section=section, era="fixed" if fixed else "before-fix",
                    launches="blocking" if "CUDA_LAUNCH_BLOCKING=1" in notes else ""))
