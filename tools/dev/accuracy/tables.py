"""All measured tables, in the order in which they are printed, with the bounds that the cost model has to keep."""
import os
from dataclasses import dataclass

from . import aleph_alpha, bloom, bridge, fsdp, megatron, nemo
from .shapes import ShapeTable
from .stacks import StackTable


@dataclass(frozen=True)
class Target:
    """Bounds as fractions; None: none stated."""

    mean_error: float = None
    regret: float = 0.01
    fit: float = None  # least share of right answers to "does it fit"


TABLES = {
    aleph_alpha.TABLE: Target(0.05, 0, 0.97),
    bloom.TABLE: Target(0.08, fit=0.97),
    megatron.ZERO_BUBBLE: Target(0.08),
    megatron.KORTHIKANTI: Target(0.08),
    fsdp.LLM_FOUNDRY: Target(0.08),
    nemo.DENSE_BF16: Target(0.08),
    nemo.DENSE_FP8: Target(),
    nemo.EXPERTS: Target(0.12),
    bridge.FOLDING: Target(0.12),
    nemo.BLACKWELL: Target(0.12),
    bridge.BRIDGE: Target(0.12),
    fsdp.FMS_FSDP: Target(),
    fsdp.KEMPNER: Target(),
    megatron.NEMO_LAUNCHER: Target(),
}
P90_OVER_MEAN = 2.5
SPEARMAN = 0.95
MEMORY_MEAN_ERROR = 0.04
MEMORY_UNDERPREDICTED = (0.02, 0.01)  # by more than this; at most this share of rows

CONVERTERS = (aleph_alpha, bloom, megatron, fsdp, nemo, bridge)


def read_tables(measured, folder):
    """Rows by table. `folder` receives the config.json and stack files that some rows name."""
    shapes = ShapeTable(measured, os.path.join(folder, "models"))
    stacks = StackTable(os.path.join(folder, "stacks"))
    rows = {table: [] for table in TABLES}
    for converter in CONVERTERS:
        for row in converter.convert(measured, shapes):
            row.tags.setdefault("software", row.inputs.get("stack", ""))
            if "stack" in row.inputs:
                row.inputs["stack"] = stacks.name(row.inputs["stack"])
            rows[row.table].append(row)
    return rows
