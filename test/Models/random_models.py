#!/usr/bin/env python3
"""Generates modules as users write them by hand, and compares loss, gradients and one update under many layouts with an evaluation from outside.

    random_models.py --build build/dev [--count N] [--seed S] [--layouts L] [--jobs N] [--keep FOLDER] [--seconds S]
    random_models.py --build build/dev --replay FILE|FOLDER...

Module I depends on its number alone (`--seed I --count 1`). Each layout is imported, partitioned, proved and executed on the interpreter in f64
(ppc-opt --test-ppc-model-cases). Equal, or refused with a position and a reason, is right; a module with other results, not proved, refused in words of
passes, or ends by a signal, is made smaller and, with --keep, written to a file. Refusals are counted by their reason; those of a module whose loss is a
sum over samples are counted apart, since micro-batches cannot be the reason then.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import sys
import tempfile
import time

import evaluator
import generator
import judge
import layouts
import smaller

GROUP = 20      # modules of one process
UNUSUAL = 0.35  # share of modules that are likely to be refused among the kept ones


def make(number, count, folder):
    """Module `number` with its layouts. Most modules without a sum over the samples, or with parameters without influence, are replaced."""
    pick = random.Random(f"keep {number}")
    for attempt in range(20):
        text = generator.model(f"{number}.{attempt}")
        try:
            case = judge.Case(number, text, [])
            slopes = evaluator.gradients(case.module, case.numbers)
            usual = judge.is_separate(case) and bool(slopes) and all(slope.any() for slope in slopes.values())
        except evaluator.OutOfRange:
            continue
        if usual or pick.random() < UNUSUAL:
            break
    case.layouts = layouts.some(random.Random(f"layouts {number}"), text, count, folder, number)
    return case


def run_group(build, numbers, count):
    with tempfile.TemporaryDirectory(prefix="ppc-models-") as folder:
        cases = [case for case in (make(number, count, folder) for number in numbers) if case]
        return list(zip(cases, judge.outcomes(build, cases))), {path: open(os.path.join(folder, path), encoding="utf-8").read() for path in os.listdir(folder)}


def reason(outcome):
    """A refusal without its numbers and names."""
    return re.sub(r"/\S*\.yaml|'[^']*'|\"[^\"]*\"|[0-9]+", "_", re.sub(r"\d+:\d+: ", "", outcome.replace("\"ppc.", "ppc.")))[:110]


class Tally:
    def __init__(self):
        self.modules, self.layouts, self.verdicts, self.refusals, self.needless, self.shown = 0, 0, {}, {}, {}, {}

    def add(self, case, found, arguments, plans):
        self.modules += 1
        for layout, outcome in zip(case.layouts, found):
            self.layouts += 1
            verdict = judge.verdict(outcome)
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
            if verdict == "equal":
                continue
            if verdict == "refused":
                self.refusals[reason(outcome)] = self.refusals.get(reason(outcome), 0) + 1
                if outcome.startswith("failed: train") and judge.is_separate(case):
                    self.needless[reason(outcome)] = self.needless.get(reason(outcome), 0) + 1
                continue
            kind = verdict + " " + (reason(outcome) if verdict != "wrong" else "with runs" if " runs " in case.text else "")
            self.shown[kind] = self.shown.get(kind, 0) + 1
            if self.shown[kind] <= arguments.show:
                report(arguments, case, layout, outcome, verdict, plans)


def report(arguments, case, layout, outcome, verdict, plans):
    print(f"FAILED module {case.name} under {layout}: {outcome[:300]}", flush=True)
    plan = plans.get(os.path.basename(layout.get("plan-file", "")), "")
    text = case.text
    if arguments.shrink:
        text, layout, outcome = smaller.shrink(arguments.build, case, layout, plan, verdict)
    said = {key: value for key, value in layout.items() if key != "plan-file"}
    shown = f"// {json.dumps(said)}\n// right: equal; module {case.name}: {outcome[:400]}\n" + "".join(f"// plan: {line}\n" for line in plan.splitlines()) + text
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
        with open(os.path.join(arguments.keep, f"{verdict}-{case.name}.mlir"), "w", encoding="utf-8") as file:
            file.write(shown)
    else:
        print(shown, flush=True)


def replay(build, paths):
    """Modules that were kept: the first line is the layout, the second the right outcome, then perhaps a plan. The name of the file seeds the numbers."""
    paths = [file for path in paths for file in ([os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".mlir")] if os.path.isdir(path) else [path])]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ppc-models-") as folder:
        cases, rights = [], []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            lines = text.splitlines()
            layout, plan = json.loads(lines[0].removeprefix("//")), [line.removeprefix("// plan: ") for line in lines if line.startswith("// plan: ")]
            if plan:
                layout["plan-file"] = os.path.join(folder, os.path.basename(path) + ".yaml")
                with open(layout["plan-file"], "w", encoding="utf-8") as file:
                    file.write("\n".join(plan) + "\n")
            cases.append(judge.Case(os.path.basename(path), text, [layout], most=None))
            rights.append(re.match(r"// right: (\w+)", lines[1])[1])
        for case, right, found in zip(cases, rights, judge.outcomes(build, cases)):
            if judge.verdict(found[0]) != right:
                failed += 1
                print(f"FAILED {case.name}: {found[0][:300]}; right: {right}", flush=True)
    print(f"{len(paths)} modules that failed once, {failed} failed")
    return failed


def draw_and_run(arguments):
    start, tally = time.monotonic(), Tally()
    groups = [range(first, min(first + GROUP, arguments.seed + arguments.count)) for first in range(arguments.seed, arguments.seed + arguments.count, GROUP)]
    pending = iter(groups)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = set()
        while True:
            while len(running) < arguments.jobs and time.monotonic() - start < arguments.seconds:
                group = next(pending, None)
                if group is None:
                    break
                running.add(pool.submit(run_group, arguments.build, group, arguments.layouts))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for task in done:
                results, plans = task.result()
                for case, found in results:
                    tally.add(case, found, arguments, plans)
    if arguments.verbose:
        for title, counts in (("refused", tally.refusals), ("refused though the samples are separate", tally.needless)):
            for text, number in sorted(counts.items(), key=lambda entry: -entry[1])[:40]:
                print(f"  {title} {number}: {text}")
    for text, number in sorted(tally.shown.items(), key=lambda entry: -entry[1]):
        print(f"  {number} {text}")
    wrong = sum(number for verdict, number in tally.verdicts.items() if verdict not in ("equal", "refused"))
    counts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(tally.verdicts.items()))
    print(f"{tally.modules} modules from {arguments.seed} in {tally.layouts} layouts: {counts}; {time.monotonic() - start:.0f} s")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layouts", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10**9)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=2, help="of each kind of failure, how many are shown")
    parser.add_argument("--keep", default=None)
    parser.add_argument("--verbose", action="store_true", help="print reasons of refusals")
    parser.add_argument("--replay", nargs="*", default=None)
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    arguments = parser.parse_args()
    if arguments.replay is not None:
        return 1 if replay(arguments.build, arguments.replay) else 0
    return 1 if draw_and_run(arguments) else 0


if __name__ == "__main__":
    sys.exit(main())
