#!/usr/bin/env python3
"""Generates random small models and random layouts of 1 to 16 ranks, and compares each with the same model on one rank, in process.

    layout_cases.py --build BUILD [--count N] [--seed S] [--jobs N] [--keep FOLDER] [--state FILE]
    layout_cases.py --build BUILD --replay FOLDER

The cases of random_layouts.py are here imported, partitioned, proved and executed in random orders that streams, tokens and
messages allow, and computed on the interpreter in f64 (ppc-opt --test-ppc-layout-cases): hundreds of cases a minute. A model or a layout that
is refused when it is read, or has fewer parts than ranks, counts as refused; every other error, a difference, a crash and a hang count as failed. What fails is made
smaller, printed with the command that repeats it, and kept with --keep; --replay runs what was kept. With --state a run that was
ended goes on where it was: the file says which seed is next and what was counted.
"""
import argparse
import concurrent.futures
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import random_layouts

GROUP = 50  # cases of one process
LONGEST = 600  # seconds of one process


def draw(seed):
    """One case, as ppc-opt reads it."""
    pick = random.Random(seed)
    model = random_layouts.draw_model(pick)
    options, shape = random_layouts.draw_layout(pick)
    options = random_layouts.draw_experts(random.Random(seed), model, options)
    layout = {}
    words = iter(options)
    for word in words:
        key, _, value = word.removeprefix("--").partition("=")
        value = value or next(words)
        layout[key] = value == "on" if key in ("sp", "rotate") else int(value) if value.isdigit() else value
    degree, _, kind = str(layout["cp"]).partition("=")
    layout["cp"], layout["context"] = int(degree), kind or "all-gather"
    fit(model, layout)
    said = dict(zip(shape[::2], shape[1::2]))
    return {"name": f"--seed {seed}", "config": {key: value for key, value in model.items() if value is not None},
            "seq_len": int(said["--seq-len"]), "global_batch": int(said["--global-batch"]),
            "precision": pick.choice(["f32", "f32", "bf16"]), "overlap": pick.random() < 0.8, "layout": layout}


def fit(model, layout):
    """Most of what would be refused at once: more parts than heads, more stages than layers."""
    layout["tp"] = min(layout["tp"], model.get("num_attention_heads", model.get("n_head")))
    stages = layout["pp"] * (2 if layout["schedule"] not in ("1f1b", "gpipe", "zb1p", "zb2p", "seq1f1b", "chimera", "dualpipe") else 1)
    key = "n_layer" if "n_layer" in model else "num_hidden_layers"
    model[key] = max(model[key], stages - 2)
    hidden = model.get("hidden_size", model.get("n_embd"))
    if layout["tp"] % layout.get("tp-rows", 1) or hidden % layout.get("tp-rows", 1):
        layout.pop("tp-rows")
    if layout["tp"] // layout.get("tp-rows", 1) % layout.get("tp-depth", 1):
        layout.pop("tp-depth")
    if layout.get("tp-rows", 1) == layout["tp"] > 1:
        layout["sp"] = False
    if layout.get("tp-rows", 1) * layout.get("tp-depth", 1) > 1:
        layout.pop("ep", None)
    if layout.get("ep", 1) % layout["tp"]:
        layout.pop("ep", None)
    if layout.get("shard-group", 0) % max(1, layout.get("ep", 1) // layout["tp"]):
        layout.pop("shard-group")
    for key in ("gradient-group", "parameter-group"):
        if layout.get(key, 0) > 1 and layout[key] % max(1, layout.get("ep", 1) // layout["tp"]):
            layout.pop(key)


def outcomes(build, cases):
    """Outcome of each case; if a process dies, that is the outcome of its current case."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        empty, listed = os.path.join(folder, "empty.mlir"), os.path.join(folder, "list")
        with open(empty, "w") as file:
            file.write("module {}\n")
        while len(found) < len(cases):
            rest = [case for case in cases if case["name"] not in found]
            with open(listed, "w") as file:
                file.writelines(json.dumps(case) + "\n" for case in rest)
            command = [os.path.join(build, "bin/ppc-opt"), empty, f"--test-ppc-layout-cases=list={listed}", "-o", os.devnull]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=LONGEST)
                text, word, status = done.stdout, done.stderr, done.returncode
            except subprocess.TimeoutExpired as late:
                said = late.stdout or ""
                text, word, status = said if isinstance(said, str) else said.decode(errors="replace"), f"no end within {LONGEST} s", 1
            names = {case["name"] for case in rest}
            for line in text.splitlines():
                name, _, outcome = line.partition(": ")
                if name in names:
                    found[name] = outcome
            missing = next((case["name"] for case in rest if case["name"] not in found), None)
            if missing and not status:
                sys.exit(f"no word of {missing}\n{text}{word}")
            if missing:
                found[missing] = f"died: exit status {status}: {(word.strip().splitlines() or ['no word'])[-1][:300]}"
    return [found[case["name"]] for case in cases]


def is_failure(outcome):
    return outcome != "equal" and not outcome.startswith("refused: ")


def kind(outcome):
    """The invariant while a failure is made smaller."""
    return re.sub(r"[0-9]+|'[^']*'|\"[^\"]*\"", "", outcome)[:40]


def smaller(case):
    """Cases that have less in one place."""
    def other(change):
        result = copy.deepcopy(case)
        change(result)
        return result

    layout, config = case["layout"], case["config"]
    neutral = {"dp": 1, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "micro-batch": 1, "zero": 0, "shard-group": 0, "gradient-group": 0, "parameter-group": 0, "sp": False, "recompute": "none", "schedule": "1f1b",
               "context": "all-gather", "offload": "none", "tp-rows": 1, "tp-depth": 1, "rotate": False, "product-pieces": 0}
    for key, value in neutral.items():
        if layout.get(key, value) != value:
            yield other(lambda result, key=key, value=value: result["layout"].update({key: value}))
            if isinstance(layout[key], int) and layout[key] > 2:
                yield other(lambda result, key=key: result["layout"].update({key: 2}))
    ranks = layout.get("dp", 1) * layout.get("micro-batch", 1)
    for batch in (ranks, 2 * ranks, case["global_batch"] // 2):
        if 0 < batch < case["global_batch"]:
            yield other(lambda result, batch=batch: result.update(global_batch=batch))
    if case["overlap"]:
        yield other(lambda result: result.update(overlap=False))
    if case["precision"] != "f32":
        yield other(lambda result: result.update(precision="f32"))
    if case["seq_len"] > 4:
        yield other(lambda result: result.update(seq_len=4))
    for key in ("num_hidden_layers", "n_layer"):
        for fewer in range(1, config.get(key, 1)):
            yield other(lambda result, key=key, fewer=fewer: result["config"].update({key: fewer}))
    for key in ("tie_word_embeddings", "attention_bias", "use_parallel_residual"):
        if config.get(key):
            yield other(lambda result, key=key: result["config"].update({key: False}))


def shrink(build, case, outcome):
    """A smaller case that fails in the same way."""
    again = True
    while again:
        again = False
        for candidate in smaller(case):
            found = outcomes(build, [candidate])[0]
            if is_failure(found) and kind(found) == kind(outcome):
                case, outcome, again = candidate, found, True
                break
    return case, outcome


class Run:
    """Counts, and where to go on."""

    def __init__(self, path, first):
        self.path, self.next, self.counts = path, first, {"equal": 0, "refused": 0, "failed": 0}
        if path and os.path.exists(path):
            with open(path) as file:
                held = json.load(file)
            self.next, self.counts = held["next"], held["counts"]
            print(f"goes on at seed {self.next} after {self.counts}", flush=True)

    def add(self, outcome):
        self.counts["failed" if is_failure(outcome) else outcome.partition(":")[0]] += 1

    def save(self, following):
        self.next = following
        if self.path:
            with open(self.path + ".new", "w") as file:
                json.dump({"next": self.next, "counts": self.counts}, file)
            os.replace(self.path + ".new", self.path)


def report(arguments, case, outcome):
    print(f"FAILED {case['name']} (repeat with {case['name']} --count 1): {outcome}", flush=True)
    least, outcome = shrink(arguments.build, case, outcome)
    print(f"  made smaller: {outcome}\n  {json.dumps(least)}", flush=True)
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
        with open(os.path.join(arguments.keep, case["name"].replace("--seed ", "seed-") + ".json"), "w") as file:
            json.dump(least, file, indent=1)


def replay(arguments, run):
    for name in sorted(os.listdir(arguments.replay)):
        with open(os.path.join(arguments.replay, name)) as file:
            outcome = outcomes(arguments.build, [json.load(file)])[0]
        run.add(outcome)
        if outcome != "equal":
            print(f"{name}: {outcome}", flush=True)
    return sum(run.counts.values())


def draw_all(arguments, run):
    end, began = arguments.seed + arguments.count, time.monotonic()
    groups = [range(start, min(start + GROUP, end)) for start in range(run.next, end, GROUP)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        judged = pool.map(lambda seeds: outcomes(arguments.build, [draw(seed) for seed in seeds]), groups)
        for seeds, found in zip(groups, judged):
            for seed, outcome in zip(seeds, found):
                run.add(outcome)
                if is_failure(outcome):
                    report(arguments, draw(seed), outcome)
                elif arguments.list:
                    print(f"--seed {seed}: {outcome}", flush=True)
            run.save(seeds.stop)
            if sys.stderr.isatty() or arguments.count > 1000 and (seeds.stop - arguments.seed) % 1000 < GROUP:
                print(f"seed {seeds.stop}: {run.counts}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-opt")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, help="seed of the first case; the next ones follow (default: random, printed)")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--keep", help="folder for failures, made smaller")
    parser.add_argument("--state", help="file from which a run goes on")
    parser.add_argument("--replay", help="folder whose cases are run again, and nothing else")
    parser.add_argument("--list", action="store_true", help="print what became of each case")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(10 ** 9)
        if not arguments.replay:
            print(f"from --seed {arguments.seed}", flush=True)
    run = Run(arguments.state, arguments.seed)
    if arguments.replay:
        count = replay(arguments, run)
        print(f"{count} cases that failed once, {count - run.counts['equal']} not equal")
        sys.exit(count != run.counts["equal"])
    draw_all(arguments, run)
    print("{equal} compute what one rank does, {refused} refused, {failed} failed".format(**run.counts))
    sys.exit(1 if run.counts["failed"] or not run.counts["equal"] else 0)


if __name__ == "__main__":
    main()
