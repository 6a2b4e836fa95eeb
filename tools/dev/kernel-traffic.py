#!/usr/bin/env python3
"""Memory traffic of the kernels of a layer, with the lower bound: prints the table of docs/performance/gpu-kernels.md, or checks it.

    python3 tools/dev/kernel-traffic.py --build build/dev [--check docs/performance/gpu-kernels.md]

Counted in programs for GPUs by `ppc-compile --emit=traffic`; nothing is run. The layers are the functions that the
program calls once for each layer of the model, the first forward and the second backward."""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parents[2] / "test/Inputs/Models"
SHARDED = ["--seq-len", "4096", "--global-batch", "8", "--micro-batch", "1", "--tp", "8"]
CASES = [
    ("LLaMA-3-8B", "llama-3-8b", SHARDED),
    ("Qwen3-8B", "qwen3-8b", SHARDED),
    ("Mixtral-8x7B", "mixtral-8x7b", SHARDED),
    ("GPT-2", "gpt2", ["--seq-len", "1024", "--global-batch", "8", "--micro-batch", "8"]),
]


def layers(compiler, model, layout, folder):
    """(kernels, bytes moved, least bytes) of a layer forward and backward."""
    config = json.loads((MODELS / f"{model}.json").read_text())
    config.update({key: 0 for key in config if key.endswith("pdrop")})  # programs have no dropout
    path = pathlib.Path(folder, "config.json")
    path.write_text(json.dumps(config))
    command = [compiler, path, *layout, "--precision", "bf16", "--target", "cuda", "--emit=traffic", "-o", "-"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    count = config.get("num_hidden_layers", config.get("n_layer"))
    for direction in ("forward_body", "backward_body"):
        totals = [row for row in csv.DictReader(text.splitlines()) if row["kernel"].endswith(" kernels")
                  and row["function"].startswith(direction) and int(row["calls"]) == count]
        if len(totals) != 1:
            sys.exit(f"error: {model}: {len(totals)} functions {direction}* that are called {count} times, expected one")
        total = totals[0]
        yield (int(total["kernel"].split()[0]), int(total["bytes read"]) + int(total["bytes written"]),
               int(total["least read"]) + int(total["least written"]))


def table(compiler):
    lines = ["| layer | | kernels | bytes moved | least | ratio |", "|---|---|---:|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as folder:
        for name, model, layout in CASES:
            for direction, (kernels, moved, least) in zip(("forward", "backward"),
                                                          layers(compiler, model, layout, folder)):
                lines.append(f"| {name} | {direction} | {kernels} | {moved / 1e6:,.1f} MB | {least / 1e6:,.1f} MB "
                             f"| {moved / least:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build folder")
    parser.add_argument("--check", type=pathlib.Path, help="fail unless this file holds the table")
    options = parser.parse_args()
    text = table(options.build / "bin/ppc-compile")
    print(text, end="")
    if options.check and text not in options.check.read_text():
        sys.exit(f"error: {options.check} holds another table")


if __name__ == "__main__":
    main()
