#!/usr/bin/env python3
"""Executes the kernels of warp_kernels.c on the PTX emulator, compiled to PTX by Clang.

usage: warp_kernels.py --runner PPC_PTX [--seeds N]

Those that are right must give what is computed here, for N orders of warps and blocks; those that are wrong must be
reported with the kind that their name begins with.
"""
import random
import struct

import compiled_kernels
from compiled_kernels import bfloat, pack

MASK = 0xFFFFFFFF
# The name of a wrong kernel begins with one of these.
# A race may be seen as a read of bytes that were never written.
KINDS = {"race": ["race", "uninitialized memory"], "uninitialized": ["uninitialized memory"], "bounds": ["out of bounds"], "misaligned": ["misaligned address"],
         "divergent": ["divergence", "barrier"], "barrier": ["barrier"], "trap": ["trap"], "hang": ["hang"]}


def words(data):
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def exchanged(x):
    signed = [v - (1 << 32) if v >> 31 else v for v in x]
    result = []
    for lane in range(32):
        segment = lane & 24
        down = lane + 2
        result += [
            x[lane - 3] if lane >= 3 else x[lane],
            x[lane + 5] if lane + 5 <= 31 else x[lane],
            x[lane ^ 9],
            x[x[lane] % 32],
            x[down] if down <= segment + 7 else x[lane],
            sum((v > 1000) << i for i, v in enumerate(x)),
            sum((v % 4 == x[lane] % 4) << i for i, v in enumerate(x)),
            sum(x) & MASK,
            min(signed) & MASK,
            x[lane ^ 1] if lane < 16 else 0,
        ]
    return result


def right(runner, seed):
    """(name, got, expected) of each kernel that is right."""
    r = random.Random(seed)
    values = [float(r.randint(-50, 50)) for _ in range(4 * 256)]
    yield "sum", runner.run("sum", 4, 256, [pack(values, "f")], 16, seed), pack([sum(values[i * 256:i * 256 + 256]) for i in range(4)], "f")
    tiles = [r.random() for _ in range(3 * 1024)]
    turned = [tiles[t * 1024 + column * 32 + row] for t in range(3) for row in range(32) for column in range(32)]
    yield "transpose", runner.run("transpose", 1, 256, [pack(tiles, "f")], 3 * 4096, seed), pack(turned, "f")
    x = [r.getrandbits(r.choice([8, 32])) for _ in range(32)]
    yield "exchange", runner.run("exchange", 1, 32, [pack(x, "I")], 1280, seed), pack(exchanged(x), "I")
    a, b = ([float(r.randint(-8, 8)) / 4 for _ in range(count)] for count in (256, 128))
    c = [[sum(a[i * 16 + k] * b[k * 8 + j] for k in range(16)) + 1 + i // 8 * 2 + j % 2 for j in range(8)] for i in range(16)]
    yield ("product", runner.run("product", 1, 32, [pack([bfloat(v) for v in a], "H"), pack([bfloat(v) for v in b], "H")], 512, seed),
           pack(sum(c, []), "f"))
    x = [r.getrandbits(32) for _ in range(4 * 96)]
    yield "histogram", runner.run("histogram", 4, 96, [pack(x, "I")], 64, seed), pack([sum(v % 16 == i for v in x) for i in range(16)], "I")
    mirrored = [(t // 64 * 64 + 63 - t % 64) for t in range(128)]
    yield "halves", runner.run("halves", 1, 128, [], 512, seed), pack([mirrored[127 - t] + 1000 for t in range(128)], "I")


def wrong(runner, name, seed):
    return runner.run(name, 1, 128, [pack([1.0] * 128, "f")] if "copy" in name else [], 512, seed)


compiled_kernels.main(__doc__, "warp_kernels.c", ["-march=sm_80"], right, wrong, KINDS)
