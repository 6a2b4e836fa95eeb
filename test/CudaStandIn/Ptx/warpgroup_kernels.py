#!/usr/bin/env python3
"""Executes the kernels of warpgroup_kernels.c on the PTX emulator, compiled to PTX of sm_90a by Clang.

usage: warpgroup_kernels.py --runner PPC_PTX [--seeds N]

Those that are right must give what is computed here, for N orders of warps and blocks; those that are wrong must be
reported with the kind that their name begins with.
"""
import random

import compiled_kernels
from compiled_kernels import bfloat, pack

# The name of a wrong kernel begins with one of these. An access that is too early may be seen as a race, or as a
# barrier that is not initialized; faults that show only in some orders are tried with more seeds.
KINDS = {"race": ["race", "uninitialized memory"], "either": ["race", "barrier", "uninitialized memory"], "sometimes": ["race", "uninitialized memory"], "bounds": ["out of bounds"], "misaligned": ["misaligned address"], "divergent": ["divergence"],
         "barrier": ["barrier"], "trap": ["trap"]}


def matrix(r, rows, columns):
    return [[float(r.randint(-8, 8)) / 4 for _ in range(columns)] for _ in range(rows)]


def bits(rows):
    return pack([bfloat(v) for row in rows for v in row], "H")


def times(x, y, factor=1):
    """x y' of matrices by rows, as f32."""
    return pack([factor * sum(a * b for a, b in zip(row, other)) for row in x for other in y], "f")


def right(runner, seed):
    """(name, got, expected) of each kernel that is right."""
    r = random.Random(seed)
    x, y, z = matrix(r, 64, 64), matrix(r, 16, 64), matrix(r, 60, 60)
    maps = ["map:0:64,64:128:64,64", "map:1:64,16:128:64,16"]
    yield "product", runner.run("product", 1, 128, [bits(x), bits(y), *maps], 4096, seed), times(x, y)
    # The box begins at column 8; rows and columns from 60 on are zero.
    columns = [[z[k][8 + n] if k < 60 else 0.0 for k in range(64)] for n in range(16)]
    padded = bits([row + [7.0] * 4 for row in z])
    yield "product_columns", runner.run("product_columns", 1, 128, [bits(x), padded, maps[0], "map:1:60,60:128:64,64"], 4096, seed), times(x, columns)
    yield ("product_registers", runner.run("product_registers", 1, 128, [bits(x), bits(y)], 4096, seed), times([row[:16] for row in x], [row[:16] for row in y], 4))
    values = [float(r.randint(-50, 50)) for _ in range(512)]
    sums = [sum(values[64 * i + (t + 32) % 64] for i in range(8)) for t in range(96)]
    yield "pieces", runner.run("pieces", 1, 128, [pack(values, "f")], 384, seed), pack(sums, "f")
    yield "registers", runner.run("registers", 1, 256, [], 1024, seed), pack([float(t) for t in range(256)], "f")


def wrong(runner, name, seed):
    ones = bits([[1.0] * 64] * 64)
    for order in range(20 if name.startswith("sometimes") else 1):
        got = runner.run(name, 1, 128, [ones, ones, "map:0:64,64:128:64,64", "map:1:64,64:128:64,16"], 4096, seed + 100 * order)
        if isinstance(got, str):
            break
    return got


compiled_kernels.main(__doc__, "warpgroup_kernels.c", ["-march=sm_90a", "-Xclang", "-target-feature", "-Xclang", "+ptx80"], right, wrong, KINDS)
