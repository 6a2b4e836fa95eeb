#!/usr/bin/env python3
"""Does ppc-verify-arena notice temporaries on the same bytes? Compiles a program, lets one of two temporaries that one op uses lie where the
other one does, and asks; each such program must be refused.

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
    """Places of two views of scratch that are used by one op, and the op."""
    for function in functions(lines):
        views = {match[1]: number for number in function if (match := VIEW.match(lines[number])) and not match[3].startswith("0x")}
        for number in function:
            used = [view for view in views if views[view] != number and re.search(re.escape(view) + r"\b", lines[number])]
            for first in used:
                for second in used:
                    if views[first] < views[second]:
                        yield views[first], views[second], number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-opt and bin/ppc-compile")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    compiler, opt = (os.path.join(arguments.build, "bin", name) for name in ("ppc-compile", "ppc-opt"))
    command = [compiler, MODEL, *"--seq-len 8 --global-batch 4 --micro-batch 1 --pp 2 --tp 2 --emit=device".split()]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")

    def refusal(lines):
        done = subprocess.run([opt, "-", "--ppc-verify-arena", "-o", os.devnull], input="\n".join(lines), stderr=subprocess.PIPE, text=True)
        return done.stderr if done.returncode else ""

    if text := refusal(lines):
        sys.exit(f"the program without mistakes is refused: {text}")
    candidates = list(pairs(lines))
    missed = 0
    for first, second, op in random.Random(arguments.seed).sample(candidates, min(arguments.count, len(candidates))):
        mutant = list(lines)
        mutant[second] = lines[second].replace(f"[{VIEW.match(lines[second])[2]}]", f"[{VIEW.match(lines[first])[2]}]")
        text = refusal(mutant)
        if "of its scratch with another temporary" not in text and "is bytes" not in text:
            missed += 1
            print(f"missed: {lines[second].strip()} lies where {lines[first].strip()} does; both are used by {lines[op].strip()}\n{text}")
    print(f"seed {arguments.seed}: {min(arguments.count, len(candidates))} programs of {len(candidates)}, {missed} missed")
    sys.exit(1 if missed or len(candidates) < arguments.count else 0)


if __name__ == "__main__":
    main()
