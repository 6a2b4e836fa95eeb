"""Megatron-LM runs: Korthikanti et al. (arXiv 2205.05198), Zero Bubble (arXiv 2401.10241), NeMo-Megatron-Launcher."""
import os

from .row import Row, integer, note, number, read_csv

KORTHIKANTI = "korthikanti"
ZERO_BUBBLE = "zero-bubble"
NEMO_LAUNCHER = "nemo-launcher"
DROPOUT = 0.1  # dropout of activations and of attention weights: Megatron-LM's default, which neither paper changes


def convert(measured, shapes):
    folder = os.path.join(measured, "throughput")
    rows = [convert_korthikanti(index, cells, shapes) for index, cells in
            enumerate(read_csv(os.path.join(folder, "korthikanti_table5.csv")))]
    rows += [convert_zero_bubble(index, cells, shapes) for index, cells in
             enumerate(read_csv(os.path.join(folder, "zero_bubble.csv")))]
    rows += [convert_nemo_launcher(index, cells) for index, cells in
             enumerate(read_csv(os.path.join(folder, "nemo_launcher_a100.csv")))]
    return rows


def convert_korthikanti(index, cells, shapes):
    """Table 5. Selene: DGX A100 with eight HDR adapters. Full recompute is the baseline without sequence parallelism; "present work"
    recomputes attention scores only and has it. Megatron-LM of 2022: fused softmax, fused LayerNorm, dropout 0.1, optimizer not
    sharded, gradient all-reduce after the backward pass (as the 2,240-device row states)."""
    selective = cells["recompute"].startswith("selective")
    devices, vp = integer(cells["num_gpus"]), integer(cells["vp"])
    inputs = shapes.gpt2(*(integer(cells[key]) for key in ("layers", "hidden", "heads", "vocab", "seq_len")), DROPOUT)
    inputs.update(
        seq_len=integer(cells["seq_len"]), global_batch=integer(cells["global_batch"]),
        micro_batch=integer(cells["micro_batch"]), cluster=f"dgx-a100:{devices // 8}", devices=devices,
        tp=integer(cells["tp"]), pp=integer(cells["pp"]), vp=vp, dp=integer(cells["dp"]), sp=int(selective), zero=0,
        schedule="interleaved" if vp > 1 else "1f1b", recompute="selective" if selective else "full", precision="fp16",
        attention="fused-softmax", norm="fused", stack="megatron-2021")
    return Row(KORTHIKANTI, f"korthikanti-{cells['params']}-{devices}-{'selective' if selective else 'full'}", inputs, "ok",
               number(cells["measured_step_time_s"]), group=f"{cells['params']}-{devices}", model_name=cells["params"],
               source=f"Table 5, row {index + 1}")


# The paper gives no vocabulary; its sizes (1.5B, 6.2B, 14.6B, 28.3B) leave 27k to 35k for tied embeddings, and the
# published scripts use a SentencePiece model of 32,000.
ZERO_BUBBLE_VOCAB = 32000
SCHEDULES = {"1F1B": "1f1b", "1F1B-I": "interleaved", "ZB-1p": "zb1p", "ZB-2p": "zb2p"}


def convert_zero_bubble(index, cells, shapes):
    """Four nodes of eight A100-80GB over RoCE of unstated speed: only messages between stages cross it. The published
    scripts train in fp16 without FlashAttention flags in their first version; peak memory per further micro-batch
    (Table 4, ZB-2p less 1F1B) is s b h (34 + 5 a s / h) per layer: attention scores and dropout kept, nothing
    recomputed. First and last stage hold one layer less. Only the zero-bubble schedules update without waiting for all
    stages (post-validation); Table 10 has ZB-2p with the usual all-reduce."""
    notes = cells["notes"]
    schedule = note(r"schedule=([\w-]+)", notes)
    synchronous = schedule.startswith("1F1B") or "all-reduce" in notes
    stack = ("megatron-2023" if schedule.startswith("1F1B") else "zero-bubble-synchronous" if synchronous else "zero-bubble")
    devices, vp = integer(cells["num_gpus"]), integer(cells["vp"]) or 1
    inputs = shapes.gpt2(*(integer(cells[key]) for key in ("layers", "hidden", "heads")), ZERO_BUBBLE_VOCAB,
                         integer(cells["seq_len"]), DROPOUT)
    inputs.update(
        seq_len=integer(cells["seq_len"]), global_batch=integer(cells["global_batch"]),
        micro_batch=integer(cells["micro_batch"]), cluster=f"a100-roce-800:{devices // 8}", devices=devices, tp=1,
        pp=integer(cells["pp"]), vp=vp, dp=1, sp=0, zero=0, schedule=SCHEDULES[schedule], recompute="none",
        precision="fp16", attention="fused-softmax", norm="fused", stack=stack)
    peak = number(note(r"mem (\d+) GB", notes))
    peak = peak * 1e9 / 2**30 if peak else None  # GiB would hold more micro-batches than the schedules have in flight
    table = note(r"(Table \d+)", notes)
    group = f"{cells['params']}-mbs{cells['micro_batch']}-gbs{cells['global_batch']}"
    return Row(ZERO_BUBBLE, f"zb-{cells['params']}-{schedule}-{index:03d}", inputs, "ok",
               number(cells["measured_step_time_s"]), peak, "allocated" if peak else "", group, "", cells["params"],
               f"{table}, row {index + 1}", dict(paper_table=table, synchronous=int(synchronous)),
               memory_rounding_GiB=0.5e9 / 2**30)  # whole GB


def convert_nemo_launcher(index, cells):
    devices = integer(cells["num_gpus"])
    excluded = ("an encoder (BERT)" if cells["model"].startswith("BERT") else
                "micro-batch, degrees and recomputation are not in the source")
    return Row(NEMO_LAUNCHER, f"nemo-launcher-{cells['model'].replace(' ', '')}-{devices}-{index:03d}", {}, "ok",
               number(cells["measured_step_time_s"]), excluded=excluded, model_name=cells["model"],
               source=f"README, row {index + 1}")
