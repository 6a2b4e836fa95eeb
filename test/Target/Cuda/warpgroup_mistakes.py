#!/usr/bin/env python3
"""Makes one mistake at a time in the PTX of attention by warpgroups, and looks whether the stand-in notices.

usage: warpgroup_mistakes.py --opt PPC_OPT --runner PPC_PTX

The kernel is that of a small causal attention, which agrees with the interpreter. Of a mistake every place where it can be made is tried, one after
the other, or all at once where a single one may do no harm: the next fence serves, too, nobody has to wait for a stage that was not used yet, powers of
hidden keys are zero. In up to ORDERS orders of warps and copies: one of them must be reported, or give other numbers.
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
QUERIES, KEYS, DIM = 64, 520, 64 # five tiles of keys in two stages, of which two are looked at key by key
ROW = f"1x{KEYS}x1x{DIM}xbf16"
FUNCTION = f"""func.func @attention(%q: tensor<1x{QUERIES}x1x1x{DIM}xbf16>, %k: tensor<{ROW}>, %v: tensor<{ROW}>) -> (tensor<1x{QUERIES}x1x1x{DIM}xbf16>, tensor<1x{QUERIES}x1x1xf32>) attributes {{test.rounding = 2.0e-02}} {{
  %out, %lse = ppc.attention %q, %k, %v scale 1.250000e-01 causal : tensor<1x{QUERIES}x1x1x{DIM}xbf16>, tensor<{ROW}>, tensor<{ROW}> -> tensor<1x{QUERIES}x1x1x{DIM}xbf16>, tensor<1x{QUERIES}x1x1xf32>
  return %out, %lse : tensor<1x{QUERIES}x1x1x{DIM}xbf16>, tensor<1x{QUERIES}x1x1xf32>
}}
"""
# What is wrong, what is looked for, what is there instead.
AT_ONCE = [
    ("registers are not fenced", r"wgmma\.fence\.sync\.aligned;", ""),
    ("waits that gave up are not repeated", r"@!done bra AGAIN;", ""),
    ("no turn is waited for", r"bar\.sync %[^;]*;", ""),
    ("values are taken for keys", r"(m64n64k16[^;]*), 1, 1, 1, 1;", r"\1, 1, 1, 1, 0;"),
]
MISTAKES = [
    ("a product is not waited for", r"wgmma\.wait_group\.sync\.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
    ("no product is waited for", r"wgmma\.wait_group\.sync\.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),
    ("a product is not committed", r"wgmma\.commit_group\.sync\.aligned;", ""),
    ("nobody says that a stage is free", r"mbarrier\.arrive\.shared::cta\.b64 _, \[[^]]*\];", ""),
    ("fewer bytes are expected", r"(expect_tx\.shared::cta\.b64 _, \[[^]]*\], )(\d+)", lambda m: m.group(1) + str(int(m.group(2)) - 1024)),
    ("barriers are not shown to copies", r"fence\.mbarrier_init\.release\.cluster;", ""),
    ("barriers are used before they are made", r"bar(rier)?\.sync(\.aligned)?\s+0;", ""),
    ("the other warpgroup gets no turn", r"bar\.arrive [^;]*;", ""),
    ("more registers are taken than there are", r"setmaxnreg\.inc\.sync\.aligned\.u32 240;", "setmaxnreg.inc.sync.aligned.u32 248;"),
    ("keys are taken for values", r"(m64n128k16[^;]*), 0;", r"\1, 1;"),
]


def places(text, pattern, replacement):
    """The texts with one of all places changed."""
    for match in re.finditer(pattern, text):
        new = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
        yield text[:match.start()] + new + text[match.end():]


class Kernel:
    def __init__(self, opt, runner, folder):
        self.runner, self.folder = runner, folder
        source, self.ptx = os.path.join(folder, "attention.mlir"), os.path.join(folder, "attention.ptx")
        with open(source, "w") as file:
            file.write(FUNCTION)
        subprocess.run([opt, source, f"--ppc-test-kernel-numerics=chip=sm_90a ptx={self.ptx}", "-o", os.devnull], check=True, stdout=subprocess.DEVNULL)
        with open(self.ptx) as file:
            self.text = file.read()
        self.name = re.search(r"\.entry (\w+)\(", self.text).group(1)
        r = random.Random(1)
        self.arguments = []
        for name, rows in (("q", QUERIES), ("k", KEYS), ("v", KEYS)):
            path = os.path.join(folder, name)
            with open(path, "wb") as file:  # the upper halves of f32
                file.write(b"".join(struct.pack("<f", r.uniform(-1, 1))[2:] for _ in range(rows * DIM)))
            self.arguments.append("in:" + path)
        self.outputs = [os.path.join(folder, name) for name in ("out", "logarithms")]
        self.arguments += [f"out:{QUERIES * DIM * 2}:{self.outputs[0]}", f"out:{QUERIES * 4}:{self.outputs[1]}"]
        self.arguments += [f"map:{i}:{DIM},1,{KEYS},1:{DIM * 2},{DIM * 2},{KEYS * DIM * 2}:64,1,128,1" for i in (1, 2)]
        self.shared = 4 * 128 * DIM * 2 + 8 * 8

    def run(self, text, seed):
        """The bytes of the results, or what was reported."""
        with open(self.ptx, "w") as file:
            file.write(text)
        run = subprocess.run([self.runner, self.ptx, self.name, "--grid", "1", "--block", "384", "--shared", str(self.shared), "--seed", str(seed), "--limit", "3000000",
                              *self.arguments], capture_output=True, text=True)
        if run.returncode:
            return run.stderr
        return b"".join(open(path, "rb").read() for path in self.outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--opt", required=True)
    parser.add_argument("--runner", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kernel = Kernel(arguments.opt, arguments.runner, folder)
        right = kernel.run(kernel.text, 1)
        if isinstance(right, str) or kernel.run(kernel.text, 2) != right:
            sys.exit(f"the kernel itself fails: {right}")
        tried = missed = 0
        for what, pattern, replacement in AT_ONCE + MISTAKES:
            changed = list(places(kernel.text, pattern, replacement))
            if not changed:
                sys.exit(f"{what}: no place for it")
            if (what, pattern, replacement) in AT_ONCE:
                first = re.search(pattern, kernel.text).end() if "fence" in pattern else 0  # one is needed to begin with
                changed = [kernel.text[:first] + re.sub(pattern, replacement, kernel.text[first:])]
            for number, text in enumerate(changed):
                tried += 1
                if all(kernel.run(text, seed) == right for seed in range(1, ORDERS + 1)):
                    missed += 1
                    print(f"not noticed: {what}, place {number}")
    print(f"{tried - missed} of {tried} mistakes in attention by warpgroups are noticed")
    sys.exit(missed > 0)


main()
