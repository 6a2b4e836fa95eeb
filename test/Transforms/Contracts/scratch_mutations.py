#!/usr/bin/env python3
"""Mutation testing of ppc-verify-arena. Compiles programs, gives one of two temporaries of an op the offset of the other one, moves waits for
gathered parameters and reduced gradients after their uses, or starts of reductions before the producers of their operands; each such
program must be refused.

    scratch_mutations.py --build BUILD [--count N] [--seed S]
"""
import argparse
import os
import random
import re
import subprocess
import sys

MODEL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../Integration/Inputs/even.json")
VIEW = re.compile(r"\s*(%\S+) = memref\.view %arg\d+\[(%\S+)\]\[\] : \S+ to memref<(\S+)>")


def functions(lines):
    begin = None
    for number, line in enumerate(lines):
        if line.startswith("  func.func"):
            begin = number
        elif line == "  }" and begin is not None:
            yield range(begin, number)
            begin = None


def pairs(lines):
    """Line numbers of two views of scratch that are used by one op, and the op."""
    for function in functions(lines):
        views = {match[1]: number for number in function if (match := VIEW.match(lines[number])) and not match[3].startswith("0x")}
        for number in function:
            used = [view for view in views if views[view] != number and re.search(re.escape(view) + r"\b", lines[number])]
            for first in used:
                for second in used:
                    if views[first] < views[second]:
                        yield views[first], views[second], number


def flights(lines):
    """Line numbers of a wait and of the first later op that uses the received data; of the op that makes the sent data and of its start."""
    for function in functions(lines):
        for number in function:
            if match := re.match(r"\s*ppcrt\.wait %\S+\(%\S+, (%[^ ,]+) :", lines[number]):
                uses = [other for other in range(number + 1, function.stop) if re.search(re.escape(match[1]) + r"\b(?!_)", lines[other])]
                if uses and re.match(r"\s*ppcrt\.(gemm|reduce_scatter|all_gather)\b", lines[uses[0]]):
                    yield number, uses[0]
            if match := re.match(r"\s*%\S+ = ppcrt\.start reduce_scatter .* ins\((%[^ ,]+) :", lines[number]):
                makers = [other for other in range(function.start, number) if re.search(re.escape(match[1]) + r"\b(?!_)", lines[other])]
                if makers and re.match(r"\s*ppcrt\.gemm\b", lines[makers[-1]]) and makers[-1] + 1 == number:
                    yield makers[-1], number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-opt and bin/ppc-compile")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    compiler, opt = (os.path.join(arguments.build, "bin", name) for name in ("ppc-compile", "ppc-opt"))

    def device_program(layout):
        command = [compiler, MODEL, *f"--seq-len 64 --global-batch 4 --micro-batch 1 {layout} --emit=device".split()]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")

    lines = device_program("--pp 2 --tp 2")

    def refusal(lines):
        done = subprocess.run([opt, "-", "--ppc-verify-arena", "-o", os.devnull], input="\n".join(lines), stderr=subprocess.PIPE, text=True)
        return done.stderr if done.returncode else ""

    if text := refusal(lines):
        sys.exit(f"the unchanged program is refused: {text}")
    candidates = list(pairs(lines))
    missed = 0
    for first, second, op in random.Random(arguments.seed).sample(candidates, min(arguments.count, len(candidates))):
        mutant = list(lines)
        mutant[second] = lines[second].replace(f"[{VIEW.match(lines[second])[2]}]", f"[{VIEW.match(lines[first])[2]}]")
        text = refusal(mutant)
        if "of its scratch with another temporary" not in text and "is bytes" not in text:
            missed += 1
            print(f"missed: {lines[second].strip()} has the offset of {lines[first].strip()}; both are used by {lines[op].strip()}\n{text}")
    print(f"seed {arguments.seed}: {min(arguments.count, len(candidates))} programs of {len(candidates)}, {missed} missed")

    lines = device_program("--dp 2 --zero 3")
    if text := refusal(lines):
        sys.exit(f"the program with gathers in flight is refused: {text}")
    exchanged = list(flights(lines))
    for first, second in random.Random(arguments.seed).sample(exchanged, min(arguments.count, len(exchanged))):
        text = refusal([*lines[:first], *lines[first + 1:second + 1], lines[first], *lines[second + 1:]])
        if "a buffer in flight" not in text:
            missed += 1
            print(f"missed: {lines[first].strip()} comes after {lines[second].strip()}\n{text}")
    print(f"{min(arguments.count, len(exchanged))} programs with communication in flight of {len(exchanged)}, {missed} missed")
    sys.exit(1 if missed or min(len(candidates), len(exchanged)) < arguments.count else 0)


if __name__ == "__main__":
    main()
