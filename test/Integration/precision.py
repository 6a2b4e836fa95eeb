#!/usr/bin/env python3
"""Trains a model of each family for 50 steps in f32 and in bf16, and compares the losses.

    precision.py --build BUILD [--jobs N] [NAME...]

The models come from Reference/Cases, with a vocabulary for text. The loss of every step must agree within TOLERANCE (relative), and
must have fallen by a tenth at least: a model that does not learn is easy to agree with. A name of a family, or a part of one, selects.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
STEPS = 50
TOLERANCE = 1e-2
SHAPE = ["--seq-len", "16", "--global-batch", "8", "--ranks", "1", "--micro-batch", "4"]


def losses(build, scratch, family, precision):
    with open(os.path.join(HERE, "Reference/Cases", family + ".json")) as file:
        config = programs.with_fields(json.load(file), {"vocab_size": 131})
    folder = os.path.join(scratch, family + "-" + precision)
    os.mkdir(folder)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    program = programs.compile_model(build, folder, [*SHAPE, "--precision", precision], os.path.join(folder, "train"), optimize=None)
    log = programs.train(program, os.path.join(scratch, "text"), STEPS, lr="3e-3", warmup="5", seed="1")
    return [line["loss"] for line in log]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--jobs", type=int, default=2, help="programs run at a time")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    families = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(HERE, "Reference/Cases/*.json")))
    families = [family for family in families if not arguments.names or any(name in family for name in arguments.names)]
    if not families:
        parser.error("no family has such a name")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        with open(os.path.join(scratch, "text"), "wb") as file:
            file.write(programs.english(20000))
        runs = [(family, [pool.submit(losses, arguments.build, scratch, family, precision) for precision in ("f32", "bf16")])
                for family in families]
        print(f"{'loss':16} {'step 1':>8} {f'step {STEPS}':>8} {'bf16':>8} {'largest difference':>19}")
        for family, futures in runs:
            try:
                wide, narrow = (future.result() for future in futures)
            except programs.Failed as failure:
                print(f"{family:16} FAILED\n    {failure}")
                failed += 1
                continue
            difference = max(abs(a - b) / abs(a) for a, b in zip(wide, narrow))
            wrong = (len(wide), len(narrow)) != (STEPS, STEPS) or not difference <= TOLERANCE or not narrow[-1] < 0.9 * narrow[0]
            print(f"{family:16} {wide[0]:8.4f} {wide[-1]:8.4f} {narrow[-1]:8.4f} {difference:19.1e}{'  DIFFERS' if wrong else ''}", flush=True)
            failed += wrong
    print(f"{len(families) - failed} of {len(families)} families train in bf16 as in f32, within {TOLERANCE} over {STEPS} steps")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
