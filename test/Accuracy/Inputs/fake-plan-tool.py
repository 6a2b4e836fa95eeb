#!/usr/bin/env python3
"""Stands in for `ppc-plan --evaluate ROWS -o OUT`: predictions that the test can foresee. 2 s times the micro-batch and
the number of stages, 40 GiB; refuses FSDP; says that micro-batch 4 does not fit."""
import csv
import sys

with open(sys.argv[2], newline="") as rows, open(sys.argv[4], "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["id", "fits", "step_time_s", "peak_memory_GiB", "error"])
    for row in csv.DictReader(rows):
        if row["zero"] == "3":
            writer.writerow([row["id"], "", "", "", "no FSDP here"])
        else:
            micro_batch = int(row["micro_batch"])
            writer.writerow([row["id"], int(micro_batch != 4), 2 * micro_batch * int(row["pp"] or 1), 40, ""])
