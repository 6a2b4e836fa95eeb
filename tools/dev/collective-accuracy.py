#!/usr/bin/env python3
"""Compares the times that the cost model gives to collectives and messages with measured ones, by machine and operation.

    tools/dev/collective-accuracy.py --measured DIR [--build build/dev] [--worst N]

DIR holds micro/*.csv. Needs the target ppc-collective-times. Prints, for messages from 1 MiB on and for smaller ones, how
many rows, mean and 90th percentile of |predicted - measured| / measured, and the mean signed error; then what was left
out and why.
"""
import argparse
import collections
import csv
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
CLUSTERS = os.path.join(ROOT, "tools/dev/accuracy/clusters")
XLA = {"sm_90": ("dgx-h100", 8), "sm_100_B200": ("dgx-b200", 8), "sm_100_GB200": ("gb200-nvl72", 72),
       "sm_103": ("gb300-nvl72", 72)}
NCCL = {  # system of nccl_collectives.csv -> cluster
    "1x 8-GPU A100 node": "dgx-a100", "8x A100 single node": "dgx-a100", "1x DGX H100": "dgx-h100",
    "1x 8-GPU H200 node (NVLS on)": "dgx-h200", "1x H200 node": "dgx-h200", "1x B200 node": "dgx-b200",
    "1x P6-B200 node": "dgx-b200", "2x p5.48xlarge": "p5:2", "2x a3-megagpu-8g": "a3-mega:2", "2x 8-GPU H200": "dgx-h200:2",
    "2x 8-GPU H200 (Dell)": os.path.join(CLUSTERS, "h200-roce-node.yaml"),
    "2x 8-GPU B200": os.path.join(CLUSTERS, "b200-roce-node.yaml"),
    "4x P6-B200 nodes": os.path.join(CLUSTERS, "p6-b200-node.yaml"),
}
OPS = {"all_reduce": "all-reduce", "all_gather": "all-gather", "reduce_scatter": "reduce-scatter",
       "all_to_all": "all-to-all", "alltoall": "all-to-all", "sendrecv": "message"}


class Row:
    """One measured collective: its input line for the cost model and its measured time, in seconds."""

    def __init__(self, machine, op, line, size, seconds):
        self.machine, self.op, self.line, self.bytes, self.seconds = machine, op, line, size, seconds
        self.predicted, self.algorithm = 0.0, ""

    def error(self):
        return self.predicted / self.seconds - 1


def read(measured, name):
    with open(os.path.join(measured, "micro", name), newline="") as file:
        return list(csv.DictReader(file))


def xla(measured, left_out):
    for row in read(measured, "collectives_xla_perf_table.csv"):
        cluster, most = XLA[row["device_key"]]
        size, seconds = int(row["tensor_bytes"]), float(row["time_us"]) * 1e-6
        if size < 16384:
            left_out["XLA table, below 16 KiB: the first sizes of a sweep hold its warm-up"] += 1
            continue
        if row["op"] == "collective-permute":
            pairs = int(row["n_source_target_pairs"])
            yield Row(f"{cluster} (XLA)", "message", f"message {cluster} {pairs} 1 1 {size}", size, seconds)
            continue
        group, groups = int(row["devices_per_group"]), int(row["num_groups_concurrent"])
        devices = group * groups
        line = f"{row['op']} {cluster} {devices if devices < most else 0} 1 {group} {size}"
        yield Row(f"{cluster} (XLA)", row["op"], line, size, seconds)


def nccl(measured, left_out):
    for row in read(measured, "nccl_collectives.csv"):
        cluster = NCCL.get(row["system"])
        if not row["time_us"]:
            left_out["nccl-tests: a peak without the size it was reached at"] += 1
            continue
        if not cluster:
            left_out[f"nccl-tests: {row['system'].split(' (')[0]}: the machine is not stated"] += 1
            continue
        size, seconds, ranks = int(row["size_bytes"]), float(row["time_us"]) * 1e-6, int(row["num_gpus"])
        if size < 1024:
            left_out["nccl-tests: below 1 KiB"] += 1
            continue
        if row["system"] == "4x P6-B200 nodes" and size < 262144:
            left_out["nccl-tests: four P6-B200 nodes below 256 KiB: 32 KiB take 17 times as long as 256 KiB"] += 1
            continue
        op = OPS[row["op"]]
        machine = os.path.splitext(os.path.basename(cluster))[0] + f" x{ranks} (nccl-tests)"
        if op == "message":
            yield Row(machine, op, f"message {cluster} 0 1 1 {size}", size, seconds)
            continue
        ring = " no-in-network" if "NVLS disabled" in row["notes"] or "NVLS off" in row["notes"] else ""
        yield Row(machine, op + (", ring only" if ring else ""), f"{op} {cluster} 0 1 {ranks} {size}{ring}", size, seconds)


def galvatron(measured, left_out):
    for row in read(measured, "galvatron_profiled_collectives.csv"):
        if not row["size_bytes"]:
            left_out["Galvatron: rates without a size, their convention is not documented"] += 1
            continue
        op, size = OPS[row["op"]], int(row["size_bytes"])
        yield Row(f"dgx-a100 x{row['group_size']} (Galvatron)", op, f"{op} dgx-a100 0 1 {row['group_size']} {size}", size,
                  float(row["time_us"]) * 1e-6)


def price(tool, rows):
    run = subprocess.run([tool], input="\n".join(row.line for row in rows), capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr.strip())
    for row, answer in zip(rows, run.stdout.splitlines()):
        seconds, row.algorithm = answer.split()
        row.predicted = float(seconds)


def summary(label, rows):
    errors = sorted(abs(row.error()) for row in rows)
    signed = sum(row.error() for row in rows) / len(errors)
    p90 = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
    return f"{label:62} {len(errors):5} {100 * sum(errors) / len(errors):6.1f}% {100 * p90:6.1f}% {100 * signed:+7.1f}%"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--measured", required=True, help="folder with micro/*.csv")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/dev"))
    parser.add_argument("--worst", type=int, default=0, help="number of the worst rows of each group to print")
    arguments = parser.parse_args()
    tool = os.path.join(arguments.build, "bin/ppc-collective-times")
    if not os.path.exists(tool):
        sys.exit(f"{tool}: not there; build the target ppc-collective-times")
    left_out = collections.Counter()
    rows = [row for source in (xla, nccl, galvatron) for row in source(arguments.measured, left_out)]
    left_out["DeepEP: kernels of its own, not a collective library's"] += len(read(arguments.measured, "deepep_all_to_all.csv"))
    price(tool, rows)
    for title, chosen in (("from 1 MiB", [row for row in rows if row.bytes >= 1 << 20]),
                          ("below 1 MiB", [row for row in rows if row.bytes < 1 << 20])):
        groups = collections.defaultdict(list)
        for row in chosen:
            groups[row.machine, row.op].append(row)
        print(f"{title:62} {'rows':>5} {'mean':>7} {'p90':>7} {'signed':>8}")
        for (machine, op), group in sorted(groups.items()):
            print(summary(f"{machine} {op}", group))
            for row in sorted(group, key=lambda row: -abs(row.error()))[: arguments.worst]:
                print(f"    {100 * row.error():+6.1f}%  {1e6 * row.seconds:10.1f} us measured  {row.line} ({row.algorithm})")
        print(summary("all", chosen) + "\n")
    for reason, count in sorted(left_out.items()):
        print(f"left out: {count:4} rows, {reason}")


if __name__ == "__main__":
    main()
