#!/usr/bin/env python3
"""Generates random plan files, legal and damaged, for small models: each is refused with file, line and column, or compiles and computes
what one rank does.

    plan_files.py --build BUILD [--count N] [--seed S] [--keep FOLDER]
    plan_files.py --build BUILD --replay FOLDER

Numbers are compared on the interpreter in f64 (--test-ppc-plan-files), the proof of equivalence included. A file that is taken and
fails later, gives other numbers, or is refused without a position counts as a failure. What fails is made smaller, line by line, and kept
with --keep; --replay runs what was kept. A failure prints its seed, which reproduces it with --count 1.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import plans

SHAPE = ["--seq-len", "4", "--global-batch", "8"]
GROUP = 100  # files that one process reads
MODELS = {
    "llama": plans.LLAMA,
    "uneven": plans.UNEVEN,
    "gpt2": plans.GPT2,
    "mixtral": os.path.join(plans.CASES, "mixtral.json"),
}
AXES = ["dp", "tp", "tp0", "tp1", "cp", "ep", "rows", "a"]
# Dimensions with the degrees by which each model of MODELS can be sharded; misspelt ones are damage.
DIMENSIONS = ["ffn", "kv_heads", "head_group", "vocab", "sequence", "experts", "expert_ffn", "hidden", "head_dim", "intermediate"]
ABSURD = ["-1", "0", "1.5", "1e400", "99999999999", "2147483648", "4294967296", "two", "~", "[ ]", "{ }", "[ dp", "true", "'", "&a 1", "!!int 2"]


def draw(seed):
    """The name of a model and the text of a plan file: one that should be legal, or any, or one of them with errors."""
    pick = random.Random(seed)
    model = pick.choice(list(MODELS))
    tidy = pick.random() < 0.7
    names = pick.sample(AXES, pick.randint(1, 3))
    data = [name for name in names if name in ("dp", "rows")][:1] or ([pick.choice(names)] if pick.random() < 0.4 else [])
    rest = [name for name in names if name not in data]
    sizes = {name: pick.choice([2, 2, 4] if name in data else [1, 2, 2, 2, 3, 4]) for name in names}
    while product_of(sizes.values()) > 12:
        sizes[pick.choice(names)] = 2 if tidy else 1
        if all(size <= 2 for size in sizes.values()):
            break
    batches = 8 // product_of(sizes[name] for name in data) if tidy else 8
    counts = [count for count in (1, 2, 4, 8) if batches % count == 0] if tidy else [1, 2, 3, 4, 8]
    lines = ["grid: { " + ", ".join(f"{name}: {sizes[name]}" for name in names) + " }"]
    lines += draw_roles(pick, names, data, tidy)
    count, (schedule, stages, vp) = pick.choice(counts), draw_stages(pick)
    lines.append(f"stages: [ {', '.join(map(str, stages))} ]")
    if vp > 1 or pick.random() < 0.2:
        lines.append(f"vp: {vp}")
    lines += [f"schedule: {schedule}", f"micro_batches: {count}", "dimensions:"]
    lines += [f"  {dimension}: [ {', '.join(axes)} ]" for dimension, axes in draw_dimensions(pick, names, data, rest, sizes, tidy).items()]
    lines += draw_extras(pick, names, data, rest, tidy)
    if pick.random() < 0.3:
        damage(pick, lines)
    return model, "\n".join(lines) + "\n"


def draw_roles(pick, names, data, tidy):
    said = {name: "data" if name in data else "tensor" for name in names if pick.random() < 0.2}
    if not tidy:
        said = {name: pick.choice(["data", "tensor", "replica", "context", "expert"]) for name in names if pick.random() < 0.2}
    return ["roles: { " + ", ".join(f"{name}: {role}" for name, role in said.items()) + " }"] if said else []


def draw_stages(pick):
    """Schedule, first layers, virtual stages; the models have four layers, embedding and LM head included."""
    stages = [0] + sorted(pick.sample([1, 2, 3], pick.choice([0, 0, 0, 1, 1, 2, 3])))
    if len(stages) % 2 == 0 and pick.random() < 0.4:
        return pick.choice(["interleaved", "breadth-first", "zbv", "wave"]), stages, 2
    return pick.choice(["1f1b", "gpipe", "zb1p", "zb2p"]), stages, 1


def draw_dimensions(pick, names, data, rest, sizes, tidy):
    dimensions = {"batch": data} if data or pick.random() < 0.5 else {}
    if not tidy and pick.random() < 0.6:
        for dimension in pick.sample(DIMENSIONS, pick.randint(1, 3)):
            dimensions[dimension] = pick.sample(names, pick.randint(0, min(2, len(names))))
        return dimensions
    if not rest:
        return dimensions
    for dimension in ("ffn", "vocab"):
        if pick.random() < 0.9:
            dimensions[dimension] = pick.sample(rest, len(rest)) if pick.random() < 0.3 else rest
    if pick.random() < 0.5:
        dimensions[pick.choice(["experts", "expert_ffn"])] = pick.sample(rest, len(rest))
        if pick.random() < 0.3:
            dimensions["experts"] = data + rest
            dimensions.pop("expert_ffn", None)
    if product_of(sizes[name] for name in rest) <= 2 or pick.random() < 0.3:
        dimensions[pick.choice(["kv_heads", "kv_heads", "head_group"])] = rest
    elif len(rest) > 1 and pick.random() < 0.5:
        dimensions["kv_heads"] = rest[:1]
    return dimensions


def draw_extras(pick, names, data, rest, tidy):
    lines = []
    if pick.random() < 0.15:
        name = pick.choice(["model.norm.weight", "transformer.ln_f.weight", "lm_head.weight", "nobody"])
        cuts = ", ".join("[ " + ", ".join(pick.sample(names, pick.randint(0, 1))) + " ]" for _ in range(pick.randint(1, 2)))
        lines += ["parameters:", f"  {name}: [ {cuts} ]"]
    if pick.random() < 0.3:
        what = pick.choice(["full", "selective", "none", "silu", "silu, mul", "matmul.0", "gelu"] + ([] if tidy else ["nonsense", "matmul.99"]))
        lines.append(f"recompute: {{ {pick.choice(['1-2', '1', '0-3', '2'] + ([] if tidy else ['2-1', '1-9']))}: \"{what}\" }}")
    if rest and pick.random() < 0.4:
        lines.append(f"activations: {{ {'sequence' if tidy else pick.choice(['sequence', 'hidden', 'sequense', 'kv_heads', 'head_group'])}: [ {', '.join(rest)} ] }}")
    if data and pick.random() < 0.4:
        update = pick.sample(data, len(data))
        lines.append(f"update: [ {', '.join(update)} ]")
        for key in ("gradients", "storage"):  # over the first axes, or none of them
            if first := update[:pick.randint(0, len(update))]:
                lines.append(f"{key}: [ {', '.join(first)} ]")
    return lines


def product_of(numbers):
    product = 1
    for number in numbers:
        product *= number
    return product


def damage(pick, lines):
    """One to three errors that users or editors make."""
    for _ in range(pick.choice([1, 1, 2, 3])):
        at = pick.randrange(len(lines))
        line = lines[at]
        kind = pick.randrange(8)
        words = re.findall(r"[\w.]+", line)
        if kind == 0 and words:  # a misspelt word
            word = pick.choice(words)
            place = pick.randrange(len(word))
            lines[at] = line.replace(word, word[:place] + pick.choice(["", "x", word[place] * 2]) + word[place + 1:], 1)
        elif kind == 1 and words:  # another value
            lines[at] = line.replace(pick.choice(words), pick.choice(ABSURD), 1)
        elif kind == 2:
            del lines[at]
        elif kind == 3:
            lines.insert(pick.randrange(len(lines) + 1), line)
        elif kind == 4:
            lines.insert(at, pick.choice(["grid: { pp: 2 }", "pp: 2", "tp: 4", "overlap: maybe", "dimension: { batch: [ dp ] }", "  ffn: [ dp ]", "zero: 1"]))
        elif kind == 5:
            lines[at] = pick.choice([" ", "\t", "- "]) + line
        elif kind == 6 and len(line) > 1:
            lines[at] = line[:pick.randrange(1, len(line))]
        else:
            lines[at] = line.replace("{", "{ pp: 2,", 1) if "{" in line else line + pick.choice([" ]", " }", ":", " #", " 2"])
        if not lines:
            lines.append("grid: {}")


class Checker:
    def __init__(self, build, folder):
        self.build, self.folder, self.modules = build, folder, {}

    def tool(self, name):
        return os.path.join(self.build, "bin", name)

    def module(self, name):
        """The model as ppc-compile imports it."""
        if name not in self.modules:
            config, path = MODELS[name], os.path.join(self.folder, name + ".mlir")
            if isinstance(config, dict):
                with open(os.path.join(self.folder, name + ".json"), "w") as file:
                    json.dump(config, file)
                config = os.path.join(self.folder, name + ".json")
            subprocess.run([self.tool("ppc-compile"), config, *SHAPE, "--emit=model", "-o", path], check=True, stderr=subprocess.DEVNULL)
            self.modules[name] = path
        return self.modules[name]

    def outcomes(self, model, paths):
        """Outcome of each plan file; if a process dies, that is the outcome of its current file."""
        found = {}
        while len(found) < len(paths):
            rest = [path for path in paths if path not in found]
            listed = os.path.join(self.folder, "list")
            with open(listed, "w") as file:
                file.write("\n".join(rest) + "\n")
            done = subprocess.run([self.tool("ppc-opt"), self.module(model), f"--test-ppc-plan-files=list={listed}", "-o", os.devnull],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
            before = len(found)
            for line in done.stdout.splitlines():
                path, _, outcome = line.partition(": ")
                if path in rest:
                    found[path] = outcome
            if len(found) < len(paths) and done.returncode:
                missing = next(path for path in paths if path not in found)
                found[missing] = f"died: exit status {done.returncode}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}"
            elif len(found) == before:
                sys.exit(f"{model}: no word of some files\n{done.stdout}{done.stderr}")
        return found

    def judge(self, model, texts):
        """The outcome of each text."""
        paths = []
        for number, text in enumerate(texts):
            paths.append(os.path.join(self.folder, f"plan{number}.yaml"))
            with open(paths[-1], "w") as file:
                file.write(text)
        found = self.outcomes(model, paths)
        return [found[path] for path in paths]

    def shrink(self, model, text):
        """Fewer lines that still fail."""
        lines, at = text.splitlines(), 0
        while at < len(lines):
            fewer = lines[:at] + lines[at + 1:]
            if fewer and problem_of(self.judge(model, ["\n".join(fewer) + "\n"])[0]):
                lines = fewer
            else:
                at += 1
        return "\n".join(lines) + "\n"


def problem_of(outcome):
    """Error in an outcome, or None."""
    if outcome == "equal":
        return None
    if outcome.startswith("refused: "):
        return None if re.search(r"\.yaml:\d+:\d+: ", outcome) else "no position: " + outcome
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-opt and bin/ppc-compile")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="of the first file; the next ones follow")
    parser.add_argument("--keep", help="folder for failures, made smaller")
    parser.add_argument("--replay", help="folder whose files MODEL-*.yaml are run again, and nothing else")
    parser.add_argument("--list", action="store_true", help="print what became of each file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(os.path.abspath(arguments.build), folder)
        cases = []
        if arguments.replay:
            for name in sorted(os.listdir(arguments.replay)):
                with open(os.path.join(arguments.replay, name)) as file:
                    cases.append((name, name.split("-")[0], file.read()))
        else:
            cases = [(f"--seed {seed}", *draw(seed)) for seed in range(arguments.seed, arguments.seed + arguments.count)]
        counts = {"equal": 0, "refused": 0, "failed": 0}
        for model in MODELS:
            own = [case for case in cases if case[1] == model]
            for start in range(0, len(own), GROUP):
                group = own[start:start + GROUP]
                for (name, _, text), outcome in zip(group, checker.judge(model, [case[2] for case in group])):
                    problem = problem_of(outcome)
                    counts["failed" if problem else outcome.split(":")[0]] += 1
                    if arguments.list and not problem:
                        print(f"{name}: {model}: {outcome}\n{text}", flush=True)
                    if not problem:
                        continue
                    small = checker.shrink(model, text)
                    print(f"{name}: {model}: {problem}\n{small}", flush=True)
                    if arguments.keep:
                        os.makedirs(arguments.keep, exist_ok=True)
                        with open(os.path.join(arguments.keep, f"{model}-{name.split()[-1]}.yaml"), "w") as file:
                            file.write(small)
        print(f"{sum(counts.values())} plan files: {counts['equal']} compile and equal one rank, {counts['refused']} refused with "
              f"their position, {counts['failed']} failed")
        sys.exit(1 if counts["failed"] or not cases else 0)


if __name__ == "__main__":
    main()
