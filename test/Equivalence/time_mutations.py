#!/usr/bin/env python3
"""Makes random timing mutations in programs and counts which of those that matter in some order are detected.

    time_mutations.py --build BUILD [--count N] [--orders N] [--seed S] [--log FOLDER] [NAME...]

N mutations of each kind (wait, token, slot, `place`, offset, bucket, stream, group, order, early) per program. A mutation matters when one of the
random orders in which the program is executed hangs, has two actions on the same bytes at once, or gives other numbers. Fails when
one that matters is accepted by all verifiers, or fewer than --least mutations were made. A miss is named by program, seed, kind and
number; `only=KIND number=NUMBER list=1` among the options of the pass shows it again.
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

HERE = os.path.dirname(os.path.realpath(__file__))
KIND = re.compile(r"^(\w+): (\d+) matter \((\d+) numbers, (\d+) hangs, (\d+) overlaps, (\d+) cannot run\), (\d+) noticed; (\d+) do not, (\d+) of them refused")
LLAMA4 = {**plans.LLAMA, "num_hidden_layers": 4}
TIED = {**plans.LLAMA, "tie_word_embeddings": True}


def programs():
    """(name, configuration or file with programs, layout, options of the pass)"""
    compiled = [
        ("dp2 pp4 zero 1", LLAMA4, "--dp 2 --pp 4 --zero 1", "arena=1"),
        ("tp2 pp2 sp zb1p", plans.LLAMA, "--tp 2 --pp 2 --sp --schedule zb1p", "arena=1"),
        ("pp4 zb2p", LLAMA4, "--pp 4 --schedule zb2p", "arena=1"),
        ("pp2 gpipe", plans.LLAMA, "--pp 2 --schedule gpipe", "arena=1"),
        ("dp2 tp2 zero 1", plans.LLAMA, "--dp 2 --tp 2 --zero 1", "arena=1"),
        ("tied pp2 uneven layers", {**TIED, "num_hidden_layers": 3}, "--pp 2 --layers-per-stage 2,1", "arena=1"),
        ("recompute tp2 pp4", LLAMA4, "--tp 2 --pp 4 --recompute full", ""),
        ("pp2 interleaved", LLAMA4, "--pp 2 --vp 2", "arena=1"),
        ("dp2 pp2 zbv", LLAMA4, "--dp 2 --pp 2 --schedule zbv", "arena=1"),
        ("pp2 dualpipev", LLAMA4, "--pp 2 --schedule dualpipev", "arena=1"),
        ("pp2 chimera", plans.LLAMA, "--pp 2 --schedule chimera", "arena=1"),
        ("dp2 pp2 dualpipe zero 3", plans.LLAMA, "--dp 2 --pp 2 --schedule dualpipe --zero 3", "arena=1"),
        ("optimizer on the host dp2 zero 1", plans.LLAMA, "--dp 2 --zero 1 --precision bf16 --offload optimizer", "arena=1"),
        ("activations on the host pp4", LLAMA4, "--pp 4 --offload activations", "arena=1"),
        ("activations on the host dp2 pp2 gpipe buckets", plans.LLAMA, "--dp 2 --pp 2 --schedule gpipe --offload activations", "arena=1 buckets=2"),
        ("both on the host pp4 zb1p", LLAMA4, "--pp 4 --schedule zb1p --precision bf16 --offload optimizer+activations", "arena=1"),
        ("parameters on the host pp2 breadth-first", LLAMA4, "--pp 2 --vp 3 --schedule breadth-first --offload parameters", "arena=1"),
        ("all on the host pp2 breadth-first", LLAMA4,
         "--pp 2 --vp 3 --schedule breadth-first --precision bf16 --offload optimizer+activations+parameters", "arena=1"),
        ("buckets dp2", plans.LLAMA, "--dp 2", "buckets=3"),
        ("buckets dp2 pp2", plans.LLAMA, "--dp 2 --pp 2", "buckets=3"),
        ("buckets dp2 tp2 pp2 zb1p", plans.LLAMA, "--dp 2 --tp 2 --pp 2 --schedule zb1p", "buckets=2"),
    ]
    return compiled + [("by hand", os.path.join(HERE, "Time/sound.mlir"), None, "")]


def tool(build, name, *arguments):
    done = subprocess.run([os.path.join(build, "bin", name), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{name} {' '.join(map(str, arguments))}: exit status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def run(build, scratch, program, options):
    """Output of the pass."""
    name, model, layout, own = program
    if layout is None:
        return tool(build, "ppc-opt", model, "--split-input-file", f"--test-ppc-time-mutations={options} {own}", "-o", "/dev/null")
    config, logical, ranks = (os.path.join(scratch, file) for file in ("config.json", "logical.mlir", "ranks.mlir"))
    with open(config, "w") as file:
        json.dump(model, file)
    for form, path in (("train", logical), ("spmd", ranks)):
        tool(build, "ppc-compile", config, "--seq-len", 4, "--global-batch", 8, "--micro-batch", 1, *layout.split(), f"--emit={form}", "-o", path)
    return tool(build, "ppc-opt", ranks, "--mlir-print-op-on-diagnostic=false", f"--test-ppc-time-mutations=logical={logical} {options} {own}", "-o", "/dev/null")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-opt and bin/ppc-compile")
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=int, default=0, help="minimal number of mutations")
    parser.add_argument("--log", help="folder for one file per program")
    parser.add_argument("names", nargs="*", help="parts of names of programs")
    arguments = parser.parse_args()
    kinds, misses, start = {}, [], time.time()
    for number, program in enumerate(programs()):
        if arguments.names and not any(name in program[0] for name in arguments.names):
            continue
        seed = arguments.seed + 1000 * number
        with tempfile.TemporaryDirectory() as scratch:
            text = run(arguments.build, scratch, program, f"seed={seed} count={arguments.count} interleavings={arguments.orders} list={int(bool(arguments.log))}")
        if arguments.log:
            with open(os.path.join(arguments.log, program[0].replace(" ", "-") + ".log"), "w") as file:
                file.write(text)
        print(f"{program[0]} (seed {seed})", *re.findall(r"^seed \d+, (.*)$", text, re.M), sep="\n  ", flush=True)
        lines = text.splitlines()
        misses += [f"{program[0]}, seed {seed}: {line}\n{lines[i + 1]}" for i, line in enumerate(lines) if line.startswith("missed:")]
        for match in filter(None, map(KIND.match, lines)):
            kinds[match[1]] = [a + int(b) for a, b in zip(kinds.get(match[1], [0] * 8), match.groups()[1:])]
    print(f"\n{'kind':8} {'matter':>7} {'numbers':>8} {'hangs':>6} {'overlaps':>9} {'cannot run':>11} {'noticed':>8} {'harmless':>9} {'refused':>8}")
    total = [sum(column) for column in zip(*kinds.values())]
    for kind, counts in [*kinds.items(), ("all", total)]:
        print("{:8} {:7} {:8} {:6} {:9} {:11} {:8} {:9} {:8}".format(kind, *counts))
    print("\n".join(misses), end="\n" if misses else "")
    made = total[0] + total[6]
    print(f"{total[5]} of {total[0]} timing mutations that matter are noticed, {made} were made, {arguments.orders} orders each ({time.time() - start:.0f} s)")
    sys.exit(0 if not misses and total[0] and made >= arguments.least else 1)


if __name__ == "__main__":
    main()
