#!/usr/bin/env python3
"""Executes the kernels of warpgroup_kernels.c on the stand-in, compiled to PTX of sm_90a by Clang.

usage: warpgroup_kernels.py --runner PPC_PTX [--seeds N]

Those that are right must give what is computed here, for N orders of warps and blocks; those that are wrong must be
reported with the kind that their name begins with.
"""
import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile

# The name of a wrong kernel begins with one of these. What is too early may be seen as a race, or as a barrier that is not
# there; what goes wrong in some orders alone is tried in more of them.
KINDS = {"race": ["race", "uninitialized memory"], "either": ["race", "barrier", "uninitialized memory"], "sometimes": ["race", "uninitialized memory"], "bounds": ["out of bounds"], "misaligned": ["misaligned address"], "divergent": ["divergence"],
         "barrier": ["barrier"], "trap": ["trap"]}


def pack(values, kind):
    return struct.pack(f"<{len(values)}{kind}", *values)


def bfloat(value):
    """Bits of a value that bf16 holds exactly."""
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


def matrix(r, rows, columns):
    return [[float(r.randint(-8, 8)) / 4 for _ in range(columns)] for _ in range(rows)]


def bits(rows):
    return pack([bfloat(v) for row in rows for v in row], "H")


def times(x, y, factor=1):
    """x y' of matrices by rows, as f32."""
    return pack([factor * sum(a * b for a, b in zip(row, other)) for row in x for other in y], "f")


class Runner:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.ptx = os.path.join(folder, "kernels.ptx")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "warpgroup_kernels.c")
        subprocess.run(["clang-22", "-x", "c", source, "--target=nvptx64-nvidia-cuda", "-march=sm_90a", "-Xclang", "-target-feature", "-Xclang", "+ptx80",
                        "-O2", "-nogpulib", "-w", "-ffreestanding", "-S", "-o", self.ptx], check=True)

    def run(self, kernel, threads, arguments, out_bytes, seed=1):
        """The bytes of the output, or what was reported. Arguments are bytes of a buffer, or text."""
        command = []
        for i, argument in enumerate(arguments):
            if isinstance(argument, bytes):
                path = os.path.join(self.folder, f"in{i}")
                with open(path, "wb") as file:
                    file.write(argument)
                argument = "in:" + path
            command.append(argument)
        out = os.path.join(self.folder, "out")
        run = subprocess.run([self.program, self.ptx, kernel, "--block", str(threads), "--seed", str(seed), "--limit", "3000000", *command, f"out:{out_bytes}:{out}"],
                             capture_output=True, text=True)
        if run.returncode:
            return run.stderr
        with open(out, "rb") as file:
            return file.read()


def right(runner, seed):
    """(name, got, expected) of each kernel that is right."""
    r = random.Random(seed)
    x, y, z = matrix(r, 64, 64), matrix(r, 16, 64), matrix(r, 60, 60)
    maps = ["map:0:64,64:128:64,64", "map:1:64,16:128:64,16"]
    yield "product", runner.run("product", 128, [bits(x), bits(y), *maps], 4096, seed), times(x, y)
    # The box begins at column 8; rows and columns from 60 on are zero.
    columns = [[z[k][8 + n] if k < 60 else 0.0 for k in range(64)] for n in range(16)]
    padded = bits([row + [7.0] * 4 for row in z])
    yield "product_columns", runner.run("product_columns", 128, [bits(x), padded, maps[0], "map:1:60,60:128:64,64"], 4096, seed), times(x, columns)
    yield ("product_registers", runner.run("product_registers", 128, [bits(x), bits(y)], 4096, seed), times([row[:16] for row in x], [row[:16] for row in y], 4))
    values = [float(r.randint(-50, 50)) for _ in range(512)]
    sums = [sum(values[64 * i + (t + 32) % 64] for i in range(8)) for t in range(96)]
    yield "pieces", runner.run("pieces", 128, [pack(values, "f")], 384, seed), pack(sums, "f")
    yield "registers", runner.run("registers", 256, [], 1024, seed), pack([float(t) for t in range(256)], "f")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    failed = done = reported = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(arguments.runner, folder)
        for seed in range(1, arguments.seeds + 1):
            for name, got, expected in right(runner, seed):
                done += 1
                if got != expected:
                    failed += 1
                    print(f"{name}, seed {seed}: {got.strip() if isinstance(got, str) else 'other values'}")
        listed = subprocess.run([arguments.runner, runner.ptx], capture_output=True, text=True, check=True).stdout.split("\n")
        ones = bits([[1.0] * 64] * 64)
        inputs = [ones, ones, "map:0:64,64:128:64,64", "map:1:64,64:128:64,16"]
        for name in (line.split(" ")[0] for line in listed if line):
            kind = name.split("_")[0]
            if kind not in KINDS:
                continue
            for seed in range(1, arguments.seeds + 1):
                for order in range(20 if kind == "sometimes" else 1):
                    got = runner.run(name, 128, inputs, 4096, seed + 100 * order)
                    text = got if isinstance(got, str) else "nothing"
                    if isinstance(got, str):
                        break
                reported += 1
                if not any(f": {wanted}: " in text for wanted in KINDS[kind]):
                    failed += 1
                    print(f"{name}, seed {seed}: reported {text.strip()}")
    print(f"{done} runs right, {reported} mistakes reported, {failed} failed")
    sys.exit(failed > 0 or reported == 0)


main()
