#!/usr/bin/env python3
"""Compares arenas and the scratch of functions with the bytes that are live at one time, for programs at full size.

    arena_bounds.py --build BUILD [--target host|cuda] [--limit PERCENT] [NAME...]

Programs are the best plans of the models of test/Inputs/Models that programs run, for four nodes of eight H100, 128 above 100 billion
parameters (best_plans.py), and one model over four devices under every schedule and with values on the host (planned_memory.py). A name, or
a part of one, selects. For each: the arena of the device that is farthest from its bound, the bytes that are in use at one time there
(mostLiveBytes, which no layout of the same buffers is below), and the same of the function whose scratch is farthest from its own bound, by
bytes. With --limit an arena that is more above its bound fails.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import all_models
import best_plans
import planned_memory

ARENA = re.compile(r"device (\d+): [^(]*\((\d+) bytes\), of which (\d+) bytes are in use at one time")
SCRATCH = re.compile(r"@([\w.]+): (\d+) bytes, of which (\d+) are in use at one time")


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-1500:]}")
    return done.stdout


def measure(arguments, folder, name, options):
    """(arena, in use) and (function, scratch, in use) that are farthest apart."""
    path = os.path.join(folder, re.sub(r"\W", "_", name) + ".mlir")
    tool = lambda program: os.path.join(arguments.build, "bin", program)
    run([tool("ppc-compile"), *options, "--target", arguments.target, "--emit=spmd", "--no-verify", "-o", path])
    text = run([tool("ppc-opt"), path, f"--ppc-phase-device=target={arguments.target}", "--remarks-filter=ppc-(arena|offsets)", "-o", os.devnull])
    os.remove(path)
    arenas = [(int(arena), int(live)) for _, arena, live in ARENA.findall(text)]
    scratch = [(function, int(bytes), int(live)) for function, bytes, live in SCRATCH.findall(text)]
    if not arenas:
        raise RuntimeError(f"{name}: no arena\n{text[-1500:]}")
    return max(arenas, key=lambda pair: pair[0] / pair[1]), max(scratch, key=lambda one: one[1] - one[2])


def best_plan(arguments, folder, name):
    config, model = best_plans.prepare(arguments, name, folder)
    path = os.path.join(folder, name + ".yaml")
    run([tool for tool in [*best_plans.command(arguments, model, config, "any"), "--target", arguments.target, "--brief", "--emit", "plan", "-o", path]])
    return [config, "--seq-len", str(model["positions"]), "--global-batch", str(all_models.BATCH), "--plan", path]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--target", choices=["host", "cuda"], default="cuda")
    parser.add_argument("--limit", type=float, help="percent")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    shape = planned_memory.FULL_SHAPE.replace("--target cuda", "").split()
    full = os.path.join(planned_memory.HERE, "..", planned_memory.FULL_SIZE)
    cases = {name[:-5]: None for name in sorted(os.listdir(all_models.MODELS))}
    cases |= {f"8B, {schedule}": [full, *shape, "--schedule", *schedule.split()] for schedule in [
        *planned_memory.SCHEDULES, "1f1b --recompute full"]}
    cases = {name: options for name, options in cases.items() if not arguments.names or any(part in name for part in arguments.names)}
    if not cases:
        parser.error("nothing has such a name")
    above = 0
    print("| program | arena, GiB | in use at one time, GiB | more | scratch of a function, MiB | in use, MiB | more |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(1) as pool:
        def judge(name, options):
            return measure(arguments, folder, name, options or best_plan(arguments, folder, name))

        for name, job in [(name, pool.submit(judge, name, options)) for name, options in cases.items()]:
            try:
                (arena, live), (function, bytes, used) = job.result()
            except RuntimeError as error:
                print(f"| {name} | {str(error)[-300:]} |", flush=True)
                above += 1
                continue
            more = 100 * (arena / live - 1)
            above += arguments.limit is not None and more > arguments.limit
            print(f"| {name} | {arena / 2**30:.2f} | {live / 2**30:.2f} | {more:.2f} % | {bytes / 2**20:.1f} (`{function}`) | {used / 2**20:.1f} | "
                  f"{100 * (bytes / used - 1):.2f} % |", flush=True)
    print(f"{len(cases) - above} of {len(cases)} arenas are within " + (f"{arguments.limit} % of what is in use at one time" if arguments.limit else "reach"))
    sys.exit(bool(above))


if __name__ == "__main__":
    main()
