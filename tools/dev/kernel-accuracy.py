#!/usr/bin/env python3
"""Compares the times that the cost model gives to kernels with measured ones, table by table.

    tools/dev/kernel-accuracy.py --measured DIR [--build build/dev] [--worst N] [--check]

DIR holds micro/*.csv. Needs the target ppc-kernel-times. Prints one row per table and kind of kernel: how many rows,
mean and 90th percentile of |predicted - measured| / measured, the mean signed error, and with --worst the worst rows.
--check exits with 1 when a table that has a bound misses it. Rows marked suspect are left out, and so are rows whose device or kernel no device file covers (their number is printed).
"""
import argparse
import csv
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
XLA_DEVICES = {"sm_90": "H100-SXM-80GB", "sm_100_B200": "B200"}
XLA_PRECISIONS = {"bf16": "bf16", "f32": "tf32", "f8e4m3fn": "fp8", "f8e5m2": "fp8"}
OTHER_DEVICES = {"H800": "H800-SXM-80GB", "NVIDIA A100 SXM": "A100-SXM-80GB", "NVIDIA A100 PCIe": "A100-PCIe-80GB",
                 "NVIDIA H100 SXM": "H100-SXM-80GB", "NVIDIA H200 SXM": "H200", "NVIDIA B200 SXM": "B200",
                 "NVIDIA B300 SXM": "B300", "NVIDIA GB200 SXM": "GB200", "NVIDIA GH200 SXM": "GH200",
                 "not stated (A100-like)": "A100-SXM-40GB"}
ATTENTION_DEVICES = {"A100-80GB SXM4": "A100-SXM-80GB", "H100 SXM5": "H100-SXM-80GB"}
ATTENTION_KERNELS = {"FlashAttention-1": "flash1", "FlashAttention-2": "flash2", "FlashAttention-3": "flash3",
                     "cuDNN": "cudnn"}
# Table -> the largest mean error allowed; "attention" stands for its tables.
BOUNDS = {"matmuls H100-SXM-80GB bf16": 0.08, "matmuls B200 bf16": 0.08, "matmuls B200 fp8": 0.10, "attention": 0.10,
          "matmuls A100-SXM-80GB bf16 (weight gradients, zero bubble)": 0.10}


class Row:
    """One measured kernel: its input lines for the cost model (their times are added) and its measured time, in seconds."""

    def __init__(self, table, lines, seconds, burst=True):
        self.table, self.lines, self.seconds, self.burst, self.predicted = table, lines, seconds, burst, 0.0

    def error(self):
        return self.predicted / self.seconds - 1


def read(measured, name):
    with open(os.path.join(measured, "micro", name), newline="") as file:
        return list(csv.DictReader(file))


def xla_products(measured):
    for row in read(measured, "gemm_xla_matmul_perf_table.csv"):
        if row["suspect"] == "1":
            continue
        types = re.match(r"(\w+)x(\w+)->(\w+)", row["dtypes"])
        precision = XLA_PRECISIONS[types.group(1)]
        b, m, n, k = (int(row[c]) for c in ("batch", "m", "n", "k"))
        device = XLA_DEVICES[row["device_key"]]
        small = "" if 2 * b * m * n * k >= 2e9 else ", < 2 GFLOP"
        yield Row(f"matmuls {device} {precision}{small}", [f"gemm {device} {precision} {b} {m} {n} {k}"],
                  float(row["implied_time_us"]) * 1e-6)


def other_products(measured):
    for row in read(measured, "gemm_other.csv"):
        if not row["m"]:
            continue  # whole MLPs without a token count
        b, m, n, k = (int(row[c]) for c in ("batch_or_groups", "m", "n", "k"))
        device = OTHER_DEVICES[row["gpu"]]
        precision = "fp8" if row["dtype"].startswith("fp8") else row["dtype"]
        flops = 2 * b * m * n * k
        grouped = "grouped" in row["dtype"]
        line = f"grouped {device} {precision} {b} {b * m} {n} {k}" if grouped else f"gemm {device} {precision} {b} {m} {n} {k}"
        origin = row["source"].split()[0].split("/")[-1]
        best = ", best shape found" if "MAMF" in row["source"] else ""
        yield Row(f"{'grouped ' if grouped else ''}matmuls {device} {precision} ({origin}{best})", [line],
                  flops / float(row["achieved_tflops"]) * 1e-12)


def layer_products(measured):
    tokens, hidden = 8192, 4096
    shapes = {"qkv_transform": (1, tokens, 3 * hidden, hidden), "attention_linear_projection": (1, tokens, hidden, hidden),
              "mlp_h_to_4h": (1, tokens, 4 * hidden, hidden), "mlp_4h_to_h": (1, tokens, hidden, 4 * hidden),
              "logit_block": (1, tokens, 51200, hidden), "attention_score": (64, 2048, 2048, 256),
              "attention_over_value": (64, 2048, 256, 2048)}
    for row in read(measured, "cookbook_transformer_layer_ops.csv"):
        if row["op"] in shapes:
            b, m, n, k = shapes[row["op"]]
            # The table rounds times to 0.1 ms; its TFLOP/s are exact.
            yield Row("matmuls A100-SXM-40GB fp16 (cookbook layer)", [f"gemm A100-SXM-40GB fp16 {b} {m} {n} {k}"],
                      2 * b * m * n * k / float(row["tflops"]) * 1e-12, burst=False)


def weight_gradients(measured):
    """Stages of (layers + 2) / p layers of the zero-bubble models at sequence length 1024: matmuls of all four weights."""
    models = {"GPT 1.5B": (22, 2304), "GPT 6.2B": (30, 4096), "GPT 14.6B": (46, 5120), "GPT 28.3B": (62, 6144)}
    for row in read(measured, "zero_bubble_profiled_times.csv"):
        layers, hidden = models[row["model"]]
        tokens = 1024 * int(row["micro_batch"])
        shapes = [(3 * hidden, hidden), (hidden, hidden), (4 * hidden, hidden), (hidden, 4 * hidden)]
        lines = [f"gemm A100-SXM-80GB bf16 1 {m} {n} {tokens}" for m, n in shapes] * ((layers + 2) // int(row["p"]))
        yield Row("matmuls A100-SXM-80GB bf16 (weight gradients, zero bubble)", lines, float(row["T_W_ms"]) * 1e-3, burst=False)


def attention(measured):
    for row in read(measured, "flash_attention.csv"):
        kernel = ATTENTION_KERNELS.get(row["impl"])
        if not kernel or not row["tflops"] or row["status"] != "ok":
            continue
        device = ATTENTION_DEVICES[row["gpu"]]
        batch, heads, length, dim = (int(row[c]) for c in ("batch", "heads", "seq_len", "head_dim"))
        both = row["pass"] == "fwd+bwd"
        flops = 4 * batch * heads * length * length * dim * (0.5 if row["causal"] == "1" else 1) * (3.5 if both else 1)
        shape = f"{device} {row['dtype']} {kernel} {batch} {heads} {heads} {length} {length} {dim} {dim} {row['causal']} 0"
        yield Row(f"attention {device} {kernel} {row['pass']}",
                  [f"forward {shape}"] + ([f"backward {shape}"] if both else []), flops / float(row["tflops"]) * 1e-12)


def price(tool, rows, known):
    """Fills in what the tool says; returns the rows whose device has a file."""
    rows = [row for row in rows if all(line.split()[1] in known for line in row.lines)]
    for burst in (False, True):
        chosen = [row for row in rows if row.burst == burst]
        lines = [line for row in chosen for line in row.lines]
        run = subprocess.run([tool] + ["--burst"] * burst, input="\n".join(lines), capture_output=True, text=True)
        if run.returncode:
            sys.exit(run.stderr.strip())
        times = iter(float(line) for line in run.stdout.split())
        for row in chosen:
            row.predicted = sum(next(times) for _ in row.lines)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--measured", required=True, help="folder with micro/*.csv")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/dev"))
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound is missed")
    parser.add_argument("--worst", type=int, default=0, help="number of the worst rows of each table to print")
    arguments = parser.parse_args()
    tool = os.path.join(arguments.build, "bin/ppc-kernel-times")
    if not os.path.exists(tool):
        sys.exit(f"{tool}: not there; build the target ppc-kernel-times")

    every = [row for source in (xla_products, other_products, layer_products, weight_gradients, attention) for row in source(arguments.measured)]
    known = {os.path.splitext(name)[0] for name in os.listdir(os.path.join(ROOT, "lib/Cluster/Devices"))}
    rows = price(tool, every, known)
    tables = {}
    for row in rows:
        tables.setdefault(row.table, []).append(row)
    missed = 0
    print(f"{'table':64} {'rows':>5} {'mean':>6} {'p90':>6} {'signed':>7}")
    for table in sorted(tables):
        errors = sorted(abs(row.error()) for row in tables[table])
        signed = sum(row.error() for row in tables[table]) / len(errors)
        p90 = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
        mean = sum(errors) / len(errors)
        most = BOUNDS.get(table, BOUNDS.get(table.split()[0]))
        bound = f"  <= {100 * most:.0f}% {'ok' if mean <= most else 'MISS'}" if most else ""
        missed += bound.endswith("MISS")
        print(f"{table:64} {len(errors):5} {100 * mean:5.1f}% {100 * p90:5.1f}% {100 * signed:+6.1f}%{bound}")
        for row in sorted(tables[table], key=lambda row: -abs(row.error()))[: arguments.worst]:
            print(f"    {100 * row.error():+6.1f}%  {1e6 * row.seconds:10.1f} us measured  {row.lines[0]}")
    if len(rows) < len(every):
        print(f"left out: {len(every) - len(rows)} rows of devices without a file")
    if arguments.check and missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
