#!/usr/bin/env python3
"""Mutates declarations and constants of partitioned programs at random, and demands that each mutation is refused.

    declarations.py --build BUILD [--count N] [--seed S] [NAME...]

Properties that the interpreter of `mutations.py` cannot see, because it loads no files, samples no initial values and computes in f64: how
parameters begin, of which tensors buffers hold blocks, how files store the weights, the shape of a step, and factors that f32 cannot
hold. N mutations of each kind per plan of plans.py to which they apply; a mutation that an op's own verifier refuses does not count.
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile

import plans
from mutations import emit


def replace(text, match, group, new):
    return text[:match.start(group)] + new + text[match.end(group):]


def pick(text, pattern, rng, where=None):
    found = [match for match in re.finditer(pattern, text) if where is None or where(match)]
    return rng.choice(found) if found else None


def other_extent(text, rng):
    match = pick(text, r"ppcrt\.buffer @\w+ (?:parameter|state|gradient) [^\n]* of tensor<((?:\d+x)+)\w+>", rng)
    if not match:
        return None
    sizes = match[1].split("x")[:-1]
    place = rng.randrange(len(sizes))
    sizes[place] = str(max(1, int(sizes[place]) + rng.choice([-1, 1])))
    return replace(text, match, 1, "".join(size + "x" for size in sizes))


def other_init(text, rng):
    match = pick(text, r"ppcrt\.buffer @\w+ parameter [^\n]*( init <(\w+)(?:, ([\d.e+-]+))?>)", rng)
    if not match:
        return None
    inits = [" init <ones>", " init <zeros>", " init <normal, 1.000000e-02>"]
    if match[3]:
        inits.append(f" init <normal, {float(match[3]) * (1 + 1e-6)!r}>")
    if match[2] != "zeros":
        inits.append("")
    return replace(text, match, 1, rng.choice([init for init in inits if init != match[1]]))


def other_tensor_name(text, rng):
    """Two parameters of one size take each other's tensors, or one that files do not have."""
    entry = r"shape = (array<i64: [\d, ]+>), tensor = \"([^\"]+)\""
    one = pick(text, entry, rng)
    if not one:
        return None
    two = pick(text, entry, rng, lambda match: match[1] == one[1] and match[2] != one[2])
    if not two or rng.random() < 0.3:
        return replace(text, one, 2, one[2] + "_")
    first, second = sorted((one, two), key=lambda match: match.start())
    return replace(replace(text, second, 2, first[2]), first, 2, second[2])


def other_weight_table(text, rng):
    match = pick(text, r"optional_prefix = \"([^\"]*)\"|ignored = \[([^\]]*)\]|shape = array<i64: (\d+)|offset = (\d+)|step = (\d+)", rng)
    if not match:
        return None
    group = match.lastindex
    new = {1: "x.", 2: '"*"'}.get(group) or str(int(match[group]) + 1)
    return replace(text, match, group, new)


def other_model(text, rng):
    match = pick(text, r"(?:global_batch|sequence_length|vocabulary|parameters) = (\d+) : i64", rng)
    return match and replace(text, match, 1, str(int(match[1]) + rng.choice([1, 7])))


def other_micro_batches(text, rng):
    match = pick(text, r"ppc\.plan = #ppc\.plan<.*?micro_batches = (\d+)", rng)
    return match and replace(text, match, 1, str(int(match[1]) * 2))


def lost_factor(text, rng):
    """A factor that is 0, denormal or infinite in f32, alone or with one before it; f64 sees the same numbers."""
    match = pick(text, r"\n( *%\w+ = ppc\.scale )(%\w+) by ([\d.e+-]+)( [^\n]*)", rng)
    if not match or float(match[3]) == 0:
        return None
    small = rng.choice([1e-42, 1e-60, 1e60])
    first, second = (small, 1 / small) if rng.random() < 0.5 else (small ** 0.5, small ** 0.5)
    last = float(match[3]) / first / second
    lines = [f"%lost0 = ppc.scale {match[2]} by {first:.17e}{match[4]}", f"%lost1 = ppc.scale %lost0 by {second:.17e}{match[4]}",
             f"{match[1]}%lost1 by {last:.17e}{match[4]}"]
    return text[:match.start() + 1] + "\n".join(lines) + text[match.end():]


KINDS = [other_extent, other_init, other_tensor_name, other_weight_table, other_model, other_micro_batches, lost_factor]


def accepts(build, path, *arguments):
    return subprocess.run([os.path.join(build, "bin", "ppc-opt"), path, *arguments, "-o", "/dev/null"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def run(build, scratch, plan, count, rng, made, refused):
    logical, ranks = emit(build, scratch, plan)
    with open(ranks) as file:
        text = file.read()
    proof = f"--ppc-verify-equivalence=logical={logical}"
    if not accepts(build, ranks, proof):
        sys.exit(f"{plan[0]}: the program itself is refused")
    mutant, missed = os.path.join(scratch, "mutant.mlir"), []
    for kind in KINDS:
        done = 0
        for _ in range(4 * count):
            changed = kind(text, rng)
            if changed is None or changed == text or done == count:
                continue
            with open(mutant, "w") as file:
                file.write(changed)
            if not accepts(build, mutant):
                continue  # no program
            done += 1
            made[kind.__name__] += 1
            if not accepts(build, mutant, proof):
                refused[kind.__name__] += 1
                continue
            line = next(number for number, (a, b) in enumerate(zip(text.split("\n"), changed.split("\n"))) if a != b)
            missed.append(f"missed: {plan[0]}: {kind.__name__}, line {line + 1}: {changed.split(chr(10))[line].strip()[:200]}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-opt and bin/ppc-compile")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", help="parts of names of plans")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    made, refused, missed = collections.Counter(), collections.Counter(), []
    print(f"seed {arguments.seed}")
    with tempfile.TemporaryDirectory() as scratch:
        for plan in plans.small():
            if not arguments.names or any(name in plan[0] for name in arguments.names):
                missed += run(arguments.build, scratch, plan, arguments.count, rng, made, refused)
    for kind in KINDS:
        print(f"{kind.__name__:20} {made[kind.__name__]:4} made, {refused[kind.__name__]:4} refused")
    print("\n".join(missed), end="\n" if missed else "")
    print(f"{refused.total()} of {made.total()} mutations are refused")
    sys.exit(0 if made.total() and refused == made else 1)


if __name__ == "__main__":
    main()
