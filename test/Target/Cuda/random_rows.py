#!/usr/bin/env python3
"""Random functions of ops that share rows: kernels against the interpreter, and the choice of kernels against all choices.

    random_rows.py --opt build/dev/bin/ppc-opt [--count N] [--seed N] [--choice]

Each function takes tensors of [batch, sequence, width], of rows and of columns, in f32 or bf16, and does up to eight things to them: arithmetic,
norms and their gradients, softmax, sums over rows and over columns, roundings. Without --choice the final PTX of its kernels is executed by
the PTX emulator and compared with the interpreter. With --choice each run of at most twelve loops is put into kernels greedily, too: what this costs
more than the best of all choices must be 2 % in the mean and 10 % at worst, at most."""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROUNDING = 3e-5  # sums that cancel occur, too: a gradient along its own argument, rows that are constant
CUDA = "--ppc-phase-device=target=cuda"


class Function:
    def __init__(self, draw, name, large):
        self.draw, self.name, self.lines, self.count = draw, name, [], 0
        if large:  # as models are: what choices save is bytes, not launches
            batch, sequence, width = 1, draw.choice([1024, 4096]), draw.choice([1024, 4096, 8192])
        else:
            batch, sequence = draw.randint(1, 3), draw.randint(1, 19)
            width = draw.choice([draw.randint(2, 70), draw.choice([64, 128, 256, 512]), draw.randint(500, 700), 1024, draw.randint(2000, 4100), 8192])
            if width > 1024:
                batch, sequence = 1, draw.choice([3, 16])
        self.shapes = {"full": f"{batch}x{sequence}x{width}x", "rows": f"{batch}x{sequence}x", "columns": f"{width}x"}
        self.arguments = []
        self.values = {(kind, kind_of): [] for kind in self.shapes for kind_of in ("f32", "bf16")}
        for kind, element in (("full", "f32"), ("full", "f32"), ("full", "bf16"), ("rows", "f32"), ("columns", "f32")):
            self.arguments.append((f"%arg{len(self.arguments)}", kind, element))
            self.values[kind, element].append(self.arguments[-1][0])
        self.results = []

    def type(self, kind, element="f32"):
        return f"tensor<{self.shapes[kind]}{element}>"

    def pick(self, kind, element="f32"):
        return self.draw.choice(self.values[kind, element][-4:])

    def add(self, text, kind, element="f32"):
        if any(line.endswith(f" = {text}") for line in self.lines):
            return  # one value cannot be two results
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}")
        if kind != "columns":  # sums over rows cancel, so they cannot be weights
            self.values[kind, element].append(name)
        self.results.append((name, kind, element))

    def step(self):
        full, rows, columns = self.type("full"), self.type("rows"), self.type("columns")
        x, y, w = self.pick("full"), self.pick("full"), self.pick("columns")
        kind = self.draw.choice(["arithmetic", "arithmetic", "function", "norm", "norm_gradient", "weight_gradient", "layer_norm", "softmax",
                                 "row_sum", "column_sum", "broadcast_rows", "broadcast_columns", "round", "widen", "of_rows"])
        if kind == "arithmetic" and x != y:  # x - x is 0, or what rounding leaves
            self.add(f"ppc.{self.draw.choice(['add', 'sub', 'mul'])} {x}, {y} : {full}", "full")
        elif kind == "function":
            self.add(f"ppc.{self.draw.choice(['silu', 'sigmoid'])} {x} : {full}", "full")
        elif kind == "norm":
            self.add(f"ppc.rms_norm {x}, {w} epsilon 1.0e-02 : {full}, {columns}", "full")
        elif kind == "norm_gradient":
            self.add(f"ppc.rms_norm_input_gradient {x}, {w}, {y} epsilon 1.0e-02 : {full}, {columns}", "full")
        elif kind == "weight_gradient":
            self.add(f"ppc.rms_norm_weight_gradient {x}, {y} epsilon 1.0e-02 : {full} to {columns}", "columns")
        elif kind == "layer_norm":
            self.add(f"ppc.layer_norm {x}, {w}, {self.pick('columns')} epsilon 1.0e-02 : {full}, {columns}", "full")
        elif kind == "softmax":
            self.add(f"ppc.softmax {x} : {full}", "full")
        elif kind == "row_sum":
            self.add(f"ppc.reduce <{self.draw.choice(['sum', 'max'])}> {x} dims [2] : {full} to {rows}", "rows")
        elif kind == "column_sum":
            self.add(f"ppc.reduce <sum> {x} dims [0, 1] : {full} to {columns}", "columns")
        elif kind == "broadcast_rows":
            self.add(f"ppc.broadcast {self.pick('rows')} dims [2] : {rows} to {full}", "full")
        elif kind == "broadcast_columns":
            self.add(f"ppc.broadcast {w} dims [0, 1] : {columns} to {full}", "full")
        elif kind == "round":
            self.add(f"ppc.convert {x} : {full} to {self.type('full', 'bf16')}", "full", "bf16")
        elif kind == "widen":
            self.add(f"ppc.convert {self.values['full', 'bf16'][0]} : {self.type('full', 'bf16')} to {full}", "full")
        elif kind == "of_rows":
            self.add(f"ppc.sigmoid {self.pick('rows')} : {rows}", "rows")

    def text(self):
        steps = self.draw.randint(2, 8)
        while len(self.lines) < steps:
            self.step()
        # The last value and some others are results; what is not is only between ops.
        kept = [result for result in self.results[:-1] if self.draw.random() < 0.3] + self.results[-1:]
        arguments = ", ".join(f"{name}: {self.type(kind, element)}" for name, kind, element in self.arguments)
        types = ", ".join(self.type(kind, element) for _, kind, element in kept)
        return (f"func.func @{self.name}({arguments}) -> ({types}) attributes {{ROUTINE}} {{\n" + "\n".join(self.lines) +
                f"\n  return {', '.join(name for name, _, _ in kept)} : {types}\n}}\n")


def functions(seeds, large, attributes=""):
    return [(seed, Function(random.Random(seed), f"seed{seed}", large).text().replace(" attributes {ROUTINE}", attributes)) for seed in seeds]


def numerics(opt, seeds, batch=20):
    """In files of a few functions; those of a file that fails are run one by one."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        drawn = functions(seeds, large=False)
        pending = [drawn[first:first + batch] for first in range(0, len(drawn), batch)]
        while pending:
            part = pending.pop()
            path = pathlib.Path(folder, "function.mlir")
            path.write_text("".join(text for _, text in part))
            done = subprocess.run([opt, path, f"--ppc-test-kernel-numerics=rounding={ROUNDING}", "-o", "/dev/null"], capture_output=True, text=True)
            output = done.stdout + done.stderr
            if done.returncode == 0 and all(f"@seed{seed} agrees" in output for seed, _ in part):
                continue
            if len(part) > 1:
                pending += [[one] for one in part]
                continue
            failed += 1
            print(f"seed {part[0][0]}: {output[:800]}\n{path.read_text()}", flush=True)
    print(f"{len(seeds) - failed} of {len(seeds)} random functions agree with the interpreter")
    return failed == 0


def pipeline(opt):
    """The passes of the phase, with remarks about rows."""
    done = subprocess.run([opt, CUDA, "--dump-pass-pipeline", "-o", "/dev/null"], input="module {}", capture_output=True, text=True)
    text = "".join(line.strip() for line in done.stderr.splitlines()[1:])
    text = text[:text.index("ppc-assign-offsets")].rstrip(",") + ")"
    assert "ppc-fuse-rows{explain=false}" in text, text
    return text.replace("ppc-fuse-rows{explain=false}", "ppc-fuse-rows{explain=true}")


def choices(opt, seeds):
    extra, longest, seed_of, text = [], 0, [], ""
    for seed, function in functions(seeds, True, ' attributes {ppcrt.routine = "forward"}'):
        seed_of += [seed] * function.count("\n")
        text += function
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "functions.mlir")
        path.write_text(text)
        done = subprocess.run([opt, path, f"--pass-pipeline={pipeline(opt)}", "-o", "/dev/null"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    for line, ops, best, greedy in re.findall(
            r":(\d+):\d+: remark: (\d+) ops as \d+ kernels? costs? (\d+) bytes, greedily chosen ones (\d+)", done.stderr):
        longest = max(longest, int(ops))
        if int(ops) <= 12:
            extra.append((int(greedy) / int(best) - 1, seed_of[int(line) - 1], int(ops)))
    mean, worst = sum(e for e, _, _ in extra) / len(extra), max(extra)
    print(f"{len(extra)} runs of {len(seeds)} functions: greedily chosen kernels cost {100 * mean:.2f} % more in the mean, "
          f"{100 * worst[0]:.2f} % at worst (seed {worst[1]}, {worst[2]} loops), than the best of all choices; {longest} loops in the longest run")
    return len(extra) >= len(seeds) / 2 and mean <= 0.02 and worst[0] <= 0.1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, help="ppc-opt")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--choice", action="store_true", help="compare choices instead of numbers")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    sys.exit(not (choices if options.choice else numerics)(options.opt, seeds))


if __name__ == "__main__":
    main()
