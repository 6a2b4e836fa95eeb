"""All measured tables, in the order in which they are printed, with the bounds that the cost model has to keep."""
import os
from dataclasses import dataclass

from . import aleph_alpha, bloom, bridge, fsdp, heldout, megatron, nemo
from .shapes import ShapeTable
from .stacks import StackTable


@dataclass(frozen=True)
class Target:
    """Bounds as fractions; None: none stated."""

    mean_error: float = None
    regret: float = 0.01
    fit: float = None  # least share of right answers to "does it fit"
    spearman: float = 0.95
    memory_mean_error: float = 0.04
    memory_underpredicted: float = 0.01  # share of rows


UNBOUNDED = Target(regret=None, spearman=None, memory_mean_error=None, memory_underpredicted=None)


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
MEMORY_UNDERPREDICTED = 0.02  # by more than this

CONVERTERS = (aleph_alpha, bloom, megatron, fsdp, nemo, bridge)


def read_tables(measured, folder, held_out=None):
    """Rows by table, with those of the folder `held_out` only where it is given. `folder` receives the config.json and stack files
    that some rows name."""
    shapes = ShapeTable(measured, os.path.join(folder, "models"))
    stacks = StackTable(os.path.join(folder, "stacks"))
    if held_out:
        return heldout.read_tables(held_out, shapes, stacks)
    rows = {table: [] for table in TABLES}
    for converter in CONVERTERS:
        for row in converter.convert(measured, shapes):
            row.tags.setdefault("software", row.inputs.get("stack", ""))
            if "stack" in row.inputs:
                row.inputs["stack"] = stacks.name(row.inputs["stack"])
            rows[row.table].append(row)
    return rows
