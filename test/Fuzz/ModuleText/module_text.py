#!/usr/bin/env python3
"""Changes the text of modules, and looks for passes that a module ends by a signal or that do not end.

    module_text.py --build build/dev [--count N] [--seconds S] [--seed N] [--first I] [--only WORD] [--keep FOLDER] [--jobs N]
    module_text.py --build build/dev --replay FILE|FOLDER...

Modules come from the lit tests, with the passes of their RUN lines and with any other pass, and what ppc-compile emits of a small model with the
phases after it. A group is one source with one sequence of passes; group I depends on seed N alone (`--first I --count 1`).
Failing modules are made smaller and, with --keep, written to a file whose first line names the passes; Found holds those that failed once.
"""
import argparse
import concurrent.futures
import hashlib
import os
import random
import re
import resource
import shlex
import sys
import tempfile
import time

import mutations
import runner
import sources

GROUP = 40  # mutants of one process


def draw(seed, number, modules, passes):
    """Mutants of one module, and the passes that they go through."""
    pick = random.Random(f"{seed} {number}")
    if pick.random() < 0.5:  # each pass alike often, whatever number of tests it has
        name = pick.choice(sorted(modules.by_pass))
        source, arguments = pick.choice(modules.by_pass[name])
    else:
        source = pick.choice(modules.all)
        arguments = pick.choice(source.runs) if source.runs and pick.random() < 0.5 else [pick.choice(passes)]
    return source, arguments, [mutations.mutate(pick, source.text) for _ in range(GROUP)]


class Modules:
    def __init__(self, everything):
        self.all, self.by_pass = everything, {}
        for source in everything:
            for run in source.runs:
                self.by_pass.setdefault(run[0].split("=")[0], []).append((source, run))


def shrink(bench, text, arguments, problem, tries=150):
    """Fewer lines that fail alike."""
    lines, length = text.split("\n"), 1 << max(0, len(text.split("\n")).bit_length() - 2)
    while length and tries > 0:
        place = 0
        while place < len(lines) and tries > 0:
            candidate = lines[:place] + lines[place + length:]
            tries -= 1
            if bench.failure("\n".join(candidate), arguments) == problem:
                lines = candidate
            else:
                place += length
        length //= 2
    return "\n".join(lines)


def run_group(build, seed, number, modules, passes, may_shrink):
    """Lines to print, how many mutants there were, and finds as (problem, arguments, text)."""
    source, arguments, texts = draw(seed, number, modules, passes)
    with tempfile.TemporaryDirectory(prefix="ppc-module-text-") as folder:
        bench, finds, seen = runner.Bench(build, folder), [], set()
        for index, problem in bench.failures(texts, arguments):
            text = texts[index]
            if may_shrink and problem not in seen:
                seen.add(problem)
                text = shrink(bench, text, arguments, problem) if problem != "takes too long" else text
            finds.append((f"group {number} mutant {index} of {source.name}: {problem}", problem, arguments, text))
        return len(texts), finds


def keep(folder, problem, arguments, text):
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"[^a-z]+", "-", arguments[0].split("=")[0].lower()).strip("-") + "-" + hashlib.sha1(problem.encode()).hexdigest()[:6]
    with open(os.path.join(folder, name + ".mlir"), "w", encoding="utf-8") as file:
        file.write(f"// {shlex.join(arguments)}\n// {problem}\n{text.strip()}\n")


def replay(build, paths):
    """Modules that failed once: none may fail again."""
    paths = [file for path in paths for file in ([os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".mlir")] if os.path.isdir(path) else [path])]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ppc-module-text-") as folder:
        bench = runner.Bench(build, folder)
        for path in paths:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            arguments = shlex.split(text.split("\n", 1)[0].removeprefix("//"))
            status, _ = bench.run([text], [word for word in arguments if word != "--split-input-file"], runner.SECONDS)
            if status < 0 or status > 127:
                failed += 1
                print(f"FAILED {path}: {bench.failure(text, arguments)}", flush=True)
    print(f"{len(paths)} modules that failed once, {failed} failed")
    return failed


def draw_and_run(arguments, modules, passes):
    start, failed, groups, mutants, said = time.monotonic(), 0, 0, 0, {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        numbers = iter(range(arguments.first, arguments.first + arguments.count))
        running = set()
        while True:
            while len(running) < arguments.jobs and time.monotonic() - start < arguments.seconds:
                number = next(numbers, None)
                if number is None:
                    break
                running.add(pool.submit(run_group, arguments.build, arguments.seed, number, modules, passes, arguments.shrink))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for task in done:
                count, finds = task.result()
                groups, mutants = groups + 1, mutants + count
                for line, problem, passes_, text in finds:
                    failed += 1
                    said[problem] = said.get(problem, 0) + 1
                    if said[problem] == 1:
                        print(f"FAILED seed {arguments.seed} {line}\n  ppc-opt {shlex.join(passes_)}", flush=True)
                        if arguments.keep:
                            keep(arguments.keep, problem, passes_, text)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"seed {arguments.seed}: {mutants} mutated modules in {groups} groups from {arguments.first}, {failed} failed in {len(said)} ways; "
          f"{time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU time", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, default=10**9, help="groups of mutants")
    parser.add_argument("--seconds", type=float, default=10**9)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", default="", help="sources whose name has this")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", default=None)
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("--replay", nargs="*", default=None)
    arguments = parser.parse_args()
    if arguments.replay is not None:
        return 1 if replay(arguments.build, arguments.replay) else 0
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(10**6)
    with tempfile.TemporaryDirectory(prefix="ppc-module-text-") as folder:
        modules = list(sources.of_tests()) + list(sources.of_compiler(arguments.build, folder))
    modules = [source for source in modules if arguments.only in source.name]
    mutations.OPS = sorted({name for source in modules for name in mutations.OP.findall(source.text) if name.startswith(("ppc.", "ppcrt."))})
    return 1 if draw_and_run(arguments, Modules(modules), sources.all_passes(arguments.build)) else 0


if __name__ == "__main__":
    sys.exit(main())
