#!/usr/bin/env python3
"""Stops compiled programs half-way and goes on under the same and under another layout.

    resume.py --build BUILD

The losses of a run that resumes under its own layout equal the unbroken run's bit for bit; under another layout they are
within LOSS_TOLERANCE, or ROUNDED_TOLERANCE if matmuls of one of them read bf16. Sharded optimizer state, sequence parallelism and pipeline stages are among the layouts.
"""
import argparse
import itertools
import os
import shutil
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
MODEL = os.path.join(HERE, "Inputs", "uneven.json")
LAYOUTS = {"single": ["--dp", "1"], "dp2-zero1": ["--dp", "2", "--zero", "1"], "tp2-sp": ["--tp", "2", "--sp"], "pp2-tp2": ["--pp", "2", "--tp", "2"],
           "bf16": ["--dp", "1", "--precision", "bf16"], "bf16-dp2-tp2-zero1": ["--dp", "2", "--tp", "2", "--zero", "1", "--precision", "bf16"],
           "bf16-dp2-offload": ["--dp", "2", "--zero", "1", "--precision", "bf16", "--offload", "optimizer"],
           "pp2-offload": ["--pp", "2", "--schedule", "gpipe", "--offload", "optimizer+activations"]}
STEPS, STOP, LOSS_TOLERANCE, ROUNDED_TOLERANCE = 10, 5, 1e-5, 5e-3


def losses(path):
    with open(path) as file:
        return file.read().split()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    arguments = parser.parse_args()
    failed, unbroken = 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        data, found = os.path.join(scratch, "text"), os.path.join(scratch, "losses")
        with open(data, "wb") as file:
            file.write(programs.english(20000))
        options = ["--data", data, "--lr", "1e-2", "--min-lr", "1e-2", "--warmup", "2", "--quiet", "--save-losses", found]
        built = {}
        for name, layout in LAYOUTS.items():
            shape = ["--seq-len", "16", "--global-batch", "8"]
            built[name] = programs.compile_model(arguments.build, MODEL, shape + layout, os.path.join(scratch, name))
            programs.run([built[name], *options, "--steps", STEPS])
            unbroken[name] = losses(found)
            programs.run([built[name], *options, "--steps", STOP, "--checkpoint-dir", os.path.join(scratch, name + ".run")])
        for before, after in itertools.product(LAYOUTS, LAYOUTS):
            folder = os.path.join(scratch, "run")
            shutil.copytree(os.path.join(scratch, before + ".run"), folder)
            programs.run([built[before], *options, "--steps", STOP])  # the output that resumed runs must continue
            programs.run([built[after], *options, "--steps", STEPS, "--checkpoint-dir", folder, "--resume"])
            shutil.rmtree(folder)
            pairs = list(zip(map(float, losses(found)), map(float, unbroken[after])))
            worst = max(abs(a - b) / b for a, b in pairs)
            tolerance = ROUNDED_TOLERANCE if "bf16" in before + after else LOSS_TOLERANCE
            good = len(pairs) == STEPS and (losses(found) == unbroken[after] if before == after else worst <= tolerance)
            failed += not good
            print(f"{'ok' if good else 'FAILED':6} {before} -> {after}: {worst:.1e}")
    sys.exit(1 if failed else 0)


main()
