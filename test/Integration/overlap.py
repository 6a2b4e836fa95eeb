#!/usr/bin/env python3
"""Whether programs compute the same bits with communication beside computation and without.

    overlap.py --build BUILD [--steps N] [NAME...]

Compiles layouts of the equality matrix (equivalence.py) with `--overlap=on` and `--overlap=off`, trains both for some steps, and compares losses,
gradient norms and parameters bit by bit. Each program with overlap must have actions that reduce gradients, so that something is compared.
"""
import argparse
import os
import re
import sys
import tempfile

import equivalence
import programs

LAYOUTS = ["dp2", "dp2-zero1", "dp2-pp2", "dp2-tp2-pp2-sp", "uneven-dp4-zero1", "tied-dp2-pp2-zero1", "dp2-tp2-pp2-sp-zero1-recompute",
           "uneven-dp2-tp2-pp2-sp-zero1", "tied-dp2-tp2-pp2-interleaved-sp-zero1", "bf16-dp2", "bf16-uneven-dp4-zero1"]


def compile_both(build, scratch, name, model, options):
    """The programs without and with overlap, and how many actions of the second reduce gradients, after how many early tokens."""
    path = os.path.join(equivalence.HERE, "Inputs", model + ".json")
    compiled = [programs.compile_model(build, path, [*equivalence.SHAPE, *options, f"--overlap={state}"], os.path.join(scratch, f"{name}.{state}"))
                for state in ("off", "on")]
    form = os.path.join(scratch, name + ".mlir")
    programs.compile_model(build, path, [*equivalence.SHAPE, *options, "--overlap=on", "--emit=program"], form)
    with open(form) as file:
        actions = re.findall(r"= ppcrt\.collective .* after\((.*)\) on", file.read())
    return compiled, len(actions), sum("#" in token for token in actions)


def same_bits(found, expected):
    return found[:2] == expected[:2] and found[2].keys() == expected[2].keys() and all((found[2][name][1] == expected[2][name][1]) for name in found[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("names", nargs="*", help="names of layouts of the matrix; default: some of each kind")
    arguments = parser.parse_args()
    rows = {row[0]: row for row in equivalence.LAYOUTS}
    failed = 0
    for name in arguments.names or LAYOUTS:
        with tempfile.TemporaryDirectory() as scratch:
            text = os.path.join(scratch, "text")
            with open(text, "wb") as file:
                file.write(programs.english(20000))
            (off, on), actions, early = compile_both(arguments.build, scratch, name, rows[name][1], rows[name][2].split())
            expected, found = (equivalence.train_program(program, text, arguments.steps) for program in (off, on))
        same = same_bits(found, expected)
        failed += not same or not actions
        print(f"{name}: {actions} buckets, {early} after early tokens, {'the same bits' if same else 'DIFFERS'}", flush=True)
    print(f"{len(arguments.names or LAYOUTS) - failed} of {len(arguments.names or LAYOUTS)} layouts give the same bits with communication beside computation")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
