#!/usr/bin/env python3
"""Counts what partitioned programs of a LLaMA communicate and hold, and compares it with what theory says.

    partition_costs.py --build BUILD

With L layers and parameters P, on t tensor-parallel and d data-parallel ranks:

- Tensor parallelism alone: an all-reduce of the stream [batch, sequence, hidden] behind the embedding and in forward and in
  backward of each of the 2 L regions and of the logits (there in backward only).
- Sequence parallelism: instead of each of these a reduce-scatter; an all-gather before each region in forward; in backward an
  all-gather of the gradient that enters each row-parallel matmul, and one of the input of each column-parallel matmul, which is
  not kept. No all-reduce of a stream is left, and no whole stream is saved for backward.
- ZeRO-1: once a step a reduce-scatter of each gradient and an all-gather of each parameter, no tensor of the size of a parameter
  otherwise; each rank holds 1/d of the optimizer's state.
- bf16: sums between ranks are f32. With sequence parallelism, gathers of activations in forward and of gradients that enter matmuls
  are bf16. With ZeRO-1 the parameters that matmuls read are gathered in bf16, once a step before the micro-batches, and each rank
  holds 1/d of those parameters.
"""
import argparse
import collections
import json
import os
import re
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
COLLECTIVE = re.compile(r"ppc\.(all_reduce|all_gather|reduce_scatter|all_to_all) .* : tensor<([^>]*)>(?: to tensor<([^>]*)>)?")
BUFFER = re.compile(r'ppcrt\.buffer @\S+ (\w+).*? : memref<([^>]*)>')


def elements(shape):
    """Elements and bytes of "4x8xf32"."""
    count = 1
    for size in shape.split("x")[:-1]:
        count *= int(size)
    return count


class Program:
    """The partitioned program of some options: collectives of each action, and buffers by role, of stage 0."""

    def __init__(self, build, model, options):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "program.mlir")
            # Sums of gradients are counted in the update, not as actions overlapped with backward.
            programs.run([os.path.join(build, "bin/ppc-compile"), model, *options.split(), "--overlap=off", "--emit=spmd", "-o", path])
            with open(path) as file:
                text = file.read()
        self.buffers = collections.defaultdict(list)
        for role, shape in BUFFER.findall(text):
            self.buffers[role].append(shape)
        self.collectives = collections.defaultdict(list)
        action = None
        for line in text.splitlines():
            function = re.search(r"func\.func @(?:stage|device)0\.(\w+)", line)
            action = function.group(1) if function else action
            found = COLLECTIVE.search(line)
            if found:
                kind, before, after = found.groups()
                axes = re.search(r'over \[([^\]]*)\]', line).group(1).replace('"', "")
                self.collectives[action].append((kind, axes, before, after or before))

    def count(self, action, kind, axes, whole):
        """Collectives of tensors of `whole` elements: outputs of a gather, inputs of a reduction."""
        side = 3 if kind == "all_gather" else 2
        return sum(1 for found in self.collectives[action]
                   if found[0] == kind and found[1] == axes and elements(found[side]) == whole)

    def bytes_of(self, role):
        return 4 * sum(elements(shape) for shape in self.buffers[role])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    build = parser.parse_args().build
    with open(os.path.join(HERE, "Inputs/even.json")) as file:
        config = {**json.load(file), "vocab_size": 192}  # so that no part of a dimension is as large as the stream's
    folder = tempfile.TemporaryDirectory()
    model = os.path.join(folder.name, "config.json")
    with open(model, "w") as file:
        json.dump(config, file)
    layers, hidden, batch, sequence = config["num_hidden_layers"], config["hidden_size"], 2, 16
    stream, shape = batch * sequence * hidden, f"--seq-len {sequence} --global-batch 16 --micro-batch {batch} "
    problems = []

    def expect(what, found, wanted):
        print(f"{what:72} {found:>10} {'' if found == wanted else f'  expected {wanted}'}")
        if found != wanted:
            problems.append(what)

    whole, tp, sp = (Program(build, model, shape + options) for options in ("", "--tp 4", "--tp 4 --sp"))
    regions = 2 * layers
    expect("tp 4: all-reduces of the stream in forward", tp.count("forward", "all_reduce", "tp", stream), regions + 1)
    expect("tp 4: all-reduces of the stream in backward", tp.count("backward", "all_reduce", "tp", stream), regions + 1)
    for action in ("forward", "backward"):
        expect(f"sp: all-reduces of the stream in {action}", sp.count(action, "all_reduce", "tp", stream), 0)
        expect(f"sp: reduce-scatters of the stream in {action}", sp.count(action, "reduce_scatter", "tp", stream), regions + 1)
    expect("sp: all-gathers of the stream in forward", sp.count("forward", "all_gather", "tp", stream), regions + 1)
    expect("sp: all-gathers of the stream in backward", sp.count("backward", "all_gather", "tp", stream), 2 * (regions + 1))
    full, part = f"{batch}x{sequence}x{hidden}xf32", f"{batch}x{sequence // 4}x{hidden}xf32"
    expect("sp: whole streams saved for backward", sp.buffers["saved"].count(full), 0)
    expect("sp: quarters of streams saved for backward", sp.buffers["saved"].count(part), tp.buffers["saved"].count(full))

    dp, zero = Program(build, model, shape + "--dp 4"), Program(build, model, shape + "--dp 4 --zero 1")
    sizes = [elements(shape) for shape in whole.buffers["parameter"]]
    parameters = len(sizes)
    for kind in ("all_reduce", "reduce_scatter", "all_gather"):
        for program, name in ((dp, "dp 4"), (zero, "zero 1")):
            large = sum(1 for found in program.collectives["update"]
                        if found[0] == kind and max(elements(found[2]), elements(found[3])) > 1)
            expect(f"{name}: {kind}s of tensors in the update", large, parameters if (kind == "all_reduce") == (program is dp) else 0)
    for program, name in ((dp, "dp 4"), (zero, "zero 1")):
        expect(f"{name}: collectives over dp for each micro-batch",
               sum(len(program.collectives[action]) for action in ("forward", "backward", "weight_gradient")), 0)
    expect("zero 1: elements scattered", sum(elements(found[2]) for found in zero.collectives["update"] if found[0] == "reduce_scatter"),
           sum(sizes))
    expect("zero 1: elements gathered", sum(elements(found[3]) for found in zero.collectives["update"] if found[0] == "all_gather"),
           sum(sizes))
    expect("dp 4: bytes of optimizer state", dp.bytes_of("state"), whole.bytes_of("state"))
    expect("zero 1: bytes of optimizer state", zero.bytes_of("state"), whole.bytes_of("state") // 4)

    narrow_sp, narrow = (Program(build, model, shape + options + " --precision bf16") for options in ("--tp 4 --sp", "--dp 4 --zero 1"))
    every = [found for program in (narrow_sp, narrow) for action in program.collectives.values() for found in action]
    expect("bf16: sums between ranks in bf16",
           sum(1 for kind, _, before, _ in every if kind in ("all_reduce", "reduce_scatter") and before.endswith("bf16")), 0)
    gathered = [found for found in narrow_sp.collectives["forward"] if found[0] == "all_gather" and elements(found[3]) == stream]
    expect("sp in bf16: all-gathers of the stream in forward", sum(1 for found in gathered if found[3].endswith("bf16")), regions + 1)
    expect("sp in bf16: the same in f32", sum(1 for found in gathered if found[3].endswith("f32")), 0)
    wide = config["vocab_size"] * hidden + (2 * layers + 1) * hidden  # the embedding and the norms
    expect("zero 1 in bf16: elements gathered in f32",
           sum(elements(found[3]) for found in narrow.collectives["update"] if found[0] == "all_gather"), wide)
    expect("zero 1 in bf16: elements gathered in bf16",
           sum(elements(found[3]) for found in narrow.collectives["prepare"] if found[0] == "all_gather" and found[3].endswith("bf16")),
           sum(sizes) - wide)
    expect("zero 1 in bf16: bytes of f32 parameters", narrow.bytes_of("parameter"), 4 * wide + (sum(sizes) - wide))
    print(f"{len(problems)} figures differ from theory")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
