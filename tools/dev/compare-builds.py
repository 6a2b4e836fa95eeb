#!/usr/bin/env python3
"""Compares the results and the speed of programs of two builds, to show that a change kept both.

Each layout of the equality matrix (test/Integration/equivalence.py) that both builds know is compiled by both and trained on the
same text; losses, gradient norms and parameters must be the same bits. A layout that differs is listed with its largest relative
difference. With --time the layouts that are named are also compiled and trained in turn, the given number of times: the minimum CPU
time of compiling, and the median of the medians of steps, with their ratio.

    compare-builds.py BEFORE AFTER [layouts...]
    compare-builds.py BEFORE AFTER --time 9 dp2-tp2-pp2

BEFORE and AFTER are build folders (build/dev of two checkouts). The exit status is 1 if anything differs.
"""
import argparse
import os
import resource
import statistics
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(ROOT, "test/Integration"))
import equivalence  # noqa: E402
import programs  # noqa: E402
import tensors  # noqa: E402


def compile_with(build, scratch, name, model, options):
    """The program, and the CPU time of its compilation, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    path = os.path.join(equivalence.HERE, "Inputs", model + ".json")
    program = programs.compile_model(build, path, equivalence.SHAPE + options.split(), os.path.join(scratch, name), optimize=None)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return program, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def differences(found, expected):
    """Largest relative differences of losses, gradient norms, parameters; zeros mean the same bits."""
    largest = []
    for values, wanted in zip(found[:2], expected[:2]):
        largest.append(max(abs(a - b) / abs(b) for a, b in zip(values, wanted)))
    _, worst, _ = tensors.compare(found[2], expected[2], 0)
    return largest + [worst]


def compare(builds, scratch, text, layout, steps):
    name, model, options = layout
    results = []
    for side, build in zip(("before", "after"), builds):
        program, _ = compile_with(build, scratch, f"{name}-{side}", model, options)
        results.append(equivalence.train_program(program, text, steps))
    return differences(results[1], results[0])


def step_time(program, text, steps):
    """The median of a run's steps, in milliseconds; the first ones warm up."""
    log = programs.train(program, text, steps)
    return statistics.median(1e3 * line["step_time_s"] for line in log[steps // 5:])


def time_both(builds, scratch, text, layout, repeats, steps):
    name, model, options = layout
    compiled, stepped = ([], []), ([], [])
    for _ in range(repeats):
        for side, build in enumerate(builds):
            program, seconds = compile_with(build, scratch, f"{name}-{side}", model, options)
            compiled[side].append(seconds)
            stepped[side].append(step_time(program, text, steps))
    compiling = [min(values) for values in compiled]
    steps_of = [statistics.median(values) for values in stepped]
    print(f"{name:40} compile {compiling[0]:.2f} -> {compiling[1]:.2f} s ({compiling[1] / compiling[0]:.2f}x)   "
          f"step {steps_of[0]:.3f} -> {steps_of[1]:.3f} ms ({steps_of[1] / steps_of[0]:.3f}x)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="build folder")
    parser.add_argument("after", help="build folder")
    parser.add_argument("--steps", type=int, default=20, help="steps of each run")
    parser.add_argument("--time", type=int, metavar="REPEATS", help="measure the named layouts instead")
    parser.add_argument("names", nargs="*", help="layouts; all by default")
    arguments = parser.parse_intermixed_args()
    builds = [os.path.abspath(arguments.before), os.path.abspath(arguments.after)]
    known = [layout for layout in equivalence.LAYOUTS if not arguments.names or layout[0] in arguments.names]
    if unknown := set(arguments.names) - {layout[0] for layout in known}:
        sys.exit(f"error: no layout is called {', '.join(sorted(unknown))}")
    same, differing, missing = 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        text = os.path.join(scratch, "text")
        with open(text, "wb") as file:
            file.write(programs.english(1 << 16))
        for layout in known:
            try:
                if arguments.time:
                    time_both(builds, scratch, text, layout, arguments.time, arguments.steps)
                    continue
                largest = compare(builds, scratch, text, layout, arguments.steps)
            except programs.Failed as error:
                missing += 1
                print(f"{layout[0]:40} not run: {str(error).splitlines()[-1]}", flush=True)
                continue
            same, differing = same + (max(largest) == 0), differing + (max(largest) != 0)
            if max(largest) != 0:
                print(f"{layout[0]:40} differs: loss {largest[0]:.1e}, gradient norm {largest[1]:.1e}, parameters {largest[2]:.1e}", flush=True)
    if not arguments.time:
        print(f"{same} layouts give the same bits, {differing} differ, {missing} are not run by both")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
