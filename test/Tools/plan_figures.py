"""Generates random models, machines and options, plans them, and looks for impossible figures.

    plan_figures.py --plan-tool FILE [--seed N] [--count N]

Models have windows, experts, latent attention, tied or large tables; jobs have adapters, narrow frozen weights, frozen layers,
little memory, small hosts. Of each answer, as text and as JSON: no memory is negative, no more of the peak is used than there is,
HFU is at least MFU, no other decision is faster than the first plan, nothing is given up for itself, what does not fit needs more
than there is, the first plan is the fastest that was replayed, and the one that `--emit plan` writes.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

SIZES = [(256, 4, 2), (512, 8, 4), (1024, 16, 8), (2048, 16, 16), (4096, 32, 8)]


def model(draw):
    hidden, heads, kv = draw.choice(SIZES)
    kind = draw.choice(["mistral", "qwen3", "gemma", "mixtral", "deepseek_v3", "gpt2", "qwen2_moe"])
    common = dict(vocab_size=draw.choice([259, 32000, 256000]), max_position_embeddings=1 << 20, hidden_size=hidden,
                  num_attention_heads=heads, num_key_value_heads=kv, num_hidden_layers=draw.choice([2, 4, 9]),
                  intermediate_size=draw.choice([2, 4]) * hidden, tie_word_embeddings=draw.random() < 0.4)
    if kind == "gpt2":
        return dict(architectures=["GPT2LMHeadModel"], vocab_size=common["vocab_size"], n_positions=1 << 17, n_embd=hidden,
                    n_head=heads, n_layer=common["num_hidden_layers"])
    names = dict(mistral="MistralForCausalLM", qwen3="Qwen3ForCausalLM", gemma="GemmaForCausalLM", mixtral="MixtralForCausalLM",
                 deepseek_v3="DeepseekV3ForCausalLM", qwen2_moe="Qwen2MoeForCausalLM")
    common["architectures"] = [names[kind]]
    if kind in ("qwen3", "gemma"):
        common["head_dim"] = hidden // heads
    if kind in ("mistral", "mixtral"):
        common["sliding_window"] = draw.choice([None, 64, 512, 4096])
    if kind == "mixtral":
        common.update(num_local_experts=8, num_experts_per_tok=2)
    if kind == "qwen2_moe":
        common.update(num_experts=8, num_experts_per_tok=2, moe_intermediate_size=hidden, shared_expert_intermediate_size=hidden)
    if kind == "deepseek_v3":
        common.update(num_key_value_heads=heads, n_routed_experts=16, num_experts_per_tok=4, n_shared_experts=1, n_group=4,
                      topk_group=2, moe_intermediate_size=hidden // 2, first_k_dense_replace=1, kv_lora_rank=64,
                      q_lora_rank=draw.choice([None, 96]), qk_nope_head_dim=32, qk_rope_head_dim=16, v_head_dim=32)
    return common


def options(draw):
    cluster = draw.choice(["dgx-h100:1", "a10:1", "rtx-4090:1", "l40s:1"])
    sequence = draw.choice([512, 4096, 32768, 131072])
    result = ["--cluster", cluster, "--seq-len", str(sequence), "--global-batch", str(draw.choice([8, 32, 64]))]
    software = draw.choice([[], ["--stack", "megatron-core"], ["--stack", "fsdp"], ["--stack", "torchtitan"]])
    result += software
    if draw.random() < 0.4:
        result += draw.choice([["--lora", "16"], ["--lora", "8", "--base-bits", "4"], ["--lora", "16", "--base-bits", "8"],
                               ["--freeze-layers", "1"], ["--packed-length", "256"]])
    if draw.random() < 0.4:
        result += ["--memory", str(draw.choice([0.5, 1, 2, 8]))]
    for pin in (["--recompute", "full"], ["--offload", "optimizer"], ["--zero", "3"], ["--pp", "2"]):
        if draw.random() < 0.12:
            result += pin
    return result


def leaves(value, path=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{number}]")
    else:
        yield path, value


def problems_of_data(data):
    for path, value in leaves(data):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if re.search(r"bytes|flops|memory|tokens_per_s", path) and value < 0:
                yield f"{path} is {value}"
            if ".time_s." not in path and re.search(r"\.(mfu|hfu|bubble|share_of_peak|share_of_bandwidth)$", path) and not 0 <= value <= 1:
                yield f"{path} is {value}"
    plans = data["plans"]
    for plan in plans + [other["plan"] for other in data["alternatives"] if "plan" in other] + data["frontier"]:
        if plan["hfu"] < plan["mfu"] * (1 - 1e-12):
            yield f"HFU {plan['hfu']} is below MFU {plan['mfu']} of {plan['summary']}"
    steps = [plan["simulated"]["step_time_s"] for plan in plans if "simulated" in plan]
    if steps != sorted(steps):
        yield f"the first plan is not the fastest that was replayed: {steps}"
    for other in data["alternatives"]:
        if other.get("change", 0) < 0:
            yield f"another {other['key']} is better than the best by {other['change']}"
    infeasible = data.get("infeasible")
    if infeasible and infeasible.get("needed_bytes", 1) <= infeasible.get("available_bytes", 0):
        yield f"what needs {infeasible['needed_bytes']} does not fit into {infeasible['available_bytes']}"
    for relaxation in infeasible["relaxations"] if infeasible else []:
        if relaxation["from"] == relaxation["to"]:
            yield f"{relaxation['key']} {relaxation['to']} is given up for itself"


def problems_of_text(text):
    for pattern in (r"-[0-9.]+ [KMGT]?i?B\b", r"internal error", r"\bnan\b", r"\binf\b", r"(\w+ \S+) instead of \1"):
        for match in re.finditer(pattern, text):
            yield f"the text has {match.group(0)!r}"
    for share in re.findall(r"([0-9.]+) %", text):
        if float(share) > 100 and "+" + share not in text:
            yield f"the text has {share} %"


def summary(layout):
    return {key: value for key, value in layout.items() if key in ("dp", "tp", "pp", "cp", "vp", "ep", "zero", "schedule", "recompute")}


def check(tool, folder, seed):
    draw = random.Random(seed)
    path = os.path.join(folder, f"model-{seed}.json")
    with open(path, "w") as file:
        json.dump(model(draw), file)
    command = [tool, path, *options(draw)]

    def run(*more):
        return subprocess.run([*command, *more], capture_output=True, text=True)

    whole = run("--emit", "json")
    found = []
    if whole.returncode not in (0, 1):
        found.append(f"exit status {whole.returncode}")
    if not whole.stdout and ("has no" in whole.stderr or "--" in whole.stderr or "cannot" in whole.stderr):
        return False, []  # refused before any search
    data = json.loads(whole.stdout)
    found += problems_of_data(data)
    text = run("--top", str(draw.choice([1, 3])))
    found += problems_of_text(text.stdout + text.stderr)
    if data["plans"]:
        plan = run("--emit", "plan").stdout
        for key, value in summary(data["plans"][0]["layout"]).items():
            written = re.search(rf"^  {key}: (\S+)", plan, re.M)
            if written and written.group(1) != str(value) and not (key == "schedule" and data["plans"][0]["layout"]["pp"] == 1):
                found.append(f"--emit plan has {key} {written.group(1)}, the table {value}")
        first = re.search(r"^1 .*?((?:dp|tp|pp|cp) \d|one device).*$", text.stdout, re.M)
        if not first or data["plans"][0]["summary"] not in first.group(0):
            found.append(f"the first plan of the table depends on --top: {first and first.group(0)} for {data['plans'][0]['summary']}")
    return True, [f"seed {seed}: {problem}\n  {' '.join(command)}" for problem in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", required=True, metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    arguments = parser.parse_args()
    problems, searched = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            planned, found = check(arguments.plan_tool, folder, seed)
            searched += planned
            problems += found
    print("\n".join(problems) or f"{searched} of {arguments.count} cases were searched; no impossible figure")
    sys.exit(bool(problems) or searched * 2 < arguments.count)


if __name__ == "__main__":
    main()
