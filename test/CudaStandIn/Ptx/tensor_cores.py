#!/usr/bin/env python3
"""Executes mma.sync on the PTX emulator and compares each bit with the published model of tensor cores.

usage: tensor_cores.py --runner PPC_PTX [--count N] [--seed N]

The rules are from Xie et al., "MMA-Sim" (arXiv 2511.10909): exact `a b` and the sum so far are aligned to the largest exponent, truncated
24 bits below it up to Ada, where an MMA of full depth is two halves one after the other, or 25 bits below it since Hopper, in one; the
sum is truncated to f32. First sums by hand, whose results differ from rounding, then random ones against the rules in exact
fractions.
"""
import argparse
import math
import os
import random
import struct
import subprocess
import tempfile
from fractions import Fraction

TARGETS = {"sm_80": (24, True), "sm_89": (24, True), "sm_90a": (25, False), "sm_100a": (25, False)}
# Type, depth, registers of A and of B, factors in a register.
SHAPES = [("bf16", 16, 4, 2, 2), ("bf16", 8, 2, 1, 2), ("f16", 16, 4, 2, 2), ("f16", 8, 2, 1, 2), ("tf32", 8, 4, 2, 1), ("tf32", 4, 2, 1, 1)]

KERNEL = """.version 8.7
.target {target}
.address_size 64
.visible .entry product(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{{
  .reg .b32 %r<32>;
  .reg .f32 %f<16>;
  .reg .b64 %rd<16>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [pa];
  ld.param.u64 %rd1, [pb];
  ld.param.u64 %rd2, [pc];
  ld.param.u64 %rd3, [pd];
  mul.wide.u32 %rd4, %r0, {a_bytes};
  add.s64 %rd0, %rd0, %rd4;
  mul.wide.u32 %rd5, %r0, {b_bytes};
  add.s64 %rd1, %rd1, %rd5;
  mul.wide.u32 %rd6, %r0, 16;
  add.s64 %rd2, %rd2, %rd6;
  add.s64 %rd3, %rd3, %rd6;
{loads}
  mma.sync.aligned.m16n8k{depth}.row.col.f32.{kind}.{kind}.f32 {{%f4, %f5, %f6, %f7}}, {{{a}}}, {{{b}}}, {{%f0, %f1, %f2, %f3}};
  st.global.f32 [%rd3], %f4;
  st.global.f32 [%rd3+4], %f5;
  st.global.f32 [%rd3+8], %f6;
  st.global.f32 [%rd3+12], %f7;
  ret;
}}
"""


def f32_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def f32_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def encode(value, kind):
    """Bits of a number that the type holds exactly."""
    if kind == "f16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    return f32_bits(value) >> 16 if kind == "bf16" else f32_bits(value)


class Machine:
    """One MMA on the PTX emulator."""

    def __init__(self, runner, folder):
        self.runner, self.folder = runner, folder

    def file(self, name, words):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(struct.pack(f"<{len(words)}I", *words))
        return path

    def run(self, target, shape, a, b, c):
        """D of 16 x 8 for A of 16 x depth, B of depth x 8 (bits), C of 16 x 8 (bits)."""
        kind, depth, a_count, b_count, parts = shape
        words = {"a": [], "b": [], "c": []}
        for lane in range(32):
            for i in range(a_count):
                row, first = lane // 4 + 8 * (i & 1), parts * (lane % 4) + 4 * parts * (i >> 1)
                words["a"].append(sum(a[row][first + p] << 16 * p for p in range(parts)))
            for i in range(b_count):
                first = parts * (lane % 4) + 4 * parts * i
                words["b"].append(sum(b[first + p][lane // 4] << 16 * p for p in range(parts)))
            words["c"] += [c[lane // 4 + 8 * (i >> 1)][2 * (lane % 4) + (i & 1)] for i in range(4)]
        loads = [f"  ld.global.b32 %r{1 + i}, [%rd0+{4 * i}];" for i in range(a_count)]
        loads += [f"  ld.global.b32 %r{9 + i}, [%rd1+{4 * i}];" for i in range(b_count)]
        loads += [f"  ld.global.f32 %f{i}, [%rd2+{4 * i}];" for i in range(4)]
        ptx = os.path.join(self.folder, "product.ptx")
        with open(ptx, "w") as file:
            file.write(KERNEL.format(target=target, kind=kind, depth=depth, a_bytes=4 * a_count, b_bytes=4 * b_count, loads="\n".join(loads),
                                     a=", ".join(f"%r{1 + i}" for i in range(a_count)), b=", ".join(f"%r{9 + i}" for i in range(b_count))))
        out = os.path.join(self.folder, "out")
        inputs = ["in:" + self.file(name, words[name]) for name in "abc"]
        subprocess.run([self.runner, ptx, "product", "--grid", "1", "--block", "32", *inputs, f"out:512:{out}"], check=True)
        with open(out, "rb") as file:
            flat = struct.unpack("<128I", file.read())
        d = [[0] * 8 for _ in range(16)]
        for lane in range(32):
            for i in range(4):
                d[lane // 4 + 8 * (i >> 1)][2 * (lane % 4) + (i & 1)] = flat[4 * lane + i]
        return d


def exponent_of(value, least):
    return -126 if value == 0 else max(math.frexp(value)[1] - 1, least)


def decode(bits, kind):
    if kind == "f16":
        return struct.unpack("<e", struct.pack("<H", bits))[0], -14
    return f32_of(bits << 16 if kind == "bf16" else bits & ~0x1FFF), -126


def published(target, shape, a, b, c):
    """The bits of c + a b by the rules, for bits of factors and of c; all finite."""
    kind, depth = shape[:2]
    fraction, halves = TARGETS[target]
    block = min(depth, 4 if kind == "tf32" else 8) if halves else depth
    total = f32_of(c)
    for first in range(0, depth, block):
        terms = [(Fraction(total), exponent_of(total, -126))]
        for k in range(first, first + block):
            (x, least), (y, _) = decode(a[k], kind), decode(b[k], kind)
            terms.append((Fraction(x) * Fraction(y), exponent_of(x, least) + exponent_of(y, least)))
        unit = Fraction(2) ** (max(exponent for _, exponent in terms) - fraction)
        exact = sum(math.trunc(value / unit) for value, _ in terms) * unit
        if exact == 0:
            total = 0.0
            continue
        exponent = -126
        magnitude = abs(exact)
        while magnitude >= Fraction(2) ** (exponent + 1):
            exponent += 1
        last = Fraction(2) ** (exponent - 23)
        magnitude = math.trunc(magnitude / last) * last
        total = math.copysign(float(magnitude) if magnitude < Fraction(2) ** 128 else math.inf, exact)
    return f32_bits(total)


def by_hand():
    """(type, what to put where as (k, a, b), c, the sum up to Ada, the sum since Hopper): values, of depth 16 (tf32: 8)."""
    one, tiny = 1.0, 2.0**-12
    cases = []
    for kind in ("bf16", "f16", "tf32"):
        half = 4 if kind == "tf32" else 8
        cases += [
            # 2^-24 twice is one ulp of 1; added one by one each would be rounded away.
            (kind, [(0, tiny, tiny), (1, tiny, tiny)], one, 1 + 2.0**-23, 1 + 2.0**-23),
            # 2^-25 four times: truncated up to Ada; kept since Hopper, where together they are one ulp.
            (kind, [(k, tiny / 2, tiny) for k in range(4)], one, one, 1 + 2.0**-23),
            # Three times 2^-24 is one and a half ulp: rounding to even would give two.
            (kind, [(k, tiny, tiny) for k in range(3)], one, 1 + 2.0**-23, 1 + 2.0**-23),
            # Negative: -2^-25 is truncated towards zero up to Ada; since Hopper the sum is below 1 and truncated to the
            # number before 1.
            (kind, [(0, -tiny / 2, tiny)], one, one, 1 - 2.0**-24),
            # 1 - 1 + 2^-30: the small one is lost wherever it is added to a 1. Up to Ada the second half sees only the
            # sum of the first.
            (kind, [(0, one, one), (1, -one, one), (half, 2.0**-14, 2.0**-14 * 0.25)], 0.0, 2.0**-30, 0.0),
            (kind, [(0, 2.0**-14, 2.0**-14 * 0.25), (half, one, one), (half + 1, -one, one)], 0.0, 0.0, 0.0),
        ]
    # An f32 as the sum so far has all its bits where it is the largest.
    cases.append(("bf16", [(0, one, 2.0**-30)], 1 + 2.0**-23, 1 + 2.0**-23, 1 + 2.0**-23))
    return cases


def random_factor(random, kind):
    spread = 6 if kind == "f16" else 20
    if random.random() < 0.05:
        return 0
    value = random.uniform(-2, 2) * 2.0 ** random.randint(-spread, spread)
    if random.random() < 0.05:
        value *= 2.0**-14 if kind == "f16" else 2.0**-120  # denormal numbers among them
    return encode(value, "f16") if kind == "f16" else f32_bits(value) >> 16 if kind == "bf16" else f32_bits(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", required=True)
    parser.add_argument("--count", type=int, default=20, help="random MMAs, spread over shapes and targets in turn")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    draw, checked, drawn, differ = random.Random(options.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(options.runner, folder)
        for kind, terms, c, ada, hopper in by_hand():
            shape = next(s for s in SHAPES if s[0] == kind)
            depth = shape[1]
            row, column = [0] * depth, [0] * depth
            for k, x, y in terms:
                row[k], column[k] = encode(x, kind), encode(y, kind)
            for target, expected in (("sm_80", ada), ("sm_90a", hopper)):
                a, b = [row] * 16, [[column[k]] * 8 for k in range(depth)]
                d = machine.run(target, shape, a, b, [[f32_bits(c)] * 8] * 16)
                checked += 1
                if any(bits != f32_bits(expected) for line in d for bits in line):
                    differ += 1
                    print(f"{target} {kind} {terms} + {c}: {f32_of(d[0][0])!r}, by hand {expected!r}")
        for i in range(options.count * 10):
            shape = SHAPES[i % len(SHAPES)]
            target = list(TARGETS)[i // len(SHAPES) % len(TARGETS)]
            kind, depth = shape[:2]
            a = [[random_factor(draw, kind) for _ in range(depth)] for _ in range(16)]
            b = [[random_factor(draw, kind) for _ in range(8)] for _ in range(depth)]
            c = [[f32_bits(draw.uniform(-4, 4) * 2.0 ** draw.randint(-20, 20)) for _ in range(8)] for _ in range(16)]
            d = machine.run(target, shape, a, b, c)
            order = list(range(depth))  # within a block, the order makes no difference
            size = 4 if kind == "tf32" else 8
            for first in range(0, depth, size):
                part = order[first:first + size]
                draw.shuffle(part)
                order[first:first + size] = part
            again = machine.run(target, shape, [[line[k] for k in order] for line in a], [b[k] for k in order], c)
            for row in range(16):
                for column in range(8):
                    expected = published(target, shape, a[row], [b[k][column] for k in range(depth)], c[row][column])
                    drawn += 1
                    if d[row][column] != expected or again[row][column] != expected:
                        differ += 1
                        print(f"{target} {kind} k{depth}, element {row}, {column}: {d[row][column]:08x}, in another order {again[row][column]:08x}, "
                              f"by the rules {expected:08x}")
    print(f"{checked} sums by hand and {drawn} random ones are as published, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
