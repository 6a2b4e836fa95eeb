#!/usr/bin/env python3
"""Times the search of ppc-plan on named problems, on models of growing depth and on growing clusters.

Each problem is searched completely, cold, in its own process; CPU time includes all threads. Prints a table, or with --markdown
FILE writes it. `--alternatives` also searches the best plan with another value of each decision, as ppc-plan does for its table.
`--targets` instead searches every model of test/Inputs/Models for programs of each target, with the default table, and ends with 1
if a search takes longer than its bound; `--only NAME` those whose name holds it.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
MODELS = os.path.join(ROOT, "test/Inputs/Models")

# name, model file, cluster, sequence, global batch, bound in seconds on two cores
NAMED = [
    ("Llama-3-8B on 64 H100", "llama-3-8b", "dgx-h100:8", 8192, 128, 1),
    ("GPT-3 175B on 1,024 A100", "gpt3-175b", "dgx-a100:128", 2048, 1536, 3),
    ("Llama-3-405B on 16,384 H100", "llama-3.1-405b", "dgx-h100:2048", 8192, 2048, 5),
    ("DeepSeek-V3 on 2,048 H100", "deepseek-v3", "dgx-h100:256", 4096, 15360, 10),
]


# Searches of --target: a node's cluster by the number of devices, with its global batch; bounds in seconds of CPU time.
TARGETS = ["host", "cuda"]
TARGET_SIZES = [(64, "dgx-h100:8", 128), (1024, "dgx-h100:128", 1024)]
TARGET_SEQUENCE = 4096  # or as many as the model has positions
TARGET_BOUND, TARGET_BOUNDS = 10, {"deepseek-v3": 30}
# Problems whose sequences are others: model, sequence, devices, cluster, batch.
TARGET_PROBLEMS = [("llama-3-70b", 8192, 64, "dgx-h100:8", 128), ("deepseek-v3", 1024, 1024, "dgx-h100:128", 1024)]


def run(tool, model, cluster, sequence, batch, alternatives, more=(), finds_none=False):
    """`finds_none`: that nothing fits is an answer, too."""
    command = [tool, model, "--cluster", cluster, "--seq-len", str(sequence), "--global-batch", str(batch),
               "--emit", "table" if alternatives else "plan", *more]
    start = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL if finds_none else None)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0)
        text = out.read()
    if process.returncode and not (finds_none and process.returncode == 1):
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    step = re.search(rb": ([0-9.]+ \w+) per step|(?m:^1 +(~?[0-9.]+ \w+))", text)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, (step.group(1) or step.group(2)).decode() if step else ""


# 100 layers of this width have as many parameters as 1,000 of Llama-3-8B, within 0.1 %: what memory and pipelines it takes
# to hold them is the same, only depth differs.
WIDE = {"hidden_size": 12288, "num_attention_heads": 96, "num_key_value_heads": 24, "intermediate_size": 48384}


def deepened(folder, layers, width={}):
    with open(os.path.join(MODELS, "llama-3-8b.json")) as file:
        config = json.load(file)
    config.update(width, num_hidden_layers=layers)
    path = os.path.join(folder, f"layers-{layers}{'-wide' if width else ''}.json")
    with open(path, "w") as file:
        json.dump(config, file)
    return path


def target_problems(only):
    """Model, sequence, devices, cluster, batch."""
    for name in sorted(file[:-len(".json")] for file in os.listdir(MODELS) if file.endswith(".json")):
        with open(os.path.join(MODELS, name + ".json")) as file:
            config = json.load(file)
        positions = config.get("n_positions") or config.get("seq_length") or config.get("max_position_embeddings")
        if only in name:
            for devices, cluster, batch in TARGET_SIZES:
                yield name, min(positions, TARGET_SEQUENCE), devices, cluster, batch
    yield from (problem for problem in TARGET_PROBLEMS if only in problem[0])


def time_targets(options):
    """The table of searches for targets, and whether all are within their bounds."""
    lines = ["| model | tokens | devices | batch | " + " | ".join(f"`--target {target}`" for target in TARGETS) + " | bound |",
             "|---|---|---|---|" + "---|" * len(TARGETS) + "---|"]
    print("\n".join(lines))
    within = True
    for name, sequence, devices, cluster, batch in target_problems(options.only):
        bound, cells = TARGET_BOUNDS.get(name, TARGET_BOUND), []
        for target in TARGETS:
            _, cpu, _, step = run(options.plan_tool, os.path.join(MODELS, name + ".json"), cluster, sequence, batch, True,
                                  ["--target", target], finds_none=True)
            within &= cpu <= bound
            cells.append(f"{cpu:.1f} s" + ("" if step else ", nothing fits"))
        lines.append(f"| {name} | {sequence:,} | {devices:,} | {batch:,} | " + " | ".join(cells) + f" | {bound} s |")
        print(lines[-1], flush=True)
    return lines, within


def write(options, lines):
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", required=True, metavar="FILE", help="the ppc-plan to run (a release build)")
    parser.add_argument("--alternatives", action="store_true", help="with what another decision would cost")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there")
    parser.add_argument("--targets", action="store_true", help="CPU time of searches for each target")
    parser.add_argument("--only", metavar="NAME", default="", help="with --targets: of these models")
    options = parser.parse_args()
    if options.targets:
        lines, within = time_targets(options)
        write(options, lines)
        sys.exit(0 if within else "a search takes longer than its bound")
    lines = ["| problem | wall time | CPU time | peak memory | bound | fastest step |", "|---|---|---|---|---|---|"]

    def row(name, model, cluster, sequence, batch, bound=None):
        wall, cpu, memory, step = run(options.plan_tool, model, cluster, sequence, batch, options.alternatives)
        lines.append(f"| {name} | {wall:.2f} s | {cpu:.2f} s | {memory:.0f} MiB | {f'{bound} s' if bound else ''} | {step} |")
        print(lines[-1], flush=True)

    print("\n".join(lines))
    for name, model, cluster, sequence, batch, bound in NAMED:
        row(name, os.path.join(MODELS, model + ".json"), cluster, sequence, batch, bound)
    with tempfile.TemporaryDirectory() as folder:
        for layers in (100, 1000):
            row(f"{layers} layers of Llama-3-8B on 512 H100", deepened(folder, layers), "dgx-h100:64", 4096, 512)
        row("100 layers with the parameters of those 1000", deepened(folder, 100, WIDE), "dgx-h100:64", 4096, 512)
    for nodes in (64, 256, 1024, 2048):
        row(f"Llama-3-405B on {8 * nodes:,} H100", os.path.join(MODELS, "llama-3.1-405b.json"), f"dgx-h100:{nodes}", 8192, 2048)
    write(options, lines)


if __name__ == "__main__":
    main()
