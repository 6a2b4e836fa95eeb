#!/usr/bin/env python3
"""Mutates partitioned programs at random and counts which mutations that change numbers are detected.

    mutations.py --build BUILD [--count N] [--seed S] [--log FOLDER] [NAME...]

N mutations per plan of plans.py that change the numbers or keep the program from running. Fails when fewer than 99 % of those that
change numbers, or not all that keep it from running, are refused. With --log every mutation is written down, with the reason.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import plans

SUMMARY = re.compile(r"(\d+) mutations changed numbers, (\d+) of them noticed; (\d+) did not run, (\d+) of them noticed; "
                     r"(\d+) changed nothing, (\d+) of them refused")


def tool(build, name, *arguments):
    done = subprocess.run([os.path.join(build, "bin", name), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{name} {' '.join(map(str, arguments))}: exit status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def emit(build, scratch, plan):
    """The files of a plan's logical program and of its ranks'."""
    name, model, shape, layout = plan
    if isinstance(model, dict):
        with open(os.path.join(scratch, "config.json"), "w") as file:
            json.dump(model, file)
        model = os.path.join(scratch, "config.json")
    options = layout.split()
    if options[0] == "--plan":
        with open(plans.EXPERTS) as source, open(os.path.join(scratch, "plan.yaml"), "w") as file:
            file.write(source.read().replace("AXIS", options[1]))
        options[1] = os.path.join(scratch, "plan.yaml")
    logical, ranks = os.path.join(scratch, "logical.mlir"), os.path.join(scratch, "ranks.mlir")
    for form, path in (("train", logical), ("spmd", ranks)):
        tool(build, "ppc-compile", model, *shape, *options, f"--emit={form}", "-o", path)
    return logical, ranks


def run(build, scratch, plan, count, seed, log):
    name = plan[0]
    logical, ranks = emit(build, scratch, plan)
    text = tool(build, "ppc-opt", ranks, f"--test-ppc-equivalence-mutations=logical={logical} count={count} seed={seed} list={int(bool(log))}",
                "-o", "/dev/null")
    if log:
        with open(os.path.join(log, name.replace(" ", "-") + ".log"), "w") as file:
            file.write(text)
    counts = [int(number) for number in SUMMARY.search(text).groups()]
    return counts, [line for line in text.splitlines() if line.startswith("missed:")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-opt and bin/ppc-compile")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", help="folder for one file per plan")
    parser.add_argument("names", nargs="*", help="parts of names of plans")
    arguments = parser.parse_args()
    totals, misses, start = [0] * 6, [], time.time()
    chosen = [plan for plan in plans.small() if not arguments.names or any(name in plan[0] for name in arguments.names)]
    print(f"{'mutations (seed ' + str(arguments.seed) + ')':28} {'change numbers':>14} {'noticed':>8} {'do not run':>11} {'noticed':>8} {'harmless':>9} {'refused':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        for number, plan in enumerate(chosen):
            counts, missed = run(arguments.build, scratch, plan, arguments.count, arguments.seed + 1000 * number, arguments.log)
            totals = [a + b for a, b in zip(totals, counts)]
            misses += [f"{plan[0]}: {line}" for line in missed]
            print("{:28} {:14} {:8} {:11} {:8} {:9} {:8}".format(plan[0], *counts), flush=True)
    print("{:28} {:14} {:8} {:11} {:8} {:9} {:8}".format("all", *totals))
    print("\n".join(misses), end="\n" if misses else "")
    changed, noticed, broken, refused = totals[:4]
    print(f"{noticed} of {changed} mutations that change numbers are noticed ({100 * noticed / max(changed, 1):.1f} %), "
          f"{refused} of {broken} that do not run ({time.time() - start:.0f} s)")
    sys.exit(0 if noticed >= 0.99 * changed and refused == broken and changed else 1)


if __name__ == "__main__":
    main()
