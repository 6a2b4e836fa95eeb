#!/usr/bin/env python3
"""Generates random command lines of ppc-compile, ppc-plan, ppc-opt and a trained program, and looks for crashes, hangs and errors that name nothing.

    command_lines.py --build build/dev [--count 120] [--seconds S] [--seed N] [--keep FOLDER]
    command_lines.py --build build/dev --replay FILE|FOLDER...

Command line I of seed N depends on I and N alone: `--seed N --first I --count 1` reproduces it. What fails is made smaller and, with --keep,
written to a file that --replay runs; test/Fuzz/CommandLines/Found holds those that failed once.
"""
import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time

import generator
import runner


def show(bench, case):
    words = " ".join([case["tool"], *(word if word else "''" for word in bench.arguments(case))])
    files = {name: file["edits"] for name, file in case["files"].items() if file["edits"]}
    return words + (f"   with {json.dumps(files)}" if files else "")


def shrink(bench, case, kind, tries=40):
    """A smaller command line that fails alike."""
    progress = True
    while progress and tries > 0:
        progress = False
        for candidate in generator.smaller(case):
            tries -= 1
            _, problem = runner.run(bench, candidate)
            if problem and problem[0] == kind:
                case, progress = candidate, True
                break
            if tries <= 0:
                break
    return case


def replay(bench, paths):
    failed = 0
    folders = [path for path in paths if os.path.isdir(path)]
    paths = [path for path in paths if path not in folders] + [os.path.join(folder, name) for folder in folders for name in sorted(os.listdir(folder))]
    for path in paths:
        with open(path, encoding="utf-8") as file:
            case = json.load(file)
        _, problem = runner.run(bench, case)
        if problem:
            failed += 1
            print(f"FAILED {os.path.basename(path)}: {problem[0]}: {problem[1]}\n  {show(bench, case)}", flush=True)
    print(f"{len(paths)} command lines that failed once, {failed} failed")
    return failed


def draw_and_run(bench, arguments):
    start, failed, number, refused, said = time.monotonic(), 0, 0, 0, set()
    while number < arguments.count and time.monotonic() - start < arguments.seconds:
        index = arguments.first + number
        number += 1
        case = generator.draw(random.Random(f"{arguments.seed} {index}"))
        outcome, problem = runner.run(bench, case)
        refused += outcome.status not in (0, None)
        if not problem:
            continue
        failed += 1
        print(f"FAILED seed {arguments.seed} command line {index}: {problem[0]}: {problem[1]}\n  {show(bench, case)}", flush=True)
        if arguments.shrink and problem not in said:
            said.add(problem)
            case = shrink(bench, case, problem[0])
            print(f"  smaller: {show(bench, case)}", flush=True)
        if arguments.keep:
            os.makedirs(arguments.keep, exist_ok=True)
            with open(os.path.join(arguments.keep, f"{problem[0]}-{arguments.seed}-{index}.json"), "w", encoding="utf-8") as file:
                json.dump(case, file, indent=1)
                file.write("\n")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"seed {arguments.seed}: {number} command lines from {arguments.first}, {refused} refused, {failed} failed; "
          f"{time.monotonic() - start:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU time", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=10**9)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", default=None)
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("--replay", nargs="*", default=None)
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(10**6)
    with tempfile.TemporaryDirectory(prefix="ppc-command-lines-") as folder:
        bench = runner.Bench(arguments.build, folder)
        if arguments.replay is not None:
            return 1 if replay(bench, arguments.replay) else 0
        return 1 if draw_and_run(bench, arguments) else 0


if __name__ == "__main__":
    sys.exit(main())
