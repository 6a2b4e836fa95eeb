#!/usr/bin/env python3
"""Models written by hand give the loss and the gradient of an evaluation from outside (f64), or are refused for the reason that their file says.

    handmade.py --build BUILD [NAME...]

The first lines of a module of Handmade/ say what should come out:
    // right: loss L, gradient G      of the first step on synthetic data of seed 1; G is the norm of all gradients
    // run: OPTIONS                   of ppc-compile, under which that comes out
    // refused: OPTIONS: TEXT         the error of ppc-compile has TEXT
"""
import argparse
import concurrent.futures
import json
import os
import re
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "Handmade")
TOLERANCE = 2e-5  # tolerance of sums in f32, and of six digits


def read(path):
    """Expectations in the first lines: the right values, if any, and pairs of options and the text of a refusal (None: it runs)."""
    right, cases = None, []
    with open(path) as file:
        for line in file:
            if not line.startswith("// "):
                break
            kind, _, text = line[3:].strip().partition(": ")
            if kind == "right":
                right = [float(word) for word in re.fullmatch(r"loss (\S+), gradient (\S+)", text).groups()]
            elif kind == "run":
                cases.append((text, None))
            elif kind == "refused":
                options, _, reason = text.partition(": ")
                cases.append((options, reason))
    return right, cases


def check(build, name, right, options, reason, folder):
    """Error of one case, or None."""
    path = os.path.join(FOLDER, name + ".mlir")
    program = os.path.join(folder, name + re.sub(r"\W+", "-", options))
    status, output = programs.execute([os.path.join(build, "bin/ppc-compile"), path, *options.split(), "-o", program])
    if reason is not None:
        return None if status == 1 and reason in output else f"expected an error with {reason!r}, found status {status}: {output}"
    if status:
        return f"refused: {output}"
    log = program + ".jsonl"
    programs.run([program, "--synthetic", "--seed", "1", "--steps", "1", "--quiet", "--log", log])
    with open(log) as file:
        step = next(entry for entry in map(json.loads, file) if "loss" in entry)
    found = [step["loss"], step["grad_norm"]]
    if any(abs(value - expected) > TOLERANCE * max(1e-3, abs(expected)) for value, expected in zip(found, right)):
        return f"loss {found[0]}, gradient {found[1]}; right: {right[0]}, {right[1]}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    names = arguments.names or sorted(file[:-5] for file in os.listdir(FOLDER) if file.endswith(".mlir"))
    failed = counted = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = []
        for name in names:
            right, cases = read(os.path.join(FOLDER, name + ".mlir"))
            if not cases or (right is None and any(reason is None for _, reason in cases)):
                sys.exit(f"{name}: the first lines say no case")
            jobs += [(name, options, pool.submit(check, arguments.build, name, right, options, reason, folder)) for options, reason in cases]
        for name, options, job in jobs:
            counted += 1
            if problem := job.result():
                failed += 1
                print(f"{name} {options}: {problem}")
    print(f"{counted} cases of {len(names)} models, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
