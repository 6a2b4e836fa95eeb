#!/usr/bin/env python3
"""Draws modules as people write them by hand, and compares loss, gradients and one update under many layouts with an evaluation from outside.

    random_models.py --build build/dev [--count N] [--seed S] [--layouts L] [--jobs N] [--keep FOLDER] [--seconds S]
    random_models.py --build build/dev --replay FILE|FOLDER...

Module I is drawn by its number alone (`--seed I --count 1`). Each layout is imported, cut, proved and executed on the interpreter in f64
(ppc-opt --test-ppc-model-cases). Equal, or refused with a place and a reason, is right; what is computed otherwise, not proved, refused in words of
passes, or ends by a signal, is made smaller and, with --keep, written to a file. Each refusal must be for a reason that reasons.py lists, and that is
true of this module and layout; --verbose counts them, those of a module whose loss is a sum over samples apart as well.
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
import reasons
import smaller

GROUP = 20      # modules of one process
UNUSUAL = 0.35  # of modules that are likely to be refused, those that are kept


def is_usual(case):
    """Whether the loss is a sum over samples, and each parameter matters, but for biases that only choose; or whether ids name nothing."""
    if case.unknown is not None:
        return True
    reads = [(op.kind == "top_k" and place == 1, name) for op in case.module.ops for place, name in enumerate(op.operands)]
    biases = {name for isBias, name in reads if isBias} - {name for isBias, name in reads if not isBias}
    slopes = evaluator.gradients(case.module, case.numbers)
    return judge.is_separate(case) and bool(slopes) and all(slope.any() for name, slope in slopes.items() if name not in biases)


def make(number, count, folder):
    """Module `number` with its layouts. Of those that have no sum over the samples, or parameters without influence, most are drawn again."""
    pick = random.Random(f"keep {number}")
    for attempt in range(20):
        text = generator.model(f"{number}.{attempt}")
        try:
            case = judge.Case(number, text, [])
            usual = is_usual(case)
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
        self.modules, self.layouts, self.verdicts, self.refusals, self.shown = 0, 0, {}, {}, {}

    def add(self, case, found, arguments, plans):
        self.modules += 1
        for layout, outcome in zip(case.layouts, found):
            self.layouts += 1
            verdict, kind = judge.verdict(outcome), reason(outcome)
            if verdict == "refused":
                kind, verdict = reasons.find(case, layout, plan_of(layout, plans), outcome)
                counts = self.refusals.setdefault(kind, [0, 0, outcome])
                counts[0] += 1
                counts[1] += outcome.startswith("failed: train") and judge.is_separate(case)
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
            if verdict in ("equal", "refused"):
                continue
            kind = verdict + " " + (kind if verdict != "wrong" else "with runs" if " runs " in case.text else "")
            self.shown[kind] = self.shown.get(kind, 0) + 1
            if self.shown[kind] <= arguments.show:
                report(arguments, case, layout, outcome, verdict, plans)

    def table(self):
        """Refusals by reason."""
        print(f"{'refused because of':40} {'layouts':>8} {'separate samples':>17}  for example")
        for kind, (number, separate, outcome) in sorted(self.refusals.items(), key=lambda entry: -entry[1][0]):
            print(f"{kind:40} {number:8} {separate:17}  {outcome[:150]}")


def plan_of(layout, plans):
    return plans.get(os.path.basename(layout.get("plan-file", "")), "")


def report(arguments, case, layout, outcome, verdict, plans):
    print(f"FAILED module {case.name} under {layout}: {outcome[:300]}", flush=True)
    plan, text = plan_of(layout, plans), case.text
    if arguments.shrink and verdict not in ("untrue", "unlisted"):
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
    """Modules that were kept: the first line is the layout, the second what is right, then perhaps a plan. Numbers are drawn from the name of the file."""
    paths = [file for path in paths for file in ([os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".mlir")] if os.path.isdir(path) else [path])]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ppc-models-") as folder:
        cases, plans, rights = [], [], []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            lines = text.splitlines()
            layout, plan = json.loads(lines[0].removeprefix("//")), [line.removeprefix("// plan: ") for line in lines if line.startswith("// plan: ")]
            if plan:
                layout["plan-file"] = os.path.join(folder, os.path.basename(path) + ".yaml")
                with open(layout["plan-file"], "w", encoding="utf-8") as file:
                    file.write("\n".join(plan) + "\n")
            plans.append("\n".join(plan))
            cases.append(judge.Case(os.path.basename(path), text, [layout], most=None))
            rights.append(re.match(r"// right: (\w+)", lines[1])[1])
        for case, plan, right, found in zip(cases, plans, rights, judge.outcomes(build, cases)):
            verdict = judge.verdict(found[0])
            if verdict == "refused":
                verdict = reasons.find(case, case.layouts[0], plan, found[0])[1]
            if verdict != right:
                failed += 1
                print(f"FAILED {case.name}: {verdict}: {found[0][:300]}; right: {right}", flush=True)
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
        tally.table()
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
    parser.add_argument("--verbose", action="store_true", help="print a table of the reasons of refusals")
    parser.add_argument("--replay", nargs="*", default=None)
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    arguments = parser.parse_args()
    if arguments.replay is not None:
        return 1 if replay(arguments.build, arguments.replay) else 0
    return 1 if draw_and_run(arguments) else 0


if __name__ == "__main__":
    sys.exit(main())
