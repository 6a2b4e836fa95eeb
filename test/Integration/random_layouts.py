#!/usr/bin/env python3
"""Generates random small models of all families and random layouts, trains each, and compares it with the single-rank run.

    random_layouts.py --build BUILD [--count N] [--seed S] [--target cuda]

Every case prints the seed that reproduces it alone (`--seed S --count 1`). A layout that ppc-compile refuses with an error counts as
refused; a crash, a failed run and a difference count as failed. Tolerances are equivalence.py's. Where a layout in bf16 exceeds
them, it is trained in f32 besides: it must compute there what one rank computes, and may be at most twice as far from f32 in bf16 as one
rank in bf16 is (Adam makes steps as large of gradients that hardly differ from zero, as those of norms of a few rows do). With --target cuda programs
for GPUs, on the PTX emulator, are compared with the single-rank program for this machine.
"""
import argparse
import json
import os
import random
import sys
import tempfile

import cuda
import equivalence
import programs

STEPS = 5


def draw_llama(pick):
    heads = pick.choice([1, 2, 3, 4, 5, 6, 8])
    groups = pick.choice([size for size in (1, 2, 3, 4) if heads % size == 0])
    rope = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "vocab_size": pick.choice([128, 131, 150, 256]), "hidden_size": heads * pick.choice([2, 4, 8]),
        "intermediate_size": pick.choice([16, 24, 33, 40, 88]), "num_hidden_layers": pick.randint(1, 5),
        "num_attention_heads": heads, "num_key_value_heads": heads // groups, "max_position_embeddings": 64,
        "rope_theta": 10000.0, "rope_scaling": pick.choice([None, None, rope]), "initializer_range": 0.05,
        "tie_word_embeddings": pick.random() < 0.4,
    }


def draw_model(pick):
    """A LLaMA, or another model of about its sizes."""
    llama = draw_llama(pick)
    family = pick.choice(["llama", "llama", "gpt2", "gpt_neox", "bloom", "mistral", "gemma", "qwen3", "mixtral", "qwen2_moe", "deepseek_v3"])
    if family == "llama":
        return llama
    heads, hidden, layers = llama["num_attention_heads"], llama["hidden_size"], llama["num_hidden_layers"]
    if hidden == 2 and family in ("gpt2", "gpt_neox", "bloom"):
        hidden = 4  # a layer norm of two features gives 1 and -1 whatever they are: no gradient passes it but rounding
    common = {"model_type": family, "vocab_size": llama["vocab_size"], "initializer_range": 0.05,
              "tie_word_embeddings": llama["tie_word_embeddings"]}
    sizes = {"hidden_size": hidden, "intermediate_size": llama["intermediate_size"], "num_hidden_layers": layers,
             "num_attention_heads": heads}
    like_llama = {**common, **sizes, "num_key_value_heads": llama["num_key_value_heads"], "max_position_embeddings": 64}
    experts = pick.choice([2, 3, 4, 8])
    routed = {"num_experts_per_tok": pick.randint(1, min(3, experts))}
    if family == "gpt2":
        return {**common, "n_embd": hidden, "n_layer": layers, "n_head": heads, "n_positions": 32, "n_inner": llama["intermediate_size"],
                "attn_pdrop": 0, "resid_pdrop": 0, "embd_pdrop": 0}
    if family == "gpt_neox":
        return {**common, **sizes, "rotary_pct": 1.0, "use_parallel_residual": pick.random() < 0.7}
    if family == "bloom":
        return {**common, "hidden_size": hidden, "n_layer": layers, "n_head": heads}
    if family == "mistral":
        return {**like_llama, "sliding_window": pick.choice([None, 1, 3, 8])}
    if family == "gemma":
        return {**like_llama, "head_dim": pick.choice([2, 4, 6])}
    if family == "qwen3":
        return {**like_llama, "head_dim": pick.choice([2, 4, 6]), "attention_bias": pick.random() < 0.5}
    if family == "mixtral":
        return {**like_llama, **routed, "num_local_experts": experts}
    if family == "qwen2_moe":
        return {**like_llama, **routed, "num_experts": experts, "moe_intermediate_size": pick.choice([8, 11]),
                "shared_expert_intermediate_size": pick.choice([8, 13]), "decoder_sparse_step": pick.choice([1, 2]),
                "norm_topk_prob": pick.random() < 0.5}
    groups = pick.choice([size for size in (1, 2, 4) if experts % size == 0 and experts // size >= 2 or size == 1])
    chosen = pick.randint(1, groups)
    return {**common, **sizes, "num_key_value_heads": heads, "max_position_embeddings": 64, "q_lora_rank": pick.choice([None, 6]),
            "kv_lora_rank": 6, "qk_nope_head_dim": 3, "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": experts,
            "num_experts_per_tok": pick.randint(1, min(2, chosen * experts // groups)), "moe_intermediate_size": 8,
            "n_shared_experts": pick.choice([1, 2]), "first_k_dense_replace": pick.randint(0, layers), "n_group": groups,
            "topk_group": chosen, "routed_scaling_factor": 1.5}


def draw_layout(pick):
    """Options of the layout, and of the shape of a step."""
    dp, tp, pp = pick.choice([1, 1, 2, 2, 3, 4]), pick.choice([1, 2, 2, 3, 4, 5]), pick.choice([1, 1, 2, 2, 3])
    while dp * tp * pp > 12:
        dp, tp = max(1, dp - 1), max(1, tp - 1)
    micro_batch, micro_batches = pick.choice([1, 2, 3]), pick.choice([1, 2, 3, 4])
    schedules = ["1f1b", "gpipe", "zb1p", "zb2p"]
    if pp > 1:  # the others hold several stages per device
        schedules += ["interleaved", "breadth-first", "zbv", "v-half", "v-min", "wave", "dualpipev"]
    layout = ["--dp", dp, "--tp", tp, "--pp", pp, "--micro-batch", micro_batch, "--schedule", pick.choice(schedules),
              "--recompute", pick.choice(["none", "none", "selective", "full"]), "--sp=" + pick.choice(["on", "off"]),
              "--zero", pick.choice([0, 1])]
    sequence = pick.choice([4, 7, 16])
    shape = ["--seq-len", sequence, "--global-batch", dp * micro_batch * micro_batches]
    # Context parallelism has a generator of its own, so that older seeds still give the same other options.
    parts = [parts for parts in (2, 4, 7) if sequence % parts == 0 and dp * tp * pp * parts <= 16]
    layout += ["--cp", random.Random(" ".join(str(option) for option in layout + shape)).choice([1, 1, *parts])]
    # In the same way what ZeRO-1 was stands for its levels.
    place = layout.index("--zero") + 1
    if layout[place]:
        layout[place] = random.Random("zero " + " ".join(str(option) for option in layout + shape)).choice([1, 2, 3])
    # The state of some layouts is sharded over groups of ranks.
    parts = dp * int(layout[layout.index("--cp") + 1])
    groups = [group for group in range(1, parts) if parts % group == 0 and group % (parts // dp) == 0]
    chosen = random.Random("groups " + " ".join(str(option) for option in layout + shape)).choice([0, *groups])
    if layout[place] and chosen:
        layout += ["--shard-group", chosen]
    # Some of these groups for gradients, or for parameters: one rank, or whole context-parallel groups.
    inner = random.Random("inner " + " ".join(str(option) for option in layout + shape))
    chosen = chosen or parts
    groups = [group for group in range(2, chosen) if chosen % group == 0 and group % (parts // dp) == 0]
    if layout[place] == 3:
        gradients = inner.choice([0, 0, 1, *groups])
        layout += ["--gradient-group", gradients] if gradients and chosen > 1 else []
        same = [gradients] if gradients in groups else groups
        if same and inner.random() < 0.5:
            layout += ["--parameter-group", inner.choice(same)]
    elif layout[place] == 2 and groups and inner.random() < 0.5:
        layout += ["--gradient-group", inner.choice(groups)]
    # Schedules in both directions for some of the others.
    name = layout[layout.index("--schedule") + 1]
    if pp == 2 and micro_batches % 2 == 0 and name in ("wave", "dualpipev", "v-half", "v-min"):
        other = random.Random("both ways " + " ".join(str(option) for option in layout + shape)).choice([name, "chimera", "dualpipe"])
        layout[layout.index("--schedule") + 1] = other
    # Sequences in slices for some layouts with one stage per device.
    if pp > 1 and sequence % 4 == 0 and name in ("1f1b", "gpipe", "zb1p") and "--cp 1 " in " ".join(str(option) for option in layout) + " ":
        other = random.Random("slices " + " ".join(str(option) for option in layout + shape)).choice([name, "seq1f1b"])
        layout[layout.index("--schedule") + 1] = other
    # Sharded heads inside attention for some context-parallel layouts.
    place = layout.index("--cp") + 1
    if layout[place] > 1 and random.Random("heads " + " ".join(str(option) for option in layout + shape)).random() < 0.5:
        layout[place] = f"{layout[place]}=ulysses"
    # Rows of hidden features, and depth, for some tensor-parallel layouts.
    other = random.Random("rows " + " ".join(str(option) for option in layout + shape))
    if tp > 1 and other.random() < 0.35:
        rows = other.choice([rows for rows in range(1, tp + 1) if tp % rows == 0])
        depth = other.choice([depth for depth in range(1, tp // rows + 1) if tp // rows % depth == 0])
        layout += ["--tp-rows", rows] * (rows > 1) + ["--tp-depth", depth] * (depth > 1)
    # The optimizer or activations saved for backward on the host.
    host = [kind for kind, name in (("optimizer", "offload "), ("activations", "saved "), ("parameters", "read "))
            if random.Random(name + " ".join(str(option) for option in layout + shape)).random() < 0.2]
    if host:
        layout += ["--offload", "+".join(host)]
    # Parameter shards that rotate over the ranks.
    if layout[layout.index("--zero") + 1] == 3 and parts > 1 and random.Random("rotate " + " ".join(str(option) for option in layout + shape)).random() < 0.5:
        layout += ["--rotate=on"]
    # Matmuls and their collectives in chunks.
    pieces = random.Random("pieces " + " ".join(str(option) for option in layout + shape))
    if tp > 1 and pieces.random() < 0.5:
        layout += [f"--product-pieces={pieces.choice([2, 3, 5])}"]
    # All ranks of tp shard hidden features: none is left for sequence parallelism.
    if "--tp-rows" in layout and layout[layout.index("--tp-rows") + 1] == tp and "--sp=on" in layout:
        layout[layout.index("--sp=on")] = "--sp=off"
    # A bias of keys has no gradient without rotary positions: with Adam's usual epsilon, rounding alone would move it.
    shape += ["--epsilon", 1e-5]
    return [str(option) for option in layout], [str(option) for option in shape]


def draw_experts(pick, model, layout):
    """The layout with a degree of expert parallelism, where the model has experts; one in ten is any number."""
    experts = next((model[key] for key in ("num_local_experts", "num_experts", "n_routed_experts") if key in model), 0)
    degrees = {key: int(layout[layout.index("--" + key) + 1].partition("=")[0]) for key in ("dp", "tp", "cp")}
    dp, cp = degrees["dp"], degrees["cp"]
    ranks = {*(n for n in range(1, dp + 1) if dp % n == 0), *(n for n in range(1, cp + 1) if cp % n == 0), *(n * cp for n in range(1, dp + 1) if dp % n == 0)}
    possible = [n * degrees["tp"] for n in sorted(ranks)]
    possible = [ep for ep in possible if experts and experts % ep == 0 and ep > 1]
    if not experts or pick.random() < 0.3:
        return layout
    return layout + ["--ep", str(pick.choice(possible) if possible and pick.random() < 0.9 else pick.choice([2, 3, 4, 8]))]


def judge_in_f32(found, expected, train, parallel, flags, shape):
    """Errors of a bf16 run beyond the rounding error; see above."""
    wide = equivalence.in_f32(shape)
    exact = train("single-f32", ["--ranks", "1"], shape=wide)
    return equivalence.judge_in_f32(found, expected, exact, train("parallel-f32", parallel, flags, wide))


def check(build, scratch, seed, target="host", host_cpu=None):
    """Generates and runs one case; returns its description, its outcome (ok, refused, failed) and details."""
    pick = random.Random(seed)
    model = draw_model(pick)
    layout, shape = draw_layout(pick)
    layout = draw_experts(random.Random(seed), model, layout)
    # In bf16 rounding chooses other experts, and moves biases that hardly have a gradient by all that Adam allows.
    if pick.random() < 0.3 and model["model_type"] in ("llama", "mistral", "gemma"):
        shape += ["--precision", "bf16"]
    bookkeeping = ("architectures", "hidden_act", "rms_norm_eps", "max_position_embeddings", "rope_theta", "rope_scaling", "initializer_range")
    short = {key: value for key, value in model.items() if key not in bookkeeping}
    text = f"{' '.join(shape)} {' '.join(layout)} {json.dumps(short)}"
    config = os.path.join(scratch, "config.json")
    with open(config, "w") as file:
        json.dump({key: value for key, value in model.items() if value is not None}, file)

    cpu = ["--host-cpu", host_cpu] if host_cpu else []

    def train(name, options, flags=(), shape=shape):
        program = programs.compile_model(build, config, shape + options + cpu, os.path.join(scratch, name), optimize=None)
        return equivalence.train_program(program, os.path.join(scratch, "text"), STEPS, flags)

    flags = ["--share-devices"] if target == "cuda" else []
    parallel, judged = layout + ["--target", target], ""
    try:
        expected, found = train("single", ["--ranks", "1"]), train("parallel", parallel, flags)
        problems, errors = equivalence.compare(found, expected, equivalence.precision_of(shape))
        if problems and "bf16" in shape:
            problems, judged = judge_in_f32(found, expected, train, parallel, flags, shape), " (judged by f32)"
    except programs.Failed as failure:
        refused = failure.status == 1 and "ppc-compile" in failure.command and "error:" in str(failure)
        return text, "refused" if refused else "failed", [str(failure)]
    return text, "failed" if problems else "ok", problems or ["differences " + " ".join(f"{error:.1e}" for error in errors) + judged]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, help="seed of the first case; the next ones follow (default: random, printed)")
    parser.add_argument("--target", choices=["host", "cuda"], default="host", help="of the parallel program")
    parser.add_argument("--host-cpu", help="processor that programs are compiled for: how bf16 rounds depends on it (default: this one)")
    arguments = parser.parse_args()
    if arguments.target == "cuda":
        os.environ.update(cuda.standing_in(os.path.realpath(arguments.build), 0))
    first = random.SystemRandom().randrange(10 ** 6) if arguments.seed is None else arguments.seed
    outcomes = {"ok": 0, "refused": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "text"), "wb") as file:
            file.write(programs.english(20000))
        for seed in range(first, first + arguments.count):
            text, outcome, details = check(arguments.build, scratch, seed, arguments.target, arguments.host_cpu)
            outcomes[outcome] += 1
            print(f"--seed {seed}: {outcome}: {text}\n    " + "\n    ".join(details).replace("\n", "\n    "), flush=True)
    print(f"{outcomes['ok']} equal the single-rank run, {outcomes['refused']} refused, {outcomes['failed']} failed")
    sys.exit(1 if outcomes["failed"] else 0)


if __name__ == "__main__":
    main()
