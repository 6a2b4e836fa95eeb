"""Draws whole command lines, as data: {"tool", "model", "files": {OPTION: {"base", "edits"}}, "options": [[NAME, VALUE or null]...]}."""
import edits

MAGNITUDES = edits.NUMBERS
COUNTS = ["1", "2", "4", "8", "16"]

LLAMA = """{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4,
 "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 128,
 "initializer_range": 0.02, "tie_word_embeddings": false, "hidden_act": "silu"}
"""
MIXTRAL = """{"architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
 "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256, "rms_norm_eps": 1e-5, "rope_theta": 1000000.0, "max_position_embeddings": 128,
 "num_local_experts": 4, "num_experts_per_tok": 2, "initializer_range": 0.02, "tie_word_embeddings": false, "hidden_act": "silu",
 "router_aux_loss_coef": 0.0, "sliding_window": null}
"""
GPT2 = """{"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128, "vocab_size": 256,
 "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "initializer_range": 0.02, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
"""
PLAN = """grid: { dp: 2, tp: 1 }
stages: [ 0, 3 ]
schedule: 1f1b
micro_batches: 4
dimensions:
  batch: [ dp ]
  ffn: [ tp ]
  kv_heads: [ tp ]
  vocab: [ tp ]
parameters: {}
"""
LAYOUT = "layout:\n  dp: 2\n  tp: 2\n  pp: 2\n  micro_batch: 2\n  schedule: 1f1b\n  recompute: selective\n  stage_layers: [ 2, 2 ]\n"
CLUSTER = """name: four cores
device:
  kind: x86-64
  memory: 4e9
levels:
  - { name: shared-memory, kind: shared-memory, size: 4 }
"""
GPUS = """name: small
device: { kind: A100-SXM-80GB }
levels:
  - { kind: nvlink-3, size: 8 }
  - { kind: infiniband-hdr, size: 2 }
"""
ROWS = "model,cluster,seq_len,global_batch,dp,tp,pp\nllama.json,dgx-a100:1,64,8,2,2,2\nllama.json,dgx-a100:2,64,16,4,2,2\n"
TEXT = "The quick brown fox jumps over 13 lazy dogs. " * 40

BASES = {"llama.json": LLAMA, "mixtral.json": MIXTRAL, "gpt2.json": GPT2, "plan.yaml": PLAN, "layout.yaml": LAYOUT, "hosts.yaml": CLUSTER,
         "gpus.yaml": GPUS, "rows.csv": ROWS, "corpus.txt": TEXT, "towers.mlir": None, "llama.mlir": None, "spmd.mlir": None}

# What each tool may be given: option -> its usual values. None: a flag; a base of a file: that file.
COMPILE = {"--seq-len": ["16", "64"], "--global-batch": ["8", "16"], "--expert-capacity-factor": ["0", "1.5"], "--padding-row": ["trained", "untrained"], "--precision": ["f32", "bf16"],
           "--ranks": COUNTS, "--cluster": ["hosts.yaml"], "--memory": ["1", "0.001"], "--dp": COUNTS, "--tp": COUNTS, "--pp": COUNTS,
           "--vp": COUNTS, "--micro-batch": COUNTS, "--sp": ["on", "off"], "--zero": ["0", "1"],
           "--schedule": ["gpipe", "1f1b", "interleaved", "breadth-first", "zb1p", "zb2p", "zbv", "wave"],
           "--recompute": ["none", "selective", "full", "auto"], "--layers-per-stage": ["2,2", "1,3"], "--plan": ["plan.yaml", "layout.yaml"],
           "--beta1": ["0.9"], "--beta2": ["0.95"], "--epsilon": ["1e-8"], "--weight-decay": ["0.1"], "--max-norm": ["1", "0"],
           "--check-steps": ["3"], "--explain": None, "--no-verify": None, "--verbose": None, "--profile": None}
PLANNER = {"--cluster": ["dgx-a100:1", "dgx-a100:2", "gpus.yaml", "hosts.yaml"], "--devices": COUNTS, "--seq-len": ["64", "128"],
           "--global-batch": ["8", "16", "64"], "--scale-positions": None, "--memory": ["1", "40"], "--stack": ["ppc", "megatron-core", "fsdp"],
           "--lora": ["8"], "--base-bits": ["16", "8", "4"], "--freeze-layers": ["1"], "--packed-length": ["16"],
           "--objective": ["next-token", "dpo", "grpo"], "--prompt-length": ["16"], "--dp": COUNTS, "--tp": COUNTS, "--pp": COUNTS, "--vp": COUNTS,
           "--cp": COUNTS, "--ep": COUNTS, "--etp": COUNTS, "--zero": ["0", "1", "2", "3"], "--shard-group": COUNTS, "--gradient-group": COUNTS, "--parameter-group": COUNTS, "--micro-batch": COUNTS,
           "--schedule": ["1f1b", "interleaved", "zb1p"], "--recompute": ["none", "selective", "full"], "--offload": ["none", "optimizer", "activations", "parameters", "optimizer+activations+parameters"],
           "--precision": ["bf16", "fp8"], "--attention": ["flash2"], "--sp": ["on", "off"], "--pin": ["tp=2"], "--forbid": ["tp=8", "recompute"],
           "--plan": ["layout.yaml"], "--cut-ops": None, "--top": ["5"], "--brief": None, "--frontier": None, "--explain": ["tp", "stage:1"],
           "--describe": None, "--tokens": ["15e12"], "--price": ["2"], "--mfu": ["40"]}
PROGRAM = {"--data": ["corpus.txt"], "--eval-data": ["corpus.txt"], "--eval-every": ["1"], "--eval-batches": ["1"], "--steps": ["1", "2"],
           "--lr": ["1e-3"], "--min-lr": ["1e-4"], "--warmup": ["0", "1"], "--seed": ["1"], "--threads": ["1", "2"], "--print-every": ["1"],
           "--weight-file-bytes": ["100000"], "--checkpoint-every": ["1"], "--checkpoint-keep": ["1"], "--quiet": None, "--order": ["random", "shuffle"],
           "--data-format": ["text", "uint16"], "--on-not-finite": ["continue"],
           "--slow-rank": ["0", "5"], "--slow-rank-after": ["60"], "--check-machine": None}
PASSES = ["--canonicalize", "--cse", "--ppc-phase-import", "--ppc-phase-train", "--ppc-phase-plan", "--ppc-phase-partition", "--ppc-phase-device",
          "--ppc-phase-host", "--ppc-verify-model", "--ppc-verify-spmd", "--ppc-verify-program", "--mlir-print-op-generic", "--split-input-file"]
PASS_OPTIONS = {"--ppc-make-plan": ["dp", "tp", "pp", "vp", "micro-batch", "zero", "layers-per-stage"], "--ppc-append-optimizer": ["beta1", "epsilon", "max-norm"],
                "--ppc-search-plan": ["ranks", "memory", "dp", "pp", "micro-batch", "zero"], "--ppc-split-microbatches": ["count"]}


def option(rng, table, name, files, wild):
    """[name, value]; a value that is a file is listed in `files`."""
    values = table[name]
    if values is None:
        return [name, None]
    if rng.random() < wild:
        return [name, rng.choice(MAGNITUDES)]
    value = rng.choice(values)
    if value in BASES:
        files[value] = {"edits": []}
    return [name, value]


def damage(rng, files):
    """Edits of one or two of the files."""
    if files:
        for name in rng.sample(sorted(files), rng.randrange(min(2, len(files)) + 1)):
            files[name]["edits"] = [edits.draw(rng, "." + name.split(".")[1]) for _ in range(rng.choice([1, 1, 2]))]


def draw(rng):
    tool = rng.choice(["ppc-compile"] * 4 + ["ppc-plan"] * 4 + ["ppc-opt", "program"])
    files, options = {}, []
    wild = rng.choice([0, 0.1, 0.3])
    if tool == "ppc-opt":
        model = rng.choice(["towers.mlir", "llama.mlir", "spmd.mlir"])
        options = [[name, None] for name in rng.sample(PASSES, rng.randrange(4))]
        if rng.random() < 0.4:
            name = rng.choice(sorted(PASS_OPTIONS))
            options.append([name, f"{rng.choice(PASS_OPTIONS[name])}={rng.choice(MAGNITUDES + COUNTS)}"])
    elif tool == "program":
        model = None
        options = [option(rng, PROGRAM, name, files, wild) for name in ["--steps", *rng.sample(sorted(PROGRAM), rng.randrange(6))]]
        if not any(name == "--data" for name, _ in options):
            options.append(["--synthetic", None])
        if any(name.startswith("--checkpoint") for name, _ in options):
            options.append(["--checkpoint-dir", "checkpoints"])
    else:
        table = COMPILE if tool == "ppc-compile" else PLANNER
        model = rng.choice(["llama.json"] * 4 + ["mixtral.json", "gpt2.json", "towers.mlir", "llama.mlir"])
        needed = [] if model.endswith(".mlir") else ["--seq-len", "--global-batch"]
        if tool == "ppc-plan" and rng.random() < 0.05:
            model, needed = None, []
            files["rows.csv"] = {"edits": []}
            options.append(["--evaluate", "rows.csv"])
            options += [["--simulate", None]] if rng.random() < 0.5 else []
        elif tool == "ppc-plan":
            needed.append("--cluster")
        extra = rng.sample(sorted(set(table) - set(needed)), rng.choice([0, 1, 2, 3, 5])) if model else []
        options += [option(rng, table, name, files, wild) for name in needed + extra]
        if tool == "ppc-compile":
            options.append(["--emit", rng.choice(["model", "train", "plan", "plan", "spmd", "device", "program", "llvm", "object"])])
        elif rng.random() < 0.3:
            options.append(["--emit", rng.choice(["plan", "json", "html", "trace", "megatron", "torchtitan", "deepspeed"])])
        if rng.random() < 0.1:
            options.append(["-o", rng.choice(["/dev/full", "/dev/null", "no/such/folder", ".", ""])])
    if model:
        files[model] = {"edits": []}
    damage(rng, files)
    return {"tool": tool, "model": model, "files": files, "options": options}


def smaller(case):
    """Cases with one thing less."""
    for i, (name, _) in enumerate(case["options"]):
        rest = case["options"][:i] + case["options"][i + 1:]
        yield {**case, "options": rest}
    for name, file in case["files"].items():
        for i in range(len(file["edits"])):
            rest = file["edits"][:i] + file["edits"][i + 1:]
            yield {**case, "files": {**case["files"], name: {"edits": rest}}}
        used = name == case["model"] or any(value == name for _, value in case["options"])
        if not used:
            yield {**case, "files": {other: value for other, value in case["files"].items() if other != name}}
