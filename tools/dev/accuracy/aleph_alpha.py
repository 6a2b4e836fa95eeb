"""Efficient Parallelization Layouts (arXiv 2311.05610): LLaMA 13B/30B/65B on DGX A100, every layout tried."""
import glob
import os

from .row import Row, cluster_file, integer, number, read_csv

TABLE = "aleph-alpha"

# (attention, norm) by the sheets' `kernel`. "torch" multiplies, masks and normalizes in separate kernels; "fused" is
# Megatron-LM's masked softmax kernel (arXiv 2311.05610, section 3). Flash 1.0.8 is the first FlashAttention.
KERNELS = {
    "torch": ("unfused", "unfused"),
    "fused": ("fused-softmax", "unfused"),
    "flash_attentionv1.0.8": ("flash1", "unfused"),
    "flash_attention2": ("flash2", "unfused"),
    "flash_attention2 + RMS kernel": ("flash2", "fused"),
}
RECOMPUTE = {"disabled": "none", "every_layer": "full"}
MODELS = {"13B": "Aleph Alpha LLaMA 13B", "30B": "Aleph Alpha LLaMA 30B", "65B": "Aleph Alpha LLaMA 65B"}


def convert(measured, shapes):
    rows = []
    for path in sorted(glob.glob(os.path.join(measured, "aleph_alpha", "*.csv"))):
        sheet = os.path.splitext(os.path.basename(path))[0]
        for index, cells in enumerate(read_csv(path)):
            rows.append(convert_row(sheet, index, cells, shapes))
    return rows


def defect(cells):
    """FlashAttention-2 on the 13B sheet with two stages: its rows are slower than FlashAttention-1's of the same layout, by 4 % at
    micro-batch 1 and by 63 % at 8: the loss grows with the square of the micro-batch, as if sequences of a micro-batch attended to
    each other after the stage boundary. One stage, and the 65B sheet, do not show it."""
    if cells["status"] == "ok" and (cells["model"], cells["seq_len"], cells["pp"]) == ("13B", "2048", "2") and \
            cells["kernel"].startswith("flash_attention2"):
        return "FlashAttention-2 with two stages loses the square of the micro-batch on this sheet, compared with FlashAttention-1"
    return ""


def machine(devices):
    """The tables are of up to 16 nodes, the paper's larger ones of 32: those carry a cost of their own (the cluster file)."""
    return f"dgx-a100:{devices // 8}" if devices <= 128 else cluster_file("dgx-a100-many-nodes")


def convert_row(sheet, index, cells, shapes):
    attention, norm = KERNELS[cells["kernel"]]
    inputs = shapes.llama(MODELS[cells["model"]])
    devices = integer(cells["world_size"])
    inputs.update(
        seq_len=integer(cells["seq_len"]), global_batch=integer(cells["global_batch"]),
        micro_batch=integer(cells["micro_batch"]), cluster=machine(devices), devices=devices,
        tp=integer(cells["tp"]), pp=integer(cells["pp"]), dp=integer(cells["dp"]),
        sp=1 if cells["sequence_parallel"] == "1" else 0, zero=1, schedule="1f1b",
        recompute=RECOMPUTE[cells["activation_checkpointing"]], precision="bf16", attention=attention, norm=norm,
        stack="aleph-scaling")
    status = {"ok": "ok", "OOM": "oom"}.get(cells["status"], "")
    # The step times of a sheet hold outliers (stragglers in the average); the sheet's MFU is of the median step.
    step_time = number(cells["step_time_from_mfu_s"]) or number(cells["step_time_s"])
    return Row(TABLE, f"aa-{sheet.split('_')[0]}-{cells['model']}-{cells['seq_len']}-{index:03d}", inputs, status or "ok",
               step_time, group=sheet, model_name=cells["model"], source=f"{sheet}, trial {cells['trial_id']}",
               excluded=defect(cells) if status else f"the run ended with another error ({cells['status']})",
               tags=dict(sheet=sheet, kernel=cells["kernel"]))
