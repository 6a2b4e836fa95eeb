#!/usr/bin/env python3
"""Searches plans of small random models, on random clusters of up to 64 devices, for every target and with random options: of
configurations, and with `--kinds` of fine-tuning, on clusters of two kinds of devices, and of models in MLIR.

    random-searches.py --plan-tool build/dev/bin/ppc-plan [--first 1] [--count 300] [--jobs 2] [--keep FOLDER] [--kinds tuning,groups,modules]

The number of a search is its seed: `--first 17 --count 1 --verbose` repeats one of them. A search fails where it ends with another
status than 0 (plans) or 1 (one line that says why there is none), with an internal error, with a plan whose final estimate differs
from what the search promised, or with a first plan that was replayed to be slower than another one of the same answer, beyond
what counts as equally long. Prints what was found and ends with 1 when a search failed.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
MODELS = os.path.join(ROOT, "test/Inputs/Models")
FAMILIES = ["gpt2", "llama-3-8b", "llama-3.1-405b", "qwen2-7b", "qwen3-8b", "gemma-7b", "gpt-neox-20b", "bloom-176b", "mistral-7b",
            "mixtral-8x7b", "qwen2-moe-57b", "qwen3-235b", "deepseek-v3"]
CLUSTERS = {"dgx-h100": 8, "dgx-a100": 8, "dgx-b200": 8, "mi300x": 8, "gb200-nvl72": 72, "l40s": 8, "h100-pcie": 8}  # devices of a node
STACKS = ["ppc", "ppc", "megatron-core", "fsdp", "deepspeed", "torchtitan"]
MODULES = sorted(glob.glob(os.path.join(ROOT, "test/Inputs/Programs/*.mlir")) +
                 glob.glob(os.path.join(ROOT, "test/Integration/Handmade/[a-k]*.mlir")))
NOT_FINITE = re.compile(r'"\w+": -?(?:nan|inf|null)', re.IGNORECASE)
# Text of a note on a difference between the search and the final estimate.
DIFFERENCE = "the final estimate differs from the search"


def small_model(draw):
    """A configuration of one of the families with sizes of its own."""
    family = draw.choice(FAMILIES)
    with open(os.path.join(MODELS, family + ".json")) as file:
        config = json.load(file)
    heads, width = draw.choice([2, 4, 6, 8, 12, 16]), draw.choice([32, 64, 128])
    groups = draw.choice([n for n in range(1, heads + 1) if heads % n == 0])
    hidden, layers = heads * width, draw.randint(1, 12)
    sizes = {"hidden_size": hidden, "n_embd": hidden, "n_embed": hidden, "num_hidden_layers": layers, "n_layer": layers,
             "num_attention_heads": heads, "n_head": heads, "num_key_value_heads": groups, "head_dim": width,
             "intermediate_size": draw.choice([2, 3, 4]) * hidden, "vocab_size": draw.choice([256, 1000, 32000, 50257]),
             "moe_intermediate_size": draw.choice([hidden // 2, hidden]), "shared_expert_intermediate_size": hidden,
             "max_window_layers": layers}
    experts = draw.choice([4, 8, 12, 16])
    sizes.update({"num_local_experts": experts, "num_experts": experts, "n_routed_experts": experts})
    if "kv_lora_rank" in config:
        sizes.update({"num_key_value_heads": heads, "q_lora_rank": draw.choice([None, hidden // 2]), "kv_lora_rank": hidden // 4,
                      "qk_nope_head_dim": width, "qk_rope_head_dim": 32, "v_head_dim": width, "n_group": 2, "topk_group": 1,
                      "first_k_dense_replace": draw.randint(0, layers), "num_nextn_predict_layers": draw.choice([0, 1])})
    for key in ("num_experts_per_tok",):
        sizes[key] = draw.choice([1, 2])
    config.update({key: value for key, value in sizes.items() if key in config})
    if config.get("sliding_window"):
        config["sliding_window"] = draw.choice([64, 512])
    if "tie_word_embeddings" in config:
        config["tie_word_embeddings"] = draw.choice([False, True])
    return family, config


def options_of(draw, config):
    """Options of a search, `--emit json` aside."""
    cluster = draw.choice(list(CLUSTERS))
    devices = draw.choice([1, 2, 4, 6, 8, 8, 16, 24, 32, 64])
    options = ["--cluster", f"{cluster}:{-(-devices // CLUSTERS[cluster])}", "--devices", str(devices)]
    most = config.get("n_positions") or config.get("max_position_embeddings") or 1 << 20
    options += ["--seq-len", str(draw.choice([length for length in (100, 256, 512, 1024, 2048, 4096) if length <= most])),
                "--global-batch", str(draw.choice([1, 4, 8, 16, 24, 32, 64, 128]))]
    target = draw.choice(["none", "host", "cuda"])
    options += ["--stack", draw.choice(STACKS)] if target == "none" else ["--target", target]
    if draw.random() < 0.6:  # next to what a stack needs by itself, so that models of this size just fit
        options += ["--memory", f"{draw.choice([0.6, 0.8, 1.2, 1.6, 2, 2.5, 3, 4, 6]):g}"]
    if draw.random() < 0.3:
        options += ["--precision", draw.choice(["f32", "bf16", "bf16", "fp16"])]
    pins = {"tp": [1, 2, 4], "pp": [1, 2, 4], "cp": [1, 2], "zero": [0, 1, 2, 3], "recompute": ["none", "selective", "full"],
            "offload": ["none", "optimizer", "activations", "optimizer+activations"], "sp": ["on", "off"], "micro_batch": [1, 2],
            "schedule": ["1f1b", "gpipe", "interleaved", "zb1p", "zbv", "dualpipev", "breadth-first", "seq1f1b"], "vp": [1, 2, 3],
            "ep": [1, 2, 4]}
    for key in draw.sample(sorted(pins), draw.choice([0, 0, 0, 1, 1, 2])):
        options += ["--pin", f"{key}={draw.choice(pins[key])}"]
    for key in draw.sample(["offload", "recompute", "cp", "zero=1", "tp_rows", "pp"], draw.choice([0, 0, 1, 2])):
        options += ["--forbid", key]
    options += ["--top", str(draw.choice([1, 3, 5, 8]))]
    return options


def tuning_options(draw, config):
    """Options of fine-tuning."""
    layers = config.get("num_hidden_layers") or config.get("n_layer")
    options = draw.choice([["--lora", "8"], ["--lora", "16", "--base-bits", draw.choice(["4", "8"])], ["--packed-length", "64"],
                           ["--freeze-layers", str(max(1, layers // 2))] if layers > 1 else ["--lora", "4"], []])
    options = options + ["--objective", draw.choice(["next-token", "dpo", "grpo"])]
    return options + (["--prompt-length", "50"] if options[-1] == "grpo" else [])


def mixed_cluster(draw, path):
    """Writes a cluster of two kinds of devices."""
    kinds = [("A100-SXM-80GB", "nvlink-3", "infiniband-hdr"), ("H100-SXM-80GB", "nvlink-4", "infiniband-ndr"),
             ("L40S", "pcie-4", "infiniband-hdr"), ("A100-SXM-40GB", "nvlink-3", "infiniband-hdr")]
    size = draw.choice([1, 2, 4, 8])
    lines = ["name: mixed", "groups:"]
    for kind, inside, outside in draw.sample(kinds, 2):
        nodes = draw.choice([1, 2])
        lines += [f"  - device: {{ kind: {kind} }}", "    levels:", f"      - {{ kind: {inside}, size: {size} }}"]
        lines += [f"      - {{ kind: {outside}, size: {nodes} }}"] if nodes > 1 else []
    with open(path, "w") as file:
        file.write("\n".join(lines + ["between: { kind: infiniband-hdr, name: spine, size: 2 }", ""]))


def replaced(options, **values):
    """Without the options that a kind of search replaces; None: left out."""
    kept, skip = [], 0
    for index, word in enumerate(options):
        if skip:
            skip -= 1
        elif word.startswith("--") and word[2:].replace("-", "_") in values:
            skip = 1
        else:
            kept.append(word)
    return kept + [each for name, value in values.items() if value is not None for each in ("--" + name.replace("_", "-"), value)]


def arguments_of(draw, kind, scratch, path):
    """A random request: the model, which may be written to `path`, and options."""
    family, config = small_model(draw)
    options = options_of(draw, config)
    if kind == "modules":
        options = replaced(options, seq_len=None, global_batch=None, stack=None, devices=draw.choice(["1", "2", "4", "8"]))
        module = draw.choice(MODULES)
        pins = ["--pin", "--forbid"]  # op-level shardings leave nothing else to decide
        return [module] + [word for index, word in enumerate(options) if word not in pins and options[index - 1] not in pins]
    if kind == "tuning":
        options = replaced(options, target=None, stack=draw.choice(["megatron-core", "fsdp", "deepspeed"]))
        options += tuning_options(draw, config)
    if kind == "groups":
        cluster = os.path.join(scratch, "mixed.yaml")
        mixed_cluster(draw, cluster)
        options = replaced(options, cluster=cluster, devices=None)
    with open(path + f"-{family}.json", "w") as file:
        json.dump(config, file)
    return [path + f"-{family}.json", *options]


def times_of(answer):
    """Steps that were replayed: of plans and of the best plans with another decision."""
    plans = answer.get("plans", []) + [each["plan"] for each in answer.get("alternatives", []) if each.get("plan")]
    return [(plan["simulated"]["step_time_s"], plan["summary"]) for plan in plans if plan.get("simulated")]


def verdict_of(done):
    """Result of a search, and why it failed, or None."""
    said = done.stderr.strip()
    errors = [line for line in said.splitlines() if line.startswith("error:")]  # notes may come, too
    if done.returncode == 1 and errors and "internal error" not in said:
        return "no plan", None
    if done.returncode == 2:
        return "refused", None
    if done.returncode != 0:
        return "failed", f"status {done.returncode}: {said[-600:]}"
    if NOT_FINITE.search(done.stdout):
        return "failed", f"the answer holds a number that is none: {NOT_FINITE.search(done.stdout).group(0)}"
    answer = json.loads(done.stdout)
    for note in answer.get("notes", []):
        if DIFFERENCE in note:
            return "failed", note
    if not answer.get("plans"):
        return "no plan", None
    steps = times_of(answer)
    if answer["plans"][0].get("simulated"):
        first, fastest = steps[0], min(steps)
        if first[0] > fastest[0] * (1 + answer.get("indistinct_share", 0.02)):
            return "failed", f"{first[1]} comes first with {first[0]:g} s; {fastest[1]} takes {fastest[0]:g} s"
    return "plans", None


def search(options, seed):
    draw = random.Random(seed)
    kinds = [kind for kind in options.kinds.split(",") if kind]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        arguments = arguments_of(draw, kinds[seed % len(kinds)] if kinds else "", folder, os.path.join(folder, str(seed)))
        command = [options.plan_tool, *arguments, "--emit", "json"]
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.monotonic() - started
    verdict, why = verdict_of(done)
    return seed, command, verdict, why, seconds, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", required=True, metavar="FILE")
    parser.add_argument("--first", type=int, default=1, help="seed of the first search")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", metavar="FOLDER", help="keep the configurations there")
    parser.add_argument("--kinds", default="", help="tuning, groups, modules: by turns, in place of configurations alone")
    parser.add_argument("--verbose", action="store_true", help="print each command and what it says")
    options = parser.parse_args()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    counts = {"plans": 0, "no plan": 0, "refused": 0, "failed": 0}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for seed, command, verdict, why, seconds, said in pool.map(lambda seed: search(options, seed),
                                                                   range(options.first, options.first + options.count)):
            counts[verdict] += 1
            if options.verbose:
                print(f"{seed}: {verdict} after {seconds:.1f} s: {shlex.join(command)}\n{said}", flush=True)
            if why:
                print(f"FAILED search {seed}: {why}\n    {shlex.join(command)}", flush=True)
    print(f"{options.count} searches: {counts['plans']} found plans, {counts['no plan']} found that there is none, "
          f"{counts['refused']} were refused, {counts['failed']} failed")
    if counts["plans"] < options.count // 2:
        sys.exit("fewer than half of the searches found a plan: change the random models")
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
