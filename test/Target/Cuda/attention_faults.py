"""Shared by warpgroup_faults.py and tensor_memory_faults.py: injects one fault at a time into the PTX of a small causal attention, which agrees with the
interpreter, and checks that the PTX emulator detects it.

A fault is injected at every possible position, one after the other, or at all of them if a single one may do no harm: the next fence serves, too,
no thread has to wait for a stage that was not used yet, exponentials of masked keys are zero. In up to ORDERS orders of warps and copies: one of them must be
reported, or give other numbers.
"""
import argparse
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

ORDERS = 6


def function(queries, keys, dim, scale):
    """Attention of these sizes."""
    q, k = f"tensor<1x{queries}x1x1x{dim}xbf16>", f"tensor<1x{keys}x1x{dim}xbf16>"
    logarithms = f"tensor<1x{queries}x1x1xf32>"
    return f"""func.func @attention(%q: {q}, %k: {k}, %v: {k}) -> ({q}, {logarithms}) attributes {{test.rounding = 2.0e-02}} {{
  %out, %lse = ppc.attention %q, %k, %v scale {scale:e} causal : {q}, {k}, {k} -> {q}, {logarithms}
  return %out, %lse : {q}, {logarithms}
}}
"""


def places(text, pattern, replacement):
    """The texts with one of all positions changed."""
    for match in re.finditer(pattern, text):
        new = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
        yield text[:match.start()] + new + text[match.end():]


class Kernel:
    """`threads` and `shared`: of a block, of which there is one; `maps`: which of q, k and v are copied by tensor maps of 128 rows."""

    def __init__(self, opt, runner, folder, chip, queries, keys, dim, scale, threads, shared, maps):
        self.runner, self.folder, self.threads, self.shared = runner, folder, threads, shared
        source, self.ptx = os.path.join(folder, "attention.mlir"), os.path.join(folder, "attention.ptx")
        with open(source, "w") as file:
            file.write(function(queries, keys, dim, scale))
        subprocess.run([opt, source, f"--ppc-test-kernel-numerics=chip={chip} ptx={self.ptx}", "-o", os.devnull], check=True, stdout=subprocess.DEVNULL)
        with open(self.ptx) as file:
            self.text = file.read()
        self.name = re.search(r"\.entry (\w+)\(", self.text).group(1)
        r = random.Random(1)
        self.arguments = []
        rows = (queries, keys, keys)
        for name, count in zip("qkv", rows):
            path = os.path.join(folder, name)
            with open(path, "wb") as file:  # the upper halves of f32
                file.write(b"".join(struct.pack("<f", r.uniform(-1, 1))[2:] for _ in range(count * dim)))
            self.arguments.append("in:" + path)
        self.outputs = [os.path.join(folder, name) for name in ("out", "logarithms")]
        self.arguments += [f"out:{queries * dim * 2}:{self.outputs[0]}", f"out:{queries * 4}:{self.outputs[1]}"]
        self.arguments += [f"map:{i}:{dim},1,{rows[i]},1:{dim * 2},{dim * 2},{rows[i] * dim * 2}:64,1,128,1" for i in maps]

    def run(self, text, seed):
        """The bytes of the results, or what was reported."""
        with open(self.ptx, "w") as file:
            file.write(text)
        run = subprocess.run([self.runner, self.ptx, self.name, "--grid", "1", "--block", str(self.threads), "--shared", str(self.shared), "--seed", str(seed), "--limit", "3000000",
                              *self.arguments], capture_output=True, text=True)
        if run.returncode:
            return run.stderr
        return b"".join(open(path, "rb").read() for path in self.outputs)


def main(description, what_of, at_once, faults, **kernel_arguments):
    """`at_once`, `faults`: name of the fault, pattern, replacement."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--opt", required=True)
    parser.add_argument("--runner", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kernel = Kernel(arguments.opt, arguments.runner, folder, **kernel_arguments)
        right = kernel.run(kernel.text, 1)
        if isinstance(right, str) or kernel.run(kernel.text, 2) != right:
            sys.exit(f"the kernel itself fails: {right}")
        tried = missed = 0
        for what, pattern, replacement in at_once + faults:
            changed = list(places(kernel.text, pattern, replacement))
            if not changed:
                sys.exit(f"{what}: the pattern does not occur")
            if (what, pattern, replacement) in at_once:
                first = re.search(pattern, kernel.text).end() if "wgmma" in pattern and "fence" in pattern else 0  # one is needed to begin with
                changed = [kernel.text[:first] + re.sub(pattern, replacement, kernel.text[first:])]
            for number, text in enumerate(changed):
                tried += 1
                if all(kernel.run(text, seed) == right for seed in range(1, ORDERS + 1)):
                    missed += 1
                    print(f"not noticed: {what}, position {number}")
    print(f"{tried - missed} of {tried} faults in attention by {what_of} are noticed")
    sys.exit(missed > 0)
