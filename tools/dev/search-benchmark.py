#!/usr/bin/env python3
"""Times the search of ppc-plan on named problems, on models of growing depth and on growing clusters.

Each problem is searched whole, cold, in a process of its own; processor time is that of all threads. Prints a table, or
with --markdown FILE writes it. `--alternatives` also searches the best plan with another value of each decision, as ppc-plan
does for its table.
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


def run(tool, model, cluster, sequence, batch, alternatives):
    command = [tool, model, "--cluster", cluster, "--seq-len", str(sequence), "--global-batch", str(batch),
               "--emit", "table" if alternatives else "plan"]
    start = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        out.seek(0)
        text = out.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    step = re.search(rb": ([0-9.]+ \w+) per step", text)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, step.group(1).decode() if step else ""


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", required=True, metavar="FILE", help="the ppc-plan to run (a release build)")
    parser.add_argument("--alternatives", action="store_true", help="with what another decision would cost")
    parser.add_argument("--markdown", metavar="FILE", help="write the table there")
    options = parser.parse_args()
    lines = ["| problem | wall time | processor time | peak memory | bound | fastest step |", "|---|---|---|---|---|---|"]

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
    if options.markdown:
        with open(options.markdown, "w") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
