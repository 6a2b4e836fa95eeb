#!/usr/bin/env python3
"""Trains each layout of a table for 20 steps and compares it with the single-rank run of the same model.

    equivalence.py --build BUILD [--jobs N] [NAME...]

The loss of every step must agree within LOSS_TOLERANCE (relative) and every parameter after the last step within
PARAMETER_TOLERANCE (relative L2). A name of the table, or a part of one, selects rows.
"""
import argparse
import concurrent.futures
import os
import sys
import tempfile
import time

import programs
import tensors

HERE = os.path.dirname(os.path.realpath(__file__))
STEPS = 20
LOSS_TOLERANCE = 1e-5
PARAMETER_TOLERANCE = 1e-4
SHAPE = ["--seq-len", "16", "--global-batch", "8"]

# name, model of Inputs/, options of ppc-compile
LAYOUTS = [
    ("dp2", "even", "--dp 2 --micro-batch 2"),
    ("tp2", "even", "--tp 2 --micro-batch 4"),
    ("pp2", "even", "--pp 2 --micro-batch 2"),
    ("dp2-tp2", "even", "--dp 2 --tp 2 --micro-batch 2"),
    ("tp2-pp2", "even", "--tp 2 --pp 2 --micro-batch 2"),
    ("dp2-pp2", "even", "--dp 2 --pp 2 --micro-batch 1"),
    ("dp2-tp2-pp2", "even", "--dp 2 --tp 2 --pp 2 --micro-batch 2"),
    ("tp4", "even", "--tp 4 --micro-batch 8"),
    ("pp4-1f1b", "even", "--pp 4 --micro-batch 1 --schedule 1f1b"),
    ("pp4-gpipe", "even", "--pp 4 --micro-batch 1 --schedule gpipe"),
    ("5-heads-tp2", "uneven", "--tp 2 --micro-batch 4"),
    ("vocabulary-131-tp3", "uneven", "--tp 3 --micro-batch 8"),
    ("feed-forward-88-tp5", "uneven", "--tp 5 --micro-batch 8"),
    ("5-layers-pp2", "uneven", "--pp 2 --micro-batch 2"),
    ("uneven-dp2-tp2-pp2", "uneven", "--dp 2 --tp 2 --pp 2 --micro-batch 1"),
    ("tied-tp2-dp2", "tied", "--dp 2 --tp 2 --micro-batch 4"),
    ("tied-pp2", "tied", "--pp 2 --micro-batch 2"),
]


def train(build, scratch, name, model, options):
    """Compiles and trains; returns the losses and the parameters."""
    program = programs.compile_model(build, os.path.join(HERE, "Inputs", model + ".json"), SHAPE + options,
                                     os.path.join(scratch, name))
    saved = program + ".safetensors"
    log = programs.train(program, os.path.join(scratch, "text"), STEPS, lr="1e-3", warmup="5", seed="1",
                         save_parameters=saved)
    losses = [line["loss"] for line in log if "loss" in line]
    if len(losses) != STEPS:
        raise programs.Failed(f"{name}: the log has {len(losses)} losses, not {STEPS}")
    return losses, tensors.read(saved)[0]


def compare(found, expected):
    """Problems, the largest relative difference of a loss, and that of a parameter."""
    (losses, parameters), (wanted_losses, wanted_parameters) = found, expected
    problems = []
    errors = [abs(a - b) / abs(b) for a, b in zip(losses, wanted_losses)]
    for step, error in enumerate(errors, 1):
        if not error <= LOSS_TOLERANCE:
            problems.append(f"the loss of step {step} differs by {error:.2e}: {losses[step - 1]} and {wanted_losses[step - 1]}")
            break
    differing, worst, _ = tensors.compare(parameters, wanted_parameters, PARAMETER_TOLERANCE)
    return problems + differing, max(errors), worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--jobs", type=int, default=2, help="layouts run at a time")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    rows = [row for row in LAYOUTS if not arguments.names or any(name in row[0] for name in arguments.names)]
    if not rows:
        parser.error("no layout has such a name")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        with open(os.path.join(scratch, "text"), "wb") as file:
            file.write(programs.english(20000))
        start = time.time()
        models = sorted({model for _, model, _ in rows})
        single = {model: pool.submit(train, arguments.build, scratch, "single-" + model, model, ["--ranks", "1", "--micro-batch", "8"])
                  for model in models}
        parallel = [(name, model, pool.submit(train, arguments.build, scratch, name, model, options.split()))
                    for name, model, options in rows]
        print(f"{'layout':22} {'loss error':>11} {'parameter error':>16}")
        for name, model, future in parallel:
            try:
                problems, loss, parameter = compare(future.result(), single[model].result())
                print(f"{name:22} {loss:11.1e} {parameter:16.1e}{'' if not problems else '  DIFFERS'}")
            except programs.Failed as failure:
                problems = [str(failure)]
                print(f"{name:22} FAILED")
            for problem in problems[:5]:
                print(f"    {problem}")
            failed += bool(problems)
    print(f"{len(rows) - failed} of {len(rows)} layouts equal the single-rank run ({time.time() - start:.0f} s)")
    sys.exit(1 if failed else 0)


main()
