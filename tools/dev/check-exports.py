#!/usr/bin/env python3
"""Holds the files that ppc-plan exports to the programs that read them, and prints what came of five models for every target.

Plans each model for each target. Every key and value of a file must be one of the options that the target knows (facts in
tools/dev/exports/options, each file with the version that they were read from): that needs no package. With --parsers the file also goes
to the target's own parser: torchtitan's ConfigManager and JobConfig, DeepSpeedConfig, accelerate's launcher, Megatron-LM's parse_args
and validate_args, nanotron's Config. DIR is a virtual environment, which is made and filled with the packages of
tools/dev/exports/requirements.txt where it is not there (minutes, 7 GB); what no package has is read from a checkout that an option
names, and held to its options alone without one.

A cell of the table is `accepted`; `refused` by ppc-plan, with the reason below; or `failed`, with the error below and exit status 1.

usage: check-exports.py [--plan-tool build/release/bin/ppc-plan] [--parsers DIR] [--megatron-lm DIR] [--nanotron DIR]
       [--megatron-bridge DIR] [--target NAME]... [--model NAME]... [--keep DIR]
       check-exports.py ... --variants     counts for many other plans of some models, failures by name
       check-exports.py --configs FILE [--model NAME]...    models of a JSON file {NAME: config.json} instead of the five
       check-exports.py --file TARGET=PATH...     holds files that are there to the options alone
       check-exports.py --parsers DIR ... --write-options     writes the facts anew
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "../.."))
sys.path.insert(0, HERE)
from exports import bridge, known, parsers, written

# Models, and the cluster and job that each is planned for; the first five are the table.
MODELS = {
    "llama-3-8b": ("dgx-h100:2", 8192, 128),
    "qwen3-32b": ("dgx-h100:8", 4096, 256),
    "mixtral-8x7b": ("dgx-h100:4", 4096, 256),
    "qwen3-235b": ("dgx-h100:32", 4096, 2048),
    "deepseek-v3": ("dgx-h100:256", 4096, 15360),
    "llama-3-70b": ("dgx-h100:8", 8192, 128),
    "llama-3.1-405b": ("dgx-h100:64", 8192, 512),
    "qwen3-8b": ("dgx-h100:1", 4096, 64),
    "qwen2-7b": ("dgx-a100:1", 4096, 64),
    "gpt2": ("dgx-a100:1", 1024, 64),
    "gemma-7b": ("dgx-h100:1", 4096, 64),
}
# Other plans than the best one; what a target or model has none of is refused.
VARIANTS = ["--pp 4 --vp 2", "--pp 4 --vp 1", "--cp 2", "--cp 2 --pin context=ring", "--cp 2 --pin context=ulysses", "--tp 4",
            "--tp 2 --pp 2 --recompute full", "--recompute selective", "--recompute full --pin recomputed_layers=1", "--zero 0", "--zero 1",
            "--zero 2", "--zero 3", "--zero 3 --pin shard_group=8", "--zero 1 --pin shard_group=8", "--offload optimizer", "--precision fp8",
            "--precision mxfp8", "--precision fp4", "--precision f32", "--precision tf32", "--precision fp16", "--pp 2 --schedule gpipe",
            "--pp 4 --schedule zbv", "--pp 4 --schedule dualpipev", "--pp 4 --schedule breadth-first", "--pp 4 --schedule interleaved",
            "--tp 2 --cp 2 --pp 2", "--ep 4", "--ep 2 --etp 2", "--tp 2 --sp=off", "--pin attention=unfused",
            "--scale-positions --seq-len 131072 --global-batch 32"]
TARGETS = {"megatron": parsers.Megatron, "megatron-bridge": bridge.MegatronBridge, "torchtitan": parsers.Torchtitan,
           "torchtitan-0.2.2": parsers.TorchtitanToml, "deepspeed": parsers.DeepSpeed, "accelerate": parsers.Accelerate,
           "nanotron": parsers.Nanotron}
FILES = {"megatron": "args.sh", "megatron-bridge": "recipe.py", "torchtitan": "ppc_plan.py", "torchtitan-0.2.2": "job.toml",
         "deepspeed": "ds.json", "accelerate": "accelerate.yaml", "nanotron": "nanotron.yaml"}


def plan(target, model, options, folder, variant=""):
    """The path of the file, or None and why there is none."""
    cluster, sequence, batch = MODELS[model]
    os.makedirs(os.path.join(folder, model, variant.replace(" ", "")), exist_ok=True)
    path = os.path.join(folder, model, variant.replace(" ", ""), FILES[target])
    job = [] if "--seq-len" in variant else ["--seq-len", str(sequence), "--global-batch", str(batch)]
    planned = subprocess.run([options.plan_tool, config_of(model), "--cluster", cluster, *job, *variant.split(), "--emit", target, "-o", path],
                             capture_output=True, text=True)
    if planned.returncode:
        errors = [line for line in planned.stderr.splitlines() if line.startswith("error: ")]
        return None, errors[0].removeprefix("error: ") if errors else f"no error message: {planned.stderr}"
    return path, ""


CONFIGS = os.path.join(ROOT, "test/Inputs/Models")


def config_of(model):
    return os.path.join(CONFIGS, model + ".json")


def take_configs(path, names, folder):
    """Plans the models of a file, each on 32 nodes."""
    global CONFIGS
    with open(path, encoding="utf-8") as file:
        configs = json.load(file)
    for name in names or configs:
        if name not in configs:
            sys.exit(f"error: --model {name}: {path} has no such model")
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(configs[name], file)
    CONFIGS = folder
    MODELS.clear()
    MODELS.update({name: ("dgx-h100:32", 1024, 512) for name in names or configs})
    return list(MODELS)


def read(target, path, model=None):
    """The pairs of a file; of Megatron-Bridge, which reads the model's config itself, the class that it must know, too."""
    with open(path, encoding="utf-8") as file:
        pairs = written.READERS[target](file.read())
    if target == "megatron-bridge" and model:
        with open(config_of(model), encoding="utf-8") as file:
            pairs.append(("architectures", json.load(file)["architectures"][0]))
    return pairs


def in_child(work):
    """What `work` returns, from a process of its own: parsers change the process that they run in."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = ["failed", "ended without a result"]
        try:
            with open(os.devnull, "w", encoding="utf-8") as null, contextlib.redirect_stdout(null), \
                    contextlib.redirect_stderr(null):
                status = ["accepted", work()]
        except BaseException as problem:  # argparse exits
            status = ["failed", f"{type(problem).__name__}: {problem}"]
        finally:
            with os.fdopen(writing, "w", encoding="utf-8") as out:
                out.write(json.dumps(status))
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as result:
        status = json.load(result)
    os.waitpid(child, 0)
    return status


def parser_of(target, options):
    """The target's own parser; None: it is not there."""
    needs = TARGETS[target].checkout
    missing = not options.parsers or (needs and not getattr(options, needs))
    return None if missing else TARGETS[target]()


def check_target(target, options, folder, variants=("",)):
    """{(model, variant): (status, text)} of a target."""
    results, paths = {}, {}
    for case in ((model, variant) for model in options.model for variant in variants):
        path, problem = plan(target, case[0], options, folder, case[1])
        if not path:
            results[case] = ("refused", problem)
            continue
        try:
            results[case] = ("accepted", f"{known.check(target, read(target, path, case[0]))} options are known")
            paths[case] = path
        except (ValueError, SyntaxError) as problem:
            results[case] = ("failed", str(problem))
    own = parser_of(target, options)
    if own and paths:
        def all_files():
            own.load(options)
            return [in_child(lambda: own.check(path, options)) for path in paths.values()]
        status, texts = in_child(all_files)
        results.update(zip(paths, texts) if status == "accepted" else dict.fromkeys(paths, (status, texts)))
    return results


def print_table(options):
    """The table; whether nothing failed."""
    counts, reasons = {}, []
    rows = {model: [] for model in options.model}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for target in options.target:
            results = check_target(target, options, folder)
            for model, cells in rows.items():
                status, text = results[model, ""]
                counts[status] = counts.get(status, 0) + 1
                if status != "accepted":
                    reasons.append(f"{model}, {target}: {' '.join(text.split())}")
                    status += f" [{len(reasons)}]"
                elif options.verbose:
                    print(f"{model}, {target}: {text}", flush=True)
                cells.append(status)
    print(f"| model | {' | '.join(options.target)} |\n|{'---|' * (len(options.target) + 1)}")
    by = ["own parser" if parser_of(target, options) else "options" for target in options.target]
    print(f"| held to | {' | '.join(by)} |")
    for model, cells in rows.items():
        print(f"| `{model}` on `{MODELS[model][0]}` | {' | '.join(cells)} |")
    print()
    for number, reason in enumerate(reasons, 1):
        print(f"[{number}] {reason}")
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return not counts.get("failed")


def print_variants(options):
    """How many plans of each target are accepted and refused; what fails, by name; whether nothing did."""
    clean = True
    with tempfile.TemporaryDirectory() as scratch:
        for target in options.target:
            results = check_target(target, options, options.keep or scratch, VARIANTS)
            counts = {status: sum(each[0] == status for each in results.values()) for status in ("accepted", "refused", "failed")}
            by = "own parser" if parser_of(target, options) else "options"
            print(f"{target}, held to {by}: {', '.join(f'{count} {status}' for status, count in counts.items())}", flush=True)
            for (model, variant), (status, text) in results.items():
                if status == "failed":
                    print(f"  {model} {variant}: {' '.join(text.split())}")
            clean &= not counts["failed"]
    return clean


def write_options(options):
    for target in options.target:
        if own := parser_of(target, options):
            def facts():
                own.load(options)
                return own.known(options)
            status, text = in_child(facts)
            if status != "accepted":
                sys.exit(f"error: {target}: {text}")
            known.write(target, *text)
            print(f"{known.path_of(target)}: {len(text[1])} options")


def check_files(options):
    failed = False
    for item in options.file:
        target, _, path = item.partition("=")
        if target not in TARGETS:
            sys.exit(f"error: --file {item}: expected TARGET=PATH, TARGET one of {', '.join(TARGETS)}")
        try:
            print(f"{target}: {known.check(target, read(target, path))} options are known")
        except (ValueError, SyntaxError) as problem:
            print(f"{target}: {problem}")
            failed = True
    return not failed


def enter_environment(options):
    """Goes on in the virtual environment of --parsers, which is made where there is none."""
    python = os.path.join(options.parsers, "bin/python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", options.parsers], check=True)
        requirements = os.path.join(HERE, "exports/requirements.txt")
        # DeepSpeed's build asks for torch.
        for extra in (["-r", requirements, "--no-build-isolation"],
                      ["--no-deps", "--target", os.path.join(options.parsers, "torchtitan-0.2.2"), "torchtitan==0.2.2"]):
            if extra[0] == "-r":
                subprocess.run([python, "-m", "pip", "install", "torch==2.15.0", "numpy", "setuptools", "wheel"], check=True)
            subprocess.run([python, "-m", "pip", "install", *extra], check=True, env=dict(os.environ, DS_BUILD_OPS="0"))
    if os.path.realpath(sys.prefix) != os.path.realpath(options.parsers):
        os.execv(python, [python, *sys.argv])
    options.torchtitan_toml = os.path.join(options.parsers, "torchtitan-0.2.2")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", default="ppc-plan", help="default: ppc-plan on PATH")
    parser.add_argument("--parsers", metavar="DIR", help="virtual environment of the targets' packages")
    for name in ("megatron-lm", "nanotron", "megatron-bridge"):
        parser.add_argument("--" + name, metavar="DIR", help="checkout; Megatron-Bridge's also needs Megatron-LM's")
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--model", action="append")
    parser.add_argument("--configs", metavar="FILE", help="configurations by name")
    parser.add_argument("--keep", metavar="DIR", help="where the files stay")
    parser.add_argument("--variants", action="store_true", help="many plans of each model instead of the best one")
    parser.add_argument("--verbose", action="store_true", help="also what the parsers say of files that they accept")
    parser.add_argument("--file", action="append", metavar="TARGET=PATH", help="hold this file to the options instead")
    parser.add_argument("--write-options", action="store_true", help="write the options that the parsers know")
    options = parser.parse_args()
    options.target = options.target or list(TARGETS)
    if unknown := [name for name in options.model or [] if not options.configs and name not in MODELS]:
        parser.error(f"--model {unknown[0]}: choose from {', '.join(MODELS)}")
    if options.file:
        return 0 if check_files(options) else 1
    if options.parsers:
        enter_environment(options)
    if options.write_options:
        return write_options(options)
    with tempfile.TemporaryDirectory() as folder:
        if options.configs:
            options.model = take_configs(options.configs, options.model, folder)
        options.model = options.model or list(MODELS)[:4 if options.variants else 5]
        return 0 if (print_variants if options.variants else print_table)(options) else 1


if __name__ == "__main__":
    sys.exit(main())
