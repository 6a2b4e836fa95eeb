"""One measured training step: the input row of `ppc-plan --evaluate` and what was measured."""
import csv
import os
import re
from dataclasses import dataclass, field

# Input columns of `ppc-plan --evaluate` (docs/reference: the command line). An empty cell means its default.
COLUMNS = (
    "id model layers hidden heads kv_heads head_dim ffn gated vocab tied dropout experts top_k moe_ffn shared_experts "
    "seq_len global_batch micro_batch cluster devices tp pp vp dp cp ep etp sp zero shard_group "
    "schedule recompute recomputed_layers offload precision attention norm stack"
).split()

# Measurements, and the source of a row: the columns of `*.expected.csv`.
EXPECTED = "id table status step_time_s peak_memory_GiB memory_kind group excluded model_name source".split()


@dataclass
class Row:
    """`inputs` holds COLUMNS only; `tags` holds what rows can be broken down by besides (release, section, ...)."""

    table: str
    id: str
    inputs: dict
    status: str = "ok"  # "ok" ran, "oom" ran out of memory
    step_time_s: float = None  # None: not stated
    peak_memory_GiB: float = None
    # Kind of the source's figure: "device" (driver's view, with context), "reserved" or "allocated" (by PyTorch).
    memory_kind: str = ""
    group: str = ""  # rows of one group differ in layout only: their order is compared
    excluded: str = ""  # reason
    model_name: str = ""
    source: str = ""
    tags: dict = field(default_factory=dict)
    memory_rounding_GiB: float = 0.0  # how much less than the printed figure it may be that was measured

    def __post_init__(self):
        self.set_inputs(self.inputs)

    def set_inputs(self, inputs):
        unknown = set(inputs) - set(COLUMNS)
        if unknown:
            raise ValueError(f"{self.id}: unknown columns {sorted(unknown)}")
        self.inputs = {key: value for key, value in inputs.items() if value is not None and value != ""}
        self.inputs["id"] = self.id

    def value(self, column):
        """Group for --by: an input column, a tag, or one of ours."""
        if column in self.inputs:
            return self.inputs[column]
        if column in self.tags:
            return self.tags[column]
        return getattr(self, column, "") if column in ("table", "status", "model_name", "group", "source") else ""


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(text):
    """A float, or None for an empty cell or one that holds no number ('n/a')."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def integer(text):
    value = number(text)
    return None if value is None else int(value)


def note(pattern, text):
    """The first group of `pattern` in a notes cell, or ''."""
    match = re.search(pattern, text)
    return match.group(1) if match else ""


def cluster_file(name):
    """A machine without a preset: clusters/NAME.yaml next to this file."""
    return os.path.join(os.path.dirname(os.path.realpath(__file__)), "clusters", name + ".yaml")


def time_from_tokens(global_batch, seq_len, tokens_per_s_per_device, devices):
    return global_batch * seq_len / (tokens_per_s_per_device * devices)


def write_rows(folder, table, rows):
    """TABLE.csv with inputs of the rows that are not excluded, TABLE.expected.csv with what was measured of all."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, table + ".csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.inputs for row in rows if not row.excluded)
    with open(os.path.join(folder, table + ".expected.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(EXPECTED)
        for row in rows:
            cells = [getattr(row, name) for name in EXPECTED]
            writer.writerow(["" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells])
    return path
