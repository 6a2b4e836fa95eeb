#!/usr/bin/env python3
"""Executes random kernels twice: their PTX on the emulator, and the same C on this processor. Every bit must agree.

usage: random_kernels.py --runner PPC_PTX [--count N] [--seed S] [--keep DIR]

Each kernel is a random C function of whole numbers of 8 to 64 bits, f16, f32 and f64, with branches and loops in which
lanes diverge, and arrays in local memory. Clang compiles it to PTX (sm_80) and to a shared object. A kernel that differs
is printed with its seed; statements are taken out of it as long as it differs.
"""
import argparse
import ctypes
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

INTEGERS = ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]
FLOATS = ["f32", "f64"]
THREADS, INPUTS = 96, 6

HEAD = """
typedef signed char s8; typedef unsigned char u8; typedef short s16; typedef unsigned short u16; typedef int s32;
typedef unsigned int u32; typedef long long s64; typedef unsigned long long u64; typedef float f32; typedef double f64;
typedef _Float16 f16;
#ifdef __NVPTX__
#define GLOBAL __attribute__((address_space(1)))
#define BEGIN __attribute__((device_kernel)) void kernel(GLOBAL const u64 *in, GLOBAL u64 *out) { \\
  u32 thread = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
#define END }
#else
#define BEGIN void kernel(const u64 *in, u64 *out) { for (u32 thread = 0; thread < %d; ++thread) {
#define END } }
#endif
static inline u64 bits32(f32 x) { u32 r; __builtin_memcpy(&r, &x, 4); return x != x ? 0x7fffffff : r; }
static inline u64 bits64(f64 x) { u64 r; __builtin_memcpy(&r, &x, 8); return x != x ? 0x7fffffffffffffff : r; }
static inline u64 bits16(f16 x) { u16 r; __builtin_memcpy(&r, &x, 2); return x != x ? 0x7fff : r; }
""" % THREADS


class Kernel:
    """A random kernel as a list of statements, each a text that stands for itself."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.variables = {}
        self.statements = []
        for i in range(INPUTS):
            self.declare(self.random.choice(INTEGERS), f"in[thread * {INPUTS} + {i}]")
        self.declare("f32", "(f32)(s32)in[thread * %d] * 0.37f" % INPUTS)
        self.declare("f64", "(f64)(s64)in[thread * %d + 1] * 1.25" % INPUTS)
        self.declare("f16", "(f16)((s32)in[thread * %d + 2] >> 16)" % INPUTS)
        for _ in range(self.random.randint(6, 30)):
            self.statement()

    def declare(self, kind, text):
        name = f"v{len(self.variables)}"
        self.variables[name] = kind
        self.statements.append(f"{kind} {name} = {text};")

    def pick(self, kinds):
        return self.random.choice([name for name, kind in self.variables.items() if kind in kinds])

    def integer(self, depth=0):
        r = self.random
        if depth > 2 or r.random() < 0.3:
            return self.pick(INTEGERS) if r.random() < 0.8 else f"({r.choice(INTEGERS)}){r.getrandbits(r.choice([3, 8, 31]))}"
        a, b, kind = self.integer(depth + 1), self.integer(depth + 1), r.choice(["u32", "u64", "s32", "s64", "u16", "u8"])
        wide = "u32" if kind in ("s32", "u16", "u8") else "u64"
        return r.choice([
            f"({kind})(({wide}){a} + ({wide}){b})", f"({kind})(({wide}){a} - ({wide}){b})", f"({kind})(({wide}){a} * ({wide}){b})",
            f"(({kind}){a} & ({kind}){b})", f"(({kind}){a} | ({kind}){b})", f"(({kind}){a} ^ ({kind}){b})", f"({kind})~{a}",
            f"({kind})(({wide}){a} << ({b} & 15))", f"(({kind}){a} >> ({b} & 7))", f"({wide})(({wide}){a} / (({wide}){b} | 1))",
            f"({wide})(({wide}){a} % (({wide}){b} | 1))", f"(s64)((s64)(s32){a} / ((s64)(s16){b} | 1))", f"({self.condition(depth + 1)} ? {a} : {b})",
            f"(u32)__builtin_popcountll((u64){a})", f"(u32)__builtin_clz((u32){a} | 1)", f"(u32)__builtin_ctzll((u64){a} | 4096)",
            f"(u32)__builtin_bitreverse32((u32){a})", f"(u64)__builtin_bswap64((u64){a})", f"(u32)(((u64)(u32){a} * (u32){b}) >> 32)",
            f"(s32)(((s64)(s32){a} * (s32){b}) >> 32)", f"(u64)(((unsigned __int128)(u64){a} * (u64){b}) >> 64)",
            f"((s32){a} < (s32){b} ? (s32){a} : (s32){b})", f"((u64){a} > (u64){b} ? (u64){a} : (u64){b})",
            f"__builtin_rotateleft32((u32){a}, (u32){b})", self.whole(depth + 1)])

    def whole(self, depth):
        kind, value = self.random.choice([("s32", "2e9"), ("u32", "4e9"), ("s64", "9e18"), ("s16", "3e4")]), self.number("f64", depth)
        low = "0" if kind[0] == "u32" else "-" + kind[1]
        return f"({value} > {low} && {value} < {kind[1]} ? ({kind[0]})({value}) : ({kind[0]})7)"

    def number(self, kind, depth=0):
        r = self.random
        suffix = {"f32": "f", "f64": "", "f16": ""}[kind]
        if depth > 2 or r.random() < 0.3:
            name = self.pick([kind])
            return name if r.random() < 0.8 else f"({kind})({r.uniform(-4, 4):.6f}{suffix})"
        a, b = self.number(kind, depth + 1), self.number(kind, depth + 1)
        forms = [f"({kind})({a} + {b})", f"({kind})({a} - {b})", f"({kind})({a} * {b})", f"({kind})({self.integer(depth + 1)})",
                 f"({self.condition(depth + 1)} ? {a} : {b})", f"({kind})-{a}",
                 f"({kind})({self.number(r.choice(['f16', 'f32', 'f64']), depth + 1)})"]
        if kind != "f16":
            forms += [f"({kind})({a} / {b})", f"__builtin_fma{suffix}({a}, {b}, {self.number(kind, depth + 1)})",
                      f"__builtin_sqrt{suffix}(__builtin_fabs{suffix}({a}))", f"__builtin_floor{suffix}({a})",
                      f"__builtin_trunc{suffix}({a})", f"__builtin_rint{suffix}({a})", f"__builtin_ceil{suffix}({a})",
                      f"__builtin_copysign{suffix}({a}, {b})", f"__builtin_fmax{suffix}({a}, {b} == 0 ? 1 : {b})"]
        return r.choice(forms)

    def condition(self, depth=0):
        r = self.random
        relation = r.choice(["<", "<=", "==", "!=", ">", ">="])
        if r.random() < 0.3:
            kind = r.choice(["f32", "f64", "f16"])
            return f"({self.number(kind, depth + 1)} {relation} {self.number(kind, depth + 1)})"
        kind = r.choice(INTEGERS)
        return f"(({kind}){self.integer(depth + 1)} {relation} ({kind}){self.integer(depth + 1)})"

    def assignment(self):
        kind = self.random.choice(INTEGERS + FLOATS + ["f16"])
        try:
            target = self.pick([kind])
        except IndexError:
            target = self.pick(["f32"])
        kind = self.variables[target]
        return f"{target} = {self.number(kind) if kind[0] == 'f' else self.integer()};"

    def statement(self):
        r, n = self.random, len(self.statements)
        choice = r.random()
        if choice < 0.4:
            kind = r.choice(INTEGERS + FLOATS + ["f16"])
            self.declare(kind, self.number(kind) if kind[0] == "f" else self.integer())
        elif choice < 0.6:
            self.statements.append(f"if {self.condition()} {{ {self.assignment()} {self.assignment()} }} else {{ {self.assignment()} }}")
        elif choice < 0.8:
            self.statements.append(f"for (u32 i{n} = 0; i{n} < ((u32){self.integer()} & 7); ++i{n}) {{ {self.assignment()} "
                                   f"if {self.condition()} {r.choice(['continue', 'break'])}; {self.assignment()} }}")
        elif choice < 0.9:
            self.statements.append(f"{{ u32 a{n}[8]; for (u32 j = 0; j < 8; ++j) a{n}[j] = (u32){self.integer()} * (j + 1); "
                                   f"{self.pick(['u32', 's32', 'u64', 's64', 'u16', 's16', 'u8', 's8'])} = a{n}[(u32){self.integer()} & 7]; }}")
        else:
            self.statements.append(self.assignment())

    def text(self, statements):
        results = []
        for i, (name, kind) in enumerate(self.variables.items()):
            bits = {"f16": "bits16", "f32": "bits32", "f64": "bits64"}.get(kind, "(u64)")
            results.append(f"out[thread * {len(self.variables)} + {i}] = {bits}({name});")
        return HEAD + "BEGIN\n" + "\n".join(statements + results) + "\nEND\n"


def execute(kernel, statements, folder, runner):
    """Results of both; None if the text does not compile (a declaration was taken out)."""
    source, ptx, native = (os.path.join(folder, name) for name in ("kernel.c", "kernel.ptx", "kernel.so"))
    with open(source, "w") as file:
        file.write(kernel.text(statements))
    clang = ["clang-22", "-x", "c", source, "-w", "-O2", "-ffp-contract=off"]
    for options in (["--target=nvptx64-nvidia-cuda", "-march=sm_80", "-nogpulib", "-S", "-o", ptx], ["-shared", "-fPIC", "-Xclang", "-ffloat16-excess-precision=none", "-o", native]):
        if subprocess.run(clang + options, capture_output=True).returncode:
            return None
    data = random.Random(7)
    words = [data.getrandbits(64) >> data.choice([0, 0, 33, 56]) for _ in range(THREADS * INPUTS)]
    count = THREADS * len(kernel.variables)
    expected = (ctypes.c_uint64 * count)()
    library = ctypes.CDLL(shutil.copy(native, tempfile.mktemp(suffix=".so", dir=folder)))
    library.kernel((ctypes.c_uint64 * len(words))(*words), expected)
    with open(os.path.join(folder, "in"), "wb") as file:
        file.write(struct.pack(f"<{len(words)}Q", *words))
    result = subprocess.run([runner, ptx, "kernel", "--grid", "2", "--block", str(THREADS // 2), "in:" + os.path.join(folder, "in"),
                             f"out:{8 * count}:" + os.path.join(folder, "out")], capture_output=True, text=True)
    if result.returncode:
        return result.stderr, list(expected)
    with open(os.path.join(folder, "out"), "rb") as file:
        return list(struct.unpack(f"<{count}Q", file.read())), list(expected)


def differs(kernel, statements, folder, runner):
    values = execute(kernel, statements, folder, runner)
    return values is not None and values[0] != values[1]


def shrink(kernel, folder, runner):
    """Takes statements out, and the values of declarations, as long as the two differ."""
    statements = list(kernel.statements)
    for i in reversed(range(len(statements))):
        declaration = re.match(r"(\w+ v\d+) = (?!1;)", statements[i])
        fewer = statements[:i] + ([declaration[1] + " = 1;"] if declaration else []) + statements[i + 1:]
        if differs(kernel, fewer, folder, runner):
            statements = fewer
    return statements


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="where the texts of kernels that differ are put")
    arguments = parser.parse_args()
    failed = compiled = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            kernel = Kernel(seed)
            values = execute(kernel, kernel.statements, folder, arguments.runner)
            compiled += values is not None
            if values is None or values[0] == values[1]:
                continue
            failed += 1
            statements = shrink(kernel, folder, arguments.runner)
            got, expected = execute(kernel, statements, folder, arguments.runner)
            names = list(kernel.variables)
            where = "" if isinstance(got, str) else next(
                f"thread {i // len(names)}, {names[i % len(names)]}: {g:#x}, natively {e:#x}" for i, (g, e) in enumerate(zip(got, expected)) if g != e)
            print(f"seed {seed}: {got if isinstance(got, str) else where}\n" + "\n".join(statements))
            if arguments.keep:
                os.makedirs(arguments.keep, exist_ok=True)
                for name in ("kernel.c", "kernel.ptx"):
                    shutil.copy(os.path.join(folder, name), os.path.join(arguments.keep, f"{seed}-{name}"))
    print(f"{compiled} kernels, {failed} differ (seeds {arguments.seed} to {arguments.seed + arguments.count - 1})")
    sys.exit(failed > 0 or compiled * 2 < arguments.count)


main()
