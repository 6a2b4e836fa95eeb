"""Further sources as rows for `ppc-plan --evaluate`: NAME.rows.csv goes in, NAME.truth.csv has the measurements. Cluster and stack
files that rows name are next to them."""
import os

from .row import COLUMNS, Row, integer, number, read_csv

INTERNEVO = "internevo"
INTERNEVO_MEMORY = "internevo-memory"
PADDLE = "flagperf-paddle"
MEGATRON_2023 = "flagperf-megatron2023"
VTRAIN = "vtrain-one-node-steps"
TABLES = (INTERNEVO, INTERNEVO_MEMORY, PADDLE, MEGATRON_2023, VTRAIN)
GPT2_VOCABULARY = 50257
FILES = {VTRAIN: "vtrain_one_node"}  # others are called as their table

# Sources whose figure is the driver's, in GB of 2^30 bytes; the others say "GB" and not of what.
DEVICE_MEMORY = ("used", "GB used")


def local_file(folder, text):
    """A file next to the rows, perhaps with `:DEVICES` after it; names of presets stay."""
    path, _, devices = text.partition(":")
    return os.path.join(folder, text) if path.endswith(".yaml") else text


def correct(table, inputs):
    """Facts from code that differ from the rows (docs/performance/sources.md)."""
    tp = integer(inputs.get("tp")) or 1
    if table == VTRAIN:  # `vocab_size // world_size` rows a rank, unpadded (its src/model/gpt_modeling.py)
        inputs["vocab"] = GPT2_VOCABULARY // tp * tp
        inputs["stack"] = "vtrain"
    elif table in (INTERNEVO, INTERNEVO_MEMORY):  # the shipped stack, with the code's own stage partition
        inputs["stack"] = "internevo"
    elif table == MEGATRON_2023:  # FlagScale's RMSNorm is a kernel of Apex
        inputs["norm"] = "fused"


def convert(measured, shapes):
    folder = os.path.join(measured, "steps")
    rows = []
    if not os.path.isdir(folder):
        return rows
    for table in TABLES:
        name = FILES.get(table, table.replace("-", "_"))
        path = os.path.join(folder, name + ".rows.csv")
        if not os.path.exists(path):
            continue
        truths = {cells["id"]: cells for cells in read_csv(os.path.join(folder, name + ".truth.csv"))}
        for cells in read_csv(path):
            truth = truths[cells["id"]]
            inputs = {key: cells[key] for key in COLUMNS if cells.get(key) and key != "id"}
            for key in ("cluster", "stack"):
                inputs[key] = local_file(folder, inputs[key])
            correct(table, inputs)
            kind = truth.get("memory_kind") or ""
            ran = truth.get("fits") != "0"
            row = Row(table, f"{table}-{cells['id']}", inputs, "ok" if ran else "oom", number(truth.get("step_time_s")),
                      number(truth.get("memory_GiB")), "device" if kind in DEVICE_MEMORY else kind, truth["group"],
                      model_name=truth["group"].split(" ")[0], source=f"{name}, row {cells['id']}")
            row.tags["software"] = os.path.basename(inputs["stack"]).replace(".yaml", "")
            row.tags["width"] = integer(cells["hidden"])
            rows.append(row)
    return rows
