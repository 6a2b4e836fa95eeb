"""BLOOM's search for a layout on Jean Zay (bigscience tr11-176B chronicles-prequel.md): 8 to 384 A100-80GB."""
import itertools
import os

from .row import Row, integer, note, number, read_csv

TABLE = "bloom"
SEQ_LEN = 2048
VOCAB = 250680


def old_flops_per_token(layers, hidden):
    """Hardware FLOPs (forward, recomputed forward, backward) as the log counted them up to 02-20: 96 L h^2, neither
    attention nor head. Rows of known depth confirm it to 0.05 %."""
    return 96 * layers * hidden**2


def new_flops_per_token(layers, hidden, seq_len=SEQ_LEN, vocab=VOCAB):
    """Figure after the fix of 02-21 (the formula of arXiv 2104.04473)."""
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


def convert(measured, shapes):
    table = read_csv(os.path.join(measured, "throughput", "bloom_prequel_a100.csv"))
    rows = [convert_row(index, cells, shapes) for index, cells in enumerate(table)]
    exclude_impossible(rows)
    return rows


PEAK = 312e12


def exclude_impossible(rows):
    """Two runs that differ in the global batch only give the time of the additional sequences. If that is less than the device's peak
    allows, one of them is wrong: the one that no other run confirms, if the other was run twice with times within 1 %."""
    layouts = {}
    for row in rows:
        if row.step_time_s and not row.excluded:
            key = {name: value for name, value in row.inputs.items() if name not in ("id", "global_batch")}
            era = row.tags["era"]
            layouts.setdefault((era, *sorted(key.items())), {}).setdefault(row.inputs["global_batch"], []).append(row)
    for batches in layouts.values():
        for (less, few), (more, many) in itertools.combinations(sorted(batches.items()), 2):
            inputs = few[0].inputs
            flops = new_flops_per_token(few[0].tags["layers"], few[0].tags["hidden"]) * (more - less) * SEQ_LEN / inputs["devices"]
            times = [[row.step_time_s for row in runs] for runs in (few, many)]
            longer = sum(times[1]) / len(many) - sum(times[0]) / len(few)
            if longer >= flops / PEAK:
                continue
            sure = [len(runs) > 1 and max(runs) < 1.01 * min(runs) for runs in times]
            if sure[0] != sure[1]:
                for row in many if sure[0] else few:
                    row.excluded = f"next to two equal runs with {less if sure[0] else more} sequences: {more - less} sequences more in {longer:.1f} s, " \
                        f"{flops / PEAK / max(longer, 1e-9):.0f} times the peak's FLOP/s"


def bloom(shapes, layers, hidden, heads):
    """Positions as biases of the scores, a norm after the embedding, dropout 0.1 (no argument says otherwise): tr11-176B-ml.slurm."""
    return shapes.config(f"bloom-{layers}x{hidden}-{heads}", dict(
        architectures=["BloomForCausalLM"], model_type="bloom", n_layer=layers, hidden_size=hidden, n_head=heads, vocab_size=VOCAB,
        hidden_dropout=0.1, attention_dropout=0.1))


def convert_row(index, cells, shapes):
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
    # 02-27 on for the 106-layer model, 02-28 on for all: `type:transformer|embedding` gives embedding and LM head a slot each; the BF16
    # optimizer of 02-28 accumulates gradients in f32.
    stack = "megatron-deepspeed-bf16" if rebalanced else "megatron-deepspeed-16-bits"
    if cells["zero_stage_or_fsdp"].endswith("0"):
        stack = "megatron-deepspeed-unsharded"
    if layers == 106 and not rebalanced:
        stack = "megatron-deepspeed-embedding"
    # 02-17, and where the log compares: kernels were launched ahead.
    if section in ("fp16", "bf16") or "CUDA_LAUNCH_BLOCKING=0" in notes:
        stack += "+launching-ahead"
    fixed = "After cluster PCIe/NUMA fix" in notes
    inputs = bloom(shapes, layers, hidden, heads(cells))
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
                                            "rebalanced" if rebalanced else "fixed" if fixed else "before-fix") +
                     (("launching-ahead",) if "+" in stack else ()))
    return Row(TABLE, f"bloom-{line}-{index:03d}", inputs, status, step_time, memory(notes), "device", group, excluded,
               cells["params"], f"chronicles-prequel.md {line}, {section}",
               dict(section=section, era="fixed" if fixed else "before-fix",
                    launches="blocking" if "CUDA_LAUNCH_BLOCKING=1" in notes else "", layers=layers, hidden=hidden))
