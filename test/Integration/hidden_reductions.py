#!/usr/bin/env python3
"""Compares the hidden share of gradient reductions in the planner with ppc-compile's decisions for the same layout.

    hidden_reductions.py --build BUILD [NAME...]

ppc-compile says for each pipeline rank the time of all its sums at once and the exposed time of its buckets after the last backward
(--explain); ppc-plan with --target has the latter for each stage. Prints differences in shares of the time of all at once; ends with 1 where
one is above 10 %.
"""
import argparse
import json
import os
import re
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "../Inputs/Models")
MOST = 0.1
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LINE = re.compile(r"reductions: device (\d+): .* in (\d+) buckets, .*; of ([\d.]+) (\w+) for one reduction of all, ([\d.]+) (\w+) are left")

# Model, target, cluster, tokens of a sequence, sequences of a step, layout.
CASES = [
    ("llama-3-70b", "cuda", "dgx-h100:64", 4096, 64, dict(tp=8, pp=8, dp=8, zero=0)),
    ("llama-3-70b", "cuda", "dgx-h100:64", 4096, 64, dict(tp=8, pp=8, dp=8, zero=1)),
    ("llama-3-8b", "cuda", "dgx-a100:4", 2048, 64, dict(pp=4, dp=8, zero=1)),
    ("llama-3-8b", "cuda", "dgx-h100:2", 2048, 64, dict(tp=2, dp=8, zero=0)),
    ("mistral-7b", "host", "dgx-a100:2", 4096, 32, dict(pp=2, dp=8, zero=0)),
    ("llama-3-8b", "host", "dgx-a100:4", 1024, 32, dict(tp=4, dp=8, zero=1)),
]


def machine(folder, cluster):
    """The preset with `nodes` nodes, whose communication takes no multiprocessors: slowed-down kernels do not count as exposed reductions."""
    name, _, nodes = cluster.partition(":")
    with open(os.path.join(HERE, "../../lib/Cluster/Presets", name + ".yaml")) as file:
        text = re.sub(r"(device: {.*?) }", r"\1, communication_share: 0 }", file.read(), count=1)
    head, level, tail = re.match(r"(.*size: )(\d+)(.*)", text, re.S).groups()
    path = os.path.join(folder, name + ".yaml")
    with open(path, "w") as file:
        file.write(head + str(int(level) * int(nodes)) + tail)
    return path


def options(degrees, seq_len, global_batch, cluster, target):
    values = {**degrees, "micro-batch": 1, "schedule": "1f1b", "recompute": "none", "precision": "f32", "seq-len": seq_len,
              "global-batch": global_batch, "cluster": cluster, "target": target}
    return [word for key, value in values.items() for word in (f"--{key}", str(value))]


def decided(build, model, given):
    """(time of all at once, exposed time) by device."""
    said = programs.run([os.path.join(build, "bin/ppc-compile"), model, *given, "--explain", "--emit=program", "-o", os.devnull])
    return {int(device): (float(all_) * UNITS[all_unit], float(left) * UNITS[left_unit])
            for device, _, all_, all_unit, left, left_unit in LINE.findall(said)}


def planned(build, model, given, scratch):
    """Exposed time, by stage."""
    path = os.path.join(scratch, "plan.json")
    programs.run([os.path.join(build, "bin/ppc-plan"), model, *given, "--forbid", "sp", "--forbid", "cp", "--forbid", "vp", "--emit", "json",
                  "--top", "1", "-o", path])
    with open(path) as file:
        return [stage["exposed_reduction_s"] for stage in json.load(file)["plans"][0]["stages"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile and bin/ppc-plan")
    parser.add_argument("names", nargs="*", help="models, or parts of their names (all)")
    arguments = parser.parse_args()
    cases = [case for case in CASES if not arguments.names or any(name in case[0] for name in arguments.names)]
    if not cases:
        parser.error("no model has such a name")
    worst, compared = 0, 0
    for name, target, cluster, seq_len, global_batch, degrees in cases:
        model = os.path.join(MODELS, name + ".json")
        with tempfile.TemporaryDirectory() as scratch:
            given = options(degrees, seq_len, global_batch, machine(scratch, cluster), target)
            stages = planned(arguments.build, model, given, scratch)
            devices = decided(arguments.build, model, given)
        if len(devices) != len(stages):
            sys.exit(f"{name} {degrees}: ppc-compile does not report some reductions")
        for device, (at_once, left) in devices.items():
            difference = abs(stages[device] - left) / at_once
            worst, compared = max(worst, difference), compared + 1
            print(f"{name} {target} {degrees} device {device}: of {at_once * 1e3:.3g} ms are left {left * 1e3:.3g}, planned {stages[device] * 1e3:.3g}; "
                  f"differs by {100 * difference:.1f} %")
    print(f"{compared} devices, {100 * worst:.1f} % at most")
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
