#!/usr/bin/env python3
"""Compares the layouts that ppc-plan finds with published ones, both predicted by the same model.

For each published run: its layout (what the source does not say is chosen in its favour), the best plan that uses the same
means (data, tensor and pipeline parallelism with 1F1B or its interleaved form, nothing offloaded), and the best plan of the
whole space. Prints a Markdown table; exit status 1 if any published layout is predicted to be faster than what is found.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
MODELS = os.path.join(ROOT, "test/Inputs/Models")
SCHEDULES = ["gpipe", "breadth-first", "zb1p", "zb2p", "zbv", "v-half", "v-min", "wave", "chimera", "dualpipe", "dualpipev", "seq1f1b"]


def llama(layers, hidden, heads, ffn):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden, "intermediate_size": ffn,
            "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads, "vocab_size": 128000,
            "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "hidden_act": "silu"}


# Name and source; model (a file of test/Inputs/Models or sizes); cluster; devices; sequence; global batch; what is published.
RUNS = [
    ("Llama 3.1 405B (arXiv 2407.21783)", "llama-3.1-405b", "dgx-h100:2048", 16384, 8192, 2048,
     {"tp": 8, "cp": 1, "pp": 16, "dp": 128, "micro-batch": 1}),
    ("LLaMA 13B, 2k (arXiv 2311.05610)", llama(40, 5120, 40, 13824), "dgx-a100:8", 64, 2048, 2048,
     {"tp": 1, "cp": 1, "pp": 1, "micro-batch": 1, "zero": 1, "recompute": "none"}),
    ("LLaMA 65B, 2k (arXiv 2311.05610)", llama(80, 8192, 64, 22016), "dgx-a100:16", 128, 2048, 2048,
     {"tp": 2, "cp": 1, "pp": 4, "vp": 1, "schedule": "1f1b", "micro-batch": 1, "zero": 1, "recompute": "none"}),
    ("LLaMA 13B, 8k (arXiv 2311.05610)", llama(40, 5120, 40, 13824), "dgx-a100:8", 64, 8192, 512,
     {"tp": 2, "sp": "on", "cp": 1, "pp": 2, "vp": 1, "schedule": "1f1b", "micro-batch": 1, "zero": 1, "recompute": "none"}),
    ("LLaMA 30B, 2k (arXiv 2311.05610)", llama(60, 6656, 52, 17888), "dgx-a100:8", 64, 2048, 2048,
     {"tp": 1, "cp": 1, "pp": 4, "vp": 1, "schedule": "1f1b", "micro-batch": 1, "zero": 1, "recompute": "none"}),
    ("BLOOM 176B (arXiv 2211.05100)", "bloom-176b", "jean-zay-a100:48", 384, 2048, 2048,
     {"tp": 4, "cp": 1, "pp": 12, "dp": 8, "vp": 1, "schedule": "1f1b", "micro-batch": 2, "zero": 1, "recompute": "full"}),
    ("GPT-3 175B (arXiv 2205.05198)", "gpt3-175b", "dgx-a100:8", 64, 2048, 64,
     {"tp": 8, "sp": "on", "cp": 1, "pp": 8, "vp": 3, "schedule": "interleaved", "micro-batch": 1, "recompute": "selective"}),
    ("GPT 530B (arXiv 2205.05198)", "megatron-530b", "dgx-a100:35", 280, 2048, 280,
     {"tp": 8, "sp": "on", "cp": 1, "pp": 35, "vp": 3, "schedule": "interleaved", "micro-batch": 1, "recompute": "selective"}),
    ("GPT 530B, 2,240 devices (same)", "megatron-530b", "dgx-a100:280", 2240, 2048, 2240,
     {"tp": 8, "sp": "on", "cp": 1, "pp": 35, "dp": 8, "vp": 3, "schedule": "interleaved", "micro-batch": 1, "recompute": "selective"}),
    ("GPT 1T (arXiv 2205.05198)", "megatron-1t", "dgx-a100:64", 512, 2048, 512,
     {"tp": 8, "sp": "on", "cp": 1, "pp": 64, "vp": 1, "schedule": "1f1b", "micro-batch": 1, "recompute": "selective"}),
]


# Software that ran them; the software of 405B is not described well enough.
STACKS = {"2407.21783": "megatron-core", "2311.05610": "aleph-scaling", "2211.05100": "megatron-deepspeed", "2205.05198": "megatron-2021",
          "same": "megatron-2021"}


class Infeasible(Exception):
    pass


def best(tool, folder, model, cluster, sequence, batch, options):
    command = [tool, model, "--cluster", cluster, "--seq-len", str(sequence), "--global-batch", str(batch),
               "--memory", "79.2"]  # GiB: published runs leave no reserve
    if "--stack" in options:
        at = options.index("--stack")
        command += options[at:at + 2]
        options = options[:at] + options[at + 2:]
    plan = os.path.join(folder, "plan.yaml")
    found = subprocess.run(command + options + ["--emit", "plan", "-o", plan], capture_output=True, text=True)
    if found.returncode:
        raise Infeasible(found.stderr.strip().split("\n")[0])
    priced = subprocess.run(command + ["--plan", plan, "--emit", "json"], capture_output=True, text=True)
    if priced.returncode:
        sys.exit(priced.stderr)
    return json.loads(priced.stdout)["plans"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", required=True, metavar="FILE", help="the ppc-plan to run")
    parser.add_argument("--own-stacks", action="store_true", help="all columns with the software of the source, not with PPC's")
    parser.add_argument("--only", metavar="TEXT", help="runs whose name has this in it")
    options = parser.parse_args()
    print("| run | published | same means | whole space | published layout, completed | best of the same means | best of all |")
    print("|---|---|---|---|---|---|---|")
    worse = []
    for name, model, cluster, devices, sequence, batch, published in RUNS:
        if options.only and options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(model, dict):
                path = os.path.join(folder, "config.json")
                with open(path, "w") as file:
                    json.dump(model, file)
            else:
                path = os.path.join(MODELS, model + ".json")
            plain = ["--pin", "cp=1", "--offload", "none"] + [f"--forbid=schedule={each}" for each in SCHEDULES]
            pins = [f"--pin={key}={value}" for key, value in published.items()]
            software = []
            if options.own_stacks:
                software = ["--stack", next(stack for source, stack in STACKS.items() if source in name)]
            rows = []
            for extra in (pins + ["--offload", "none"] + ([] if "schedule" in published else plain[4:]), plain, []):
                try:
                    rows.append(best(options.plan_tool, folder, path, cluster, sequence, batch, ["--devices", str(devices)] + software + extra))
                except Infeasible as error:
                    rows.append(None)
                    print(f"{name}: {error}", file=sys.stderr)
        time = [row["step_time_s"] if row else None for row in rows]

        def cell(i):
            if not time[i]:
                return "does not fit"
            gain = f" ({100 * (time[i] / time[0] - 1):+.1f} %)" if i and time[0] else ""
            return f"{time[i]:.4g} s{gain}"

        def layout(i):
            return re.sub(r", recompute none$", "", rows[i]["summary"]) if rows[i] else ""

        print(f"| {name} | {cell(0)} | {cell(1)} | {cell(2)} | {layout(0)} | {layout(1)} | {layout(2)} |", flush=True)
        if time[0] and (not time[1] or not time[2] or max(time[1], time[2]) > time[0] * (1 + 1e-9)):
            worse.append(name)
    if worse:
        sys.exit("published layouts that are predicted to be faster: " + ", ".join(worse))


if __name__ == "__main__":
    main()
