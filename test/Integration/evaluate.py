#!/usr/bin/env python3
"""Losses of data that is not trained on.

    evaluate.py --build BUILD

With a learning rate of 0 the loss that is evaluated is, bit for bit, the mean of the losses of a run that trains on that data in
the order of the file. Evaluating leaves training as it is, bit for bit, and layouts agree within LOSS_TOLERANCE.
"""
import argparse
import os
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
MODEL = os.path.join(HERE, "Inputs", "uneven.json")
SHAPE = ["--seq-len", "16", "--global-batch", "8"]
LAYOUTS = {
    "single": ["--dp", "1"],
    "micro-batches": ["--dp", "1", "--micro-batch", "2", "--recompute", "full"],
    "dp2-zero1": ["--dp", "2", "--zero", "1"],
    "tp2-sp": ["--tp", "2", "--sp"],
    "pp2-tp2": ["--pp", "2", "--tp", "2", "--micro-batch", "2"],
    "pp4-gpipe": ["--pp", "4", "--schedule", "gpipe", "--micro-batch", "1"],
    "bf16": ["--dp", "2", "--precision", "bf16"],
}
LOSS_TOLERANCE = {"bf16": 1e-2}  # relative; 1e-5 otherwise


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    arguments = parser.parse_args()
    failed, single = 0, None
    with tempfile.TemporaryDirectory() as scratch:
        data, held = os.path.join(scratch, "text"), os.path.join(scratch, "held")
        for path, seed in ((data, 1), (held, 2)):
            with open(path, "wb") as file:
                file.write(programs.english(8000, seed))
        for name, layout in LAYOUTS.items():
            program = programs.compile_model(arguments.build, MODEL, SHAPE + layout, os.path.join(scratch, name))
            options = {"lr": "1e-2", "min_lr": "1e-2", "warmup": "1"}
            plain = programs.train(program, data, 6, **options)
            lines = programs.train(program, data, 6, eval_data=held, eval_every=2, eval_batches=3, **options)
            still = programs.train(program, data, 1, lr="0", warmup="0", eval_data=held, eval_batches=3)
            expected = [line["loss"] for line in programs.train(program, held, 3, lr="0", warmup="0", order="sequential")]
            found = [line["eval_loss"] for line in lines if "eval_loss" in line]
            single = single or found
            worst = max(abs(a - b) / b for a, b in zip(found, single))
            problems = []
            if [line["loss"] for line in lines] != [line["loss"] for line in plain]:
                problems.append("evaluating changes the losses of training")
            if len(found) != 3 or found[0] == found[1]:
                problems.append(f"evaluated {found}")
            if abs(still[-1]["eval_loss"] - sum(expected) / 3) > 1e-12:
                problems.append(f"the loss is {still[-1]['eval_loss']!r}, but training finds {sum(expected) / 3!r}")
            if worst > LOSS_TOLERANCE.get(name, 1e-5):
                problems.append(f"the losses {found} are not those of one rank, {single}")
            failed += bool(problems)
            print(f"{'FAILED' if problems else 'ok':6} {name}: {worst:.1e}")
            for problem in problems:
                print("    " + problem)
    sys.exit(1 if failed else 0)


main()
