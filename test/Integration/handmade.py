#!/usr/bin/env python3
"""Models written by hand give the loss and the gradient of an evaluation from outside (f64), or are refused for the reason that their file says.

    handmade.py --build BUILD [NAME...]

The first lines of a module of Handmade/ say what should come out:
    // right: loss L, gradient G      of the first step on synthetic data of seed 1; G is the norm of all gradients
    // run: OPTIONS                   of ppc-compile, under which that comes out
    // refused: OPTIONS: TEXT         the error of ppc-compile has TEXT
The first case that runs is also trained on a file of random tokens, from the weights of another seed, and its loss and its gradient along random directions are
compared with those of test/Models/evaluator.py for these tokens and weights.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import sys
import tempfile

import numpy

import programs

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../Models"))
import evaluator  # noqa: E402
import generator  # noqa: E402
import module_reader  # noqa: E402

FOLDER = os.path.join(HERE, "Handmade")
TOLERANCE = 2e-5  # of sums in f32, and of six digits


def read(path):
    """What the first lines say: the right values, if any, and pairs of options and the text of a refusal (None: it runs)."""
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


def tensors(path):
    """The f32 tensors of a safetensors file, by name."""
    with open(path, "rb") as file:
        data = file.read()
    start = 8 + int.from_bytes(data[:8], "little")
    spans = {name: entry["data_offsets"] for name, entry in json.loads(data[8:start]).items() if name != "__metadata__"}
    return {name: numpy.frombuffer(data[start + first:start + last], dtype="<f4").astype(float) for name, (first, last) in spans.items()}


def first_step(log):
    with open(log) as file:
        return next(entry for entry in map(json.loads, file) if "loss" in entry)


def differs_from_outside(path, program):
    """What a first step on random tokens, from weights of seed 2, computes otherwise than the evaluation from outside; "" where nothing."""
    with open(path) as file:
        module = module_reader.Module(file.read())
    inputs = [argument for argument in module.arguments if argument.input is not None]
    (batch, sequence), pick = inputs[0].shape, random.Random(path)
    known = min(generator.bound(module, argument) for argument in inputs if any(argument.value in op.operands for op in module.ops))
    tokens = [pick.randrange(known) for _ in range(batch * sequence + 1)]
    with open(program + ".tokens", "wb") as file:
        file.write(numpy.array(tokens, dtype="<u2").tobytes())
    given = [program, "--data", program + ".tokens", "--data-format", "uint16", "--order", "sequential", "--seed", "2", "--quiet"]
    programs.run([*given, "--steps", "0", "--save-parameters", program + ".weights"])
    programs.run([*given, "--steps", "1", "--save-gradients", program + ".gradients", "--log", program + ".outside"])
    weights, gradients = tensors(program + ".weights"), tensors(program + ".gradients")
    numbers = {argument.value: weights[argument.parameter] if argument.parameter is not None else
               tokens[1:] if argument.input == "targets" else tokens[:-1] for argument in module.arguments}
    loss, expected = first_step(program + ".outside")["loss"], evaluator.loss(module, numbers)
    if abs(loss - expected) > TOLERANCE * max(1, abs(expected)):
        return f"loss {loss} on random tokens; right: {expected}"
    for _ in range(3):
        direction = {argument.value: numpy.array([pick.gauss(0, 1) for _ in weights[argument.parameter]])
                     for argument in module.arguments if argument.parameter is not None}
        parts = [direction[argument.value] * gradients[argument.parameter] for argument in module.arguments if argument.parameter is not None]
        found, expected = sum(float(numpy.sum(part)) for part in parts), evaluator.slope(module, numbers, direction)
        if abs(found - expected) > TOLERANCE * max(1e-3, sum(float(numpy.sum(numpy.abs(part))) for part in parts)):
            return f"gradient along a random direction {found}; right: {expected}"
    return ""


def check(build, name, right, options, reason, folder, isFirst):
    """What is wrong with one case, or None."""
    path = os.path.join(FOLDER, name + ".mlir")
    program = os.path.join(folder, name + re.sub(r"\W+", "-", options))
    status, output = programs.execute([os.path.join(build, "bin/ppc-compile"), path, *options.split(), "-o", program])
    if reason is not None:
        return None if status == 1 and reason in output else f"expected an error with {reason!r}, found status {status}: {output}"
    if status:
        return f"refused: {output}"
    log = program + ".jsonl"
    programs.run([program, "--synthetic", "--seed", "1", "--steps", "1", "--quiet", "--log", log])
    step = first_step(log)
    found = [step["loss"], step["grad_norm"]]
    if any(abs(value - expected) > TOLERANCE * max(1e-3, abs(expected)) for value, expected in zip(found, right)):
        return f"loss {found[0]}, gradient {found[1]}; right: {right[0]}, {right[1]}"
    return differs_from_outside(path, program) or None if isFirst else None


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
            jobs += [(name, options, pool.submit(check, arguments.build, name, right, options, reason, folder, number == 0)) for number, (options, reason) in enumerate(cases)]
        for name, options, job in jobs:
            counted += 1
            if problem := job.result():
                failed += 1
                print(f"{name} {options}: {problem}")
    print(f"{counted} cases of {len(names)} models, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
