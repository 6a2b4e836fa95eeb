"""Runs `ppc-plan --evaluate` on rows and reads what it predicts."""
import os
import subprocess

from .row import number, read_csv, write_rows
from .score import Prediction


def run(tool, folder, rows, simulate=False):
    """All rows in one call, replayed as well with `simulate`. Raises RuntimeError with the tool's message when it fails as a whole."""
    source = write_rows(folder, "all", rows)
    target = os.path.join(folder, "predicted.csv")
    command = [tool, "--evaluate", source, "-o", target] + (["--simulate"] if simulate else [])
    process = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if process.returncode != 0:
        raise RuntimeError(f"{tool} --evaluate {source}: exit status {process.returncode}: {process.stderr.strip()}")
    return read(target)


def read(path):
    """Predictions by row id."""
    predictions = {}
    for cells in read_csv(path):
        fits = number(cells.get("fits"))
        predictions[cells["id"]] = Prediction(
            number(cells.get("step_time_s")), None if fits is None else fits > 0.5, number(cells.get("peak_memory_GiB")),
            (cells.get("error") or "").strip(), cells, number(cells.get("simulated_s")))
    return predictions
