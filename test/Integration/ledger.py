#!/usr/bin/env python3
"""Compares what the planner prices of compiled programs with what they do: the rows of both ledgers (docs/Ledger.md).

    ledger.py --build BUILD [--random N] [--seed S] [--verbose] [NAME...]

Programs are compiled as far as their partition: the layouts of equivalence.py (a name, or a part of one, selects), layouts for the
models of Reference/Cases, and N random models and layouts as random_layouts.py draws them, each with the seed that draws it again.

Calls of SMALL bytes and more must be equally many, of each kind, group of ranks, element type and size, in each phase of each
device. Smaller ones, and those of prepare and update, which are priced together, must move equally many bytes of each kind, group and
type. FLOPs and bytes of memory must be equal.
"""
import argparse
import collections
import concurrent.futures
import csv
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

import equivalence
import random_layouts

HERE = os.path.dirname(os.path.realpath(__file__))
SMALL = 4096
CASES = ["--dp 2 --tp 2 --micro-batch 2", "--tp 2 --sp=on --pp 2 --micro-batch 2", "--dp 2 --zero 1 --tp 2 --sp=on --micro-batch 1 --recompute full",
         "--dp 2 --tp 3 --pp 2 --micro-batch 1 --schedule zb1p --recompute selective", "--dp 2 --zero 1 --tp 4 --micro-batch 2"]


def entry(row):
    """What a row of the table counts, and how much one of it counts."""
    if row["part"] != "transfer":
        return (row["part"], row["device"], row["phase"], row["kind"]), 1
    what = ("transfer", row["device"], row["phase"], row["kind"], row["members"], row["element_bits"])
    size = int(row["elements"]) * int(row["element_bits"]) // 8
    if row["phase"] in ("prepare", "update"):
        return (*what, "bytes"), size
    return ((*what, "bytes of small calls"), size) if size < SMALL else ((*what, row["elements"]), 1)


def differences(table):
    """Lines for what is priced and not emitted, or the other way around."""
    totals = collections.defaultdict(lambda: [0, 0])
    rows = list(csv.DictReader(table.splitlines()))
    for row in (row for row in rows if row["kind"] != "slots"):
        what, each = entry(row)
        for side, column in enumerate(("priced", "emitted")):
            totals[what][side] += each * int(row[column])
    return [f"{' '.join(what)}: {priced} priced, {emitted} emitted" for what, (priced, emitted) in totals.items() if priced != emitted]


def check(build, config, options):
    """Compiles; "refused" or "failed" with what was said, "unpriced", or "ok" or "differs" with the differences."""
    command = [os.path.join(build, "bin/ppc-compile"), config, *options, "--emit=ledger", "--no-verify"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode:
        return "refused" if done.returncode == 1 and "error:" in done.stderr else "failed", done.stderr.splitlines()
    if ",priced," not in done.stdout.split("\n")[0]:
        return "unpriced", [line for line in done.stderr.splitlines() if "not priced" in line]
    found = differences(done.stdout)
    return ("differs" if found else "ok"), found


def drawn(scratch, seed):
    """A random model and layout: the file of the one, options of the other, and both in words."""
    pick = random.Random(seed)
    model = random_layouts.draw_model(pick)
    layout, shape = random_layouts.draw_layout(pick)
    if pick.random() < 0.5:
        shape += ["--precision", "bf16"]
    path = os.path.join(scratch, f"{seed}.json")
    with open(path, "w") as file:
        json.dump({key: value for key, value in model.items() if value is not None}, file)
    return path, shape + layout, f"--seed {seed}: {model['model_type']} {' '.join(shape + layout)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--random", type=int, default=0, help="random models and layouts besides")
    parser.add_argument("--seed", type=int, default=1, help="of the first of them")
    parser.add_argument("--verbose", action="store_true", help="print every layout, and all that differs")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    outcomes = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        cases = [(os.path.join(HERE, "Inputs", model + ".json"), [*equivalence.SHAPE, *options.split()], name)
                 for name, model, options in equivalence.LAYOUTS]
        for path in sorted(glob.glob(os.path.join(HERE, "Reference/Cases/*.json"))):
            for layout in CASES:
                for precision in ("f32", "bf16"):
                    options = f"--seq-len 16 --global-batch 8 {layout} --precision {precision}"
                    cases.append((path, options.split(), f"{os.path.basename(path)[:-5]} {layout} {precision}"))
        cases = [case for case in cases if not arguments.names or any(name in case[2] for name in arguments.names)]
        cases += [drawn(scratch, seed) for seed in range(arguments.seed, arguments.seed + arguments.random)]
        jobs = [(name, pool.submit(check, arguments.build, path, options)) for path, options, name in cases]
        for name, job in jobs:
            outcome, lines = job.result()
            outcomes[outcome] += 1
            if outcome in ("differs", "failed") or arguments.verbose:
                print(f"{name}: {outcome}\n    " + "\n    ".join(lines if arguments.verbose else lines[:8]), flush=True)
    print(f"{outcomes['ok']} ledgers priced as emitted, {outcomes['differs']} differ; {outcomes['refused']} layouts refused, "
          f"{outcomes['unpriced']} not priced, {outcomes['failed']} failed")
    sys.exit(1 if outcomes["differs"] or outcomes["failed"] else 0)


if __name__ == "__main__":
    main()
