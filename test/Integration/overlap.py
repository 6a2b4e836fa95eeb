#!/usr/bin/env python3
"""Checks that programs compute the same bits with and without overlap of communication and computation.

    overlap.py --build BUILD [--steps N] [NAME...]

Compiles layouts of the equality matrix (equivalence.py) as they are by default and with `--overlap=off`, trains both for some steps, and compares
losses, gradient norms and parameters bit by bit. Each program must by default have actions that reduce gradients, or collectives of layers that
begin before others than they do with `--overlap=off`, so that something is compared; and with `--overlap=off` have neither.
"""
import argparse
import os
import re
import sys
import tempfile

import equivalence
import programs

LAYOUTS = ["dp2", "dp2-zero1", "dp2-pp2", "dp2-tp2-pp2-sp", "uneven-dp4-zero1", "tied-dp2-pp2-zero1", "dp2-tp2-pp2-sp-zero1-recompute",
           "uneven-dp2-tp2-pp2-sp-zero1", "tied-dp2-tp2-pp2-interleaved-sp-zero1", "bf16-dp2", "bf16-uneven-dp4-zero1",
           # Without gradients that an update reduces: collectives of layers alone, and those of ZeRO-2 and ZeRO-3 in each micro-batch.
           "tp2", "tp2-sp", "tp2-pp2", "cp2", "dp2-zero2", "uneven-dp2-tp2-sp-zero3", "tied-dp2-pp2-zero3", "dp2-pp2-zero3-zb1p-recompute",
           "dp2-cp2-zero3-groups-of-2", "ulysses-dp2-cp2-tp2-sp-zero1", "experts-dp2-tp2-pp2-ep4-sp-zero1-recompute",
           "offload-dp2-tp2-zero1", "bf16-offload-experts-dp4-ep2"]


def compile_both(build, scratch, name, model, options):
    """The programs without overlap and by default, and of both how many actions reduce gradients, after how many completion events, and how many
    collectives of code are started before they are waited for."""
    path = os.path.join(equivalence.HERE, "Inputs", model + ".json")
    compiled, counts = [], []
    for number, state in enumerate((["--overlap=off"], [])):
        words = [*equivalence.SHAPE, *options, *state]
        compiled.append(programs.compile_model(build, path, words, os.path.join(scratch, f"{name}.{number}")))
        form = programs.compile_model(build, path, [*words, "--emit=device"], os.path.join(scratch, name + ".mlir"))
        with open(form) as file:
            text = file.read()
        actions = re.findall(r"= ppcrt\.collective (?:all_reduce|reduce_scatter) .* after\((.*)\) on", text)
        counts.append((len(actions), sum("#" in token for token in actions), len(re.findall(r"= ppcrt\.start ", text))))
    return compiled, *counts


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
            (off, on), apart, (actions, early, started) = compile_both(arguments.build, scratch, name, rows[name][1], rows[name][2].split())
            expected, found = (equivalence.train_program(program, text, arguments.steps) for program in (off, on))
        same = same_bits(found, expected)
        failed += not same or not actions + started or any(apart)
        print(f"{name}: {actions} buckets, {early} after completion events, {started} collectives of code started, "
              f"{'the same bits' if same else 'DIFFERS'}{', OVERLAPPED WITH OVERLAP OFF' if any(apart) else ''}", flush=True)
    print(f"{len(arguments.names or LAYOUTS) - failed} of {len(arguments.names or LAYOUTS)} layouts give the same bits with overlapped communication")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
