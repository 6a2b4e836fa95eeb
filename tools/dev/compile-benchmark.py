#!/usr/bin/env python3
"""Measures the compilation of a model to an object file, and its growth with depth and with ranks.

Compiles a model, also with other numbers of layers and on ten times the ranks, in turn, several times, each in a process of its
own, the proof of equivalence included. Prints a table of CPU time (user and system, all threads; the minimum of the repetitions),
wall time, peak memory and sizes, with ratios to the first row, and the CPU time of each phase.

    compile-benchmark.py --build BUILD [--model FILE] [--layers N,N,...] [--layout "--tp 8 --pp 8 --dp 8"]

With --program it measures instead the memory and the verification of large programs: Llama-3.1-405B on 16 pipeline ranks with 512
micro-batches, with one and with 8 virtual stages on each. More than 10 s or 300 MB fails.

    compile-benchmark.py --build BUILD --program
"""
import argparse
import json
import os
import re
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
PHASES = ["train", "plan", "partition", "verify", "device", "codegen", "object"]


class Case:
    def __init__(self, name, layers, ranks_factor):
        self.name, self.layers, self.ranks_factor = name, layers, ranks_factor
        self.processor, self.wall, self.memory, self.object_bytes = [], [], 0, 0
        self.phases = {}


def run_measured(command, log):
    """Resource usage of a command (resource.struct_rusage), and its output on both streams, which also goes to the file `log`."""
    process = os.fork()
    if process == 0:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        os.execv(command[0], command)
    _, status, usage = os.wait4(process, 0)
    with open(log) as file:
        text = file.read()
    if status:
        sys.exit(f"{' '.join(command)}: failed\n{text}")
    return usage, text


def compile_once(arguments, case, config, folder):
    model, output, log = (os.path.join(folder, name) for name in ("config.json", "train.o", "log"))
    with open(model, "w") as file:
        json.dump(dict(config, num_hidden_layers=case.layers), file)
    degrees = dict(re.findall(r"--(\w+) (\d+)", arguments.layout))
    degrees["dp"] = str(int(degrees.get("dp", 1)) * case.ranks_factor)
    layout = re.sub(r"--dp \d+", "", arguments.layout).split() + ["--dp", degrees["dp"]]
    command = [os.path.join(arguments.build, "bin/ppc-compile"), model, "--seq-len", str(arguments.seq_len), "--global-batch",
               str(arguments.global_batch * case.ranks_factor), *layout, "--emit=object", "--verbose", "-o", output]
    start = time.monotonic()
    usage, text = run_measured(command, log)
    case.wall.append(time.monotonic() - start)
    case.processor.append(usage.ru_utime + usage.ru_stime)
    case.memory = max(case.memory, usage.ru_maxrss / 1024)
    case.object_bytes = os.path.getsize(output)
    for phase, seconds in re.findall(r"^(\w+) +[0-9.]+ s, processor +([0-9.]+) s$", text, re.MULTILINE):
        case.phases[phase] = min(case.phases.get(phase, float("inf")), float(seconds))


PROGRAM_SECONDS, PROGRAM_MEGABYTES = 10, 300


def peak(command, log):
    """Peak memory of a command in MB, and what it printed."""
    usage, text = run_measured(command, log)
    return usage.ru_maxrss * 1024 / 1e6, text


def measure_programs(build):
    """Prints a row for each program; whether all are within the bounds."""
    opt, compiler = (os.path.join(build, "bin", name) for name in ("ppc-opt", "ppc-compile"))
    print("| | actions | IR | ppc-verify-program | ppc-verify-arena | proof |")
    print("|---|---|---|---|---|---|")
    fits = True
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)  # noqa: E731

        def verify(program, verifier):
            memory, text = peak([opt, program, f"--{verifier}", "--mlir-timing", "-o", os.devnull], at("log"))
            found = re.search(r"([0-9.]+) +\( *[0-9.]+%\) +Verify(?:Program|Arena)Pass", text)
            return memory - empty, float(found.group(1))

        with open(at("empty.mlir"), "w") as file:
            file.write("module {}\n")
        empty, _ = peak([opt, at("empty.mlir"), "-o", os.devnull], at("log"))
        layout = "--seq-len 8192 --global-batch 512 --micro-batch 1 --pp 16 --tp 8 --verbose".split()
        model = os.path.join(ROOT, "test/Inputs/Models/llama-3.1-405b.json")
        for name, stages in ("vp 1", []), ("vp 8", ["--vp", "8", "--schedule", "interleaved"]):
            command = [compiler, model, *layout, *stages]
            _, text = peak([*command, "--emit=spmd", "-o", at("spmd.mlir")], at("log"))
            proof = float(re.search(r"^verify +([0-9.]+) s", text, re.MULTILINE).group(1))
            peak([*command, "--no-verify", "--emit=device", "-o", at("device.mlir")], at("log"))
            with open(at("spmd.mlir")) as file:
                actions = sum(1 for line in file if re.match(r" *%\d+ = ppcrt\.", line))
            memory, seconds = verify(at("spmd.mlir"), "ppc-verify-program")
            arena = verify(at("device.mlir"), "ppc-verify-arena")[1]
            print(f"| Llama-3.1-405B, tp 8, pp 16, {name}, 512 micro-batches | {actions} | {memory:.0f} MB | {seconds:.2f} s | {arena:.2f} s | "
                  f"{proof:.2f} s |", flush=True)
            fits = fits and memory < PROGRAM_MEGABYTES and seconds + arena + proof < PROGRAM_SECONDS
    return fits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--model", default=os.path.join(ROOT, "test/Inputs/Models/llama-3-70b.json"), help="config.json (Llama-3-70B)")
    parser.add_argument("--layers", default="80,126", help="numbers of layers; the first is what others are compared with (80,126)")
    parser.add_argument("--layout", default="--tp 8 --pp 8 --dp 8", help="options of ppc-compile (--tp 8 --pp 8 --dp 8)")
    parser.add_argument("--seq-len", type=int, default=8192)
    parser.add_argument("--global-batch", type=int, default=512, help="sequences per step; ten times as many on ten times the ranks (512)")
    parser.add_argument("--repeat", type=int, default=5, help="compilations of each (5)")
    parser.add_argument("--bound", type=float, help="exit with status 1 when another row takes more than this times the first one")
    parser.add_argument("--program", action="store_true", help="measure programs and their verification instead")
    arguments = parser.parse_args()
    if arguments.program:
        if not measure_programs(arguments.build):
            sys.exit(f"a program is larger than {PROGRAM_MEGABYTES} MB, or takes longer than {PROGRAM_SECONDS} s to verify")
        return
    with open(arguments.model) as file:
        config = json.load(file)
    layers = [int(number) for number in arguments.layers.split(",")]
    cases = [Case(f"{number} layers", number, 1) for number in layers] + [Case(f"{layers[0]} layers, 10 x the ranks", layers[0], 10)]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.repeat):
            for case in cases:
                compile_once(arguments, case, config, folder)

    print("| | CPU time | ratio | wall time | peak memory | object |")
    print("|---|---|---|---|---|---|")
    base = min(cases[0].processor)
    for case in cases:
        print(f"| {case.name} | {min(case.processor):.2f} s | {min(case.processor) / base:.2f} | {min(case.wall):.2f} s | "
              f"{case.memory:.0f} MiB | {case.object_bytes / 2**20:.1f} MiB |")
    print("\n| CPU time of | " + " | ".join(PHASES) + " |")
    print("|---|" + "---|" * len(PHASES))
    for case in cases:
        print(f"| {case.name} | " + " | ".join(f"{case.phases[phase]:.2f} s" if phase in case.phases else "" for phase in PHASES) + " |")
    worst = max(min(case.processor) / base for case in cases)
    if arguments.bound and worst > arguments.bound:
        sys.exit(f"a ratio of {worst:.2f}, above {arguments.bound}")


if __name__ == "__main__":
    main()
