#!/usr/bin/env python3
"""Executes kernels that Triton compiled on the PTX emulator, and compares them with numpy: none of its PTX was in view when
the emulator was written.

usage: triton_kernels.py --runner PPC_PTX [--environment DIR] [--arch 80] [--only NAME]

Triton and numpy are installed into an environment of their own (DIR, about 1 GB), from the Python package index. Needs no
GPU and no driver.
"""
import argparse
import os
import subprocess
import sys
import tempfile

PACKAGES = ["triton==3.9.0", "numpy"]


def enter_environment(folder):
    """Starts this script again with the Python of the environment."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    if subprocess.run([python, "-c", "import triton, numpy"], capture_output=True).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:], "--inside"])


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--environment", default="build/triton")
    parser.add_argument("--arch", type=int, default=80)
    parser.add_argument("--only")
    parser.add_argument("--keep", help="where the PTX is put")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


ARGUMENTS = parse()
if not ARGUMENTS.inside:
    enter_environment(os.path.abspath(ARGUMENTS.environment))

import numpy as np  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


@triton.jit
def rms_norm(x, w, o, n, eps, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    a = tl.load(x + row * n + c, mask=c < n, other=0.0).to(tl.float32)
    y = a * tl.rsqrt(tl.sum(a * a) / n + eps) * tl.load(w + c, mask=c < n, other=0.0).to(tl.float32)
    tl.store(o + row * n + c, y.to(tl.bfloat16), mask=c < n)


@triton.jit
def softmax(x, o, n, B: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, B)
    a = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
    e = tl.exp(a - tl.max(a))
    tl.store(o + row * n + c, e / tl.sum(e), mask=c < n)


@triton.jit
def column_sum(x, o, rows, n, R: tl.constexpr, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((R, B), tl.float32)
    for first in range(0, rows, R):
        r = first + tl.arange(0, R)
        total += tl.load(x + r[:, None] * n + c[None, :], mask=(r < rows)[:, None] & (c < n)[None, :], other=0.0)
    tl.store(o + c, tl.sum(total, 0), mask=c < n)


@triton.jit
def matmul(x, y, o, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r, c, d = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for first in range(0, k, K):
        a = tl.load(x + r[:, None] * k + (first + d)[None, :])
        b = tl.load(y + (first + d)[:, None] * n + c[None, :])
        total = tl.dot(a, b, total)
    tl.store(o + r[:, None] * n + c[None, :], total)


@triton.jit
def attention(q, k, v, o, length, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    r, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    rows = tl.load(q + r[:, None] * D + d[None, :])
    largest, total = tl.full((M,), -float("inf"), tl.float32), tl.zeros((M,), tl.float32)
    result = tl.zeros((M, D), tl.float32)
    for first in range(0, (tl.program_id(0) + 1) * M, N):
        c = first + tl.arange(0, N)
        keys = tl.load(k + c[None, :] * D + d[:, None])
        s = tl.dot(rows, keys) * scale
        s = tl.where(r[:, None] >= c[None, :], s, -float("inf"))
        new = tl.maximum(largest, tl.max(s, 1))
        p, shrink = tl.exp2(s - new[:, None]), tl.exp2(largest - new)
        total, result = total * shrink + tl.sum(p, 1), result * shrink[:, None]
        result = tl.dot(p.to(tl.bfloat16), tl.load(v + c[:, None] * D + d[None, :]), result)
        largest = new
    tl.store(o + r[:, None] * D + d[None, :], result / total[:, None])


@triton.jit
def adam(w, g, m, v, n, rate, step, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    weight, gradient = tl.load(w + i, mask=i < n), tl.load(g + i, mask=i < n)
    first = 0.9 * tl.load(m + i, mask=i < n) + 0.1 * gradient
    second = 0.95 * tl.load(v + i, mask=i < n) + 0.05 * gradient * gradient
    update = first / (1 - 0.9) / (tl.sqrt(second / (1 - 0.95)) + 1e-8)
    tl.store(w + i, weight - rate * (update + 0.1 * weight), mask=i < n)
    tl.store(m + i, first, mask=i < n)
    tl.store(v + i, second, mask=i < n)


@triton.jit
def scatter_add(ids, x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o + tl.load(ids + i, mask=i < n), tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def scan_and_sort(x, o, s, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    tl.store(o + i, tl.cumsum(a))
    tl.store(s + i, tl.sort(a))


def bfloat(x):
    """Rounded to bf16: (bits, values)."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    bits = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return bits, (bits.astype(np.uint32) << 16).view(np.float32)


class Case:
    """Compiles a kernel, runs it and compares what it wrote."""

    def __init__(self, folder):
        self.folder, self.failed, self.done, self.refused = folder, 0, 0, 0

    def __call__(self, name, kernel, constants, arguments, grid, expected, tolerance, warps=4):
        """arguments: name -> (type, array or number); expected: name -> array, of those that are written."""
        if ARGUMENTS.only and ARGUMENTS.only != name:
            return
        signature = {key: kind for key, (kind, _) in arguments.items()} | {key: "constexpr" for key in constants}
        aligned = {(i,): [["tt.divisibility", 16]] for i, (kind, value) in enumerate(arguments.values())
                   if kind[0] == "*" or (kind == "i32" and value % 16 == 0)}
        source = ASTSource(fn=kernel, constexprs=constants, attrs=aligned, signature=signature)
        compiled = triton.compile(source, target=GPUTarget("cuda", ARGUMENTS.arch, 32), options={"num_warps": warps})
        ptx = os.path.join(ARGUMENTS.keep or self.folder, name + ".ptx")
        with open(ptx, "w") as file:
            file.write(compiled.asm["ptx"])
        command = [ARGUMENTS.runner, ptx, kernel.__name__, "--grid", ",".join(map(str, grid)), "--block", str(32 * warps),
                   "--shared", str(compiled.metadata.shared)]
        for key, (kind, value) in arguments.items():
            path = os.path.join(self.folder, key)
            if kind[0] == "*":
                np.ascontiguousarray(value).tofile(path)
            command.append(f"inout:{path}:{path}" if kind[0] == "*" else f"{'f32' if kind == 'fp32' else 's32'}:{value}")
        # Triton passes two addresses of scratch memory, which these kernels do not use.
        command += ["u64:0", "u64:0"]
        run = subprocess.run(command, capture_output=True, text=True)
        if "not executed here" in run.stderr or "not known here" in run.stderr:
            self.refused += 1
            print(f"{name:16} not executed: {run.stderr.split('instruction ')[-1].strip()}")
            return
        error = 0.0
        if not run.returncode:
            for key, wanted in expected.items():
                got = np.fromfile(os.path.join(self.folder, key), wanted.dtype if wanted.dtype != np.float64 else np.float32)
                if arguments[key][0] == "*bf16":
                    got = (np.fromfile(os.path.join(self.folder, key), np.uint16).astype(np.uint32) << 16).view(np.float32)
                wanted = wanted.reshape(-1).astype(np.float64)
                error = max(error, float(np.linalg.norm(got - wanted) / max(np.linalg.norm(wanted), 1e-30)))
        good = not run.returncode and error <= tolerance
        self.done, self.failed = self.done + 1, self.failed + (not good)
        print(f"{name:16} {'ok' if good else 'FAILED'}  relative error {error:.1e}" if not run.returncode else f"{name:16} FAILED  {run.stderr.strip()}")


def rows(run, random):
    for n, block, warps in ((1000, 1024, 4), (96, 128, 1), (4096, 4096, 8)):
        x, w = (bfloat(random.standard_normal(s)) for s in ((3, n), (n,)))
        y = x[1].reshape(3, n).astype(np.float64)
        y = y / np.sqrt((y * y).mean(1, keepdims=True) + 1e-5) * w[1]
        run(f"rms_norm {n}", rms_norm, {"B": block}, {"x": ("*bf16", x[0]), "w": ("*bf16", w[0]), "o": ("*bf16", np.zeros((3, n), np.uint16)),
            "n": ("i32", n), "eps": ("fp32", 1e-5)}, (3,), {"o": y}, 4e-3, warps)
        z = random.standard_normal((3, n)).astype(np.float32) * 4
        e = np.exp(z - z.max(1, keepdims=True).astype(np.float64))
        run(f"softmax {n}", softmax, {"B": block}, {"x": ("*fp32", z), "o": ("*fp32", np.zeros_like(z)), "n": ("i32", n)}, (3,),
            {"o": e / e.sum(1, keepdims=True)}, 1e-6, warps)
    x = random.standard_normal((77, 100)).astype(np.float32)
    run("column_sum", column_sum, {"R": 16, "B": 32}, {"x": ("*fp32", x), "o": ("*fp32", np.zeros(100, np.float32)), "rows": ("i32", 77),
        "n": ("i32", 100)}, (4,), {"o": x.sum(0, dtype=np.float64)}, 1e-6)


def products(run, random):
    for kind, size, tolerance in (("*bf16", (128, 64, 96), 1e-6), ("*fp16", (64, 64, 128), 1e-6), ("*fp32", (64, 64, 64), 2e-3)):
        m, n, k = size
        x, y = random.standard_normal((m, k)), random.standard_normal((k, n))
        if kind == "*bf16":
            (x, exact_x), (y, exact_y) = bfloat(x), bfloat(y)
        else:
            x, y = (a.astype(np.float16 if kind == "*fp16" else np.float32) for a in (x, y))
            exact_x, exact_y = x, y
        expected = exact_x.reshape(m, k).astype(np.float64) @ exact_y.reshape(k, n).astype(np.float64)
        run(f"matmul {kind[1:]}", matmul, {"M": 64, "N": 64, "K": 32}, {"x": (kind, x), "y": (kind, y), "o": ("*fp32", np.zeros((m, n), np.float32)),
            "m": ("i32", m), "n": ("i32", n), "k": ("i32", k)}, (m // 64, n // 64), {"o": expected}, tolerance)
    for head in (64, 128):
        (q, a), (k, b), (v, c) = (bfloat(random.standard_normal((128, head))) for _ in range(3))
        a, b, c = (t.reshape(128, head).astype(np.float64) for t in (a, b, c))
        s = np.where(np.tri(128) > 0, a @ b.T * head**-0.5, -np.inf)
        p = np.exp(s - s.max(1, keepdims=True))
        run(f"attention {head}", attention, {"M": 64, "N": 32, "D": head}, {"q": ("*bf16", q), "k": ("*bf16", k), "v": ("*bf16", v),
            "o": ("*fp32", np.zeros((128, head), np.float32)), "length": ("i32", 128), "scale": ("fp32", head**-0.5 * 1.4426950408889634)}, (2,),
            {"o": p @ c / p.sum(1, keepdims=True)}, 4e-3)


def elements(run, random):
    n = 1000
    w, g, m = (random.standard_normal(n).astype(np.float32) for _ in range(3))
    v = np.abs(random.standard_normal(n)).astype(np.float32)
    first, second = 0.9 * m.astype(np.float64) + 0.1 * g, 0.95 * v.astype(np.float64) + 0.05 * g.astype(np.float64)**2
    after = w - 0.01 * (first / 0.1 / (np.sqrt(second / 0.05) + 1e-8) + 0.1 * w)
    run("adam", adam, {"B": 256}, {"w": ("*fp32", w), "g": ("*fp32", g), "m": ("*fp32", m), "v": ("*fp32", v), "n": ("i32", n),
        "rate": ("fp32", 0.01), "step": ("i32", 1)}, (4,), {"w": after, "m": first, "v": second}, 1e-6)
    ids, x = random.integers(0, 50, n).astype(np.int32), random.standard_normal(n).astype(np.float32)
    run("scatter_add", scatter_add, {"B": 256}, {"ids": ("*i32", ids), "x": ("*fp32", x), "o": ("*fp32", np.zeros(50, np.float32)), "n": ("i32", n)},
        (4,), {"o": np.bincount(ids, x.astype(np.float64), 50)}, 1e-5)
    x = random.standard_normal(256).astype(np.float32)
    run("scan_and_sort", scan_and_sort, {"B": 256}, {"x": ("*fp32", x), "o": ("*fp32", np.zeros_like(x)), "s": ("*fp32", np.zeros_like(x))}, (1,),
        {"o": np.cumsum(x, dtype=np.float64), "s": np.sort(x)}, 1e-5)


def main():
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        run = Case(folder)
        for group in (rows, products, elements):
            group(run, random)
    print(f"sm_{ARGUMENTS.arch}: {run.done} kernels of Triton {triton.__version__}, {run.failed} failed, {run.refused} not executed")
    sys.exit(run.failed > 0)


main()
