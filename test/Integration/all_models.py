#!/usr/bin/env python3
"""Plans every model of test/Inputs/Models for a target, and compiles the plan: at full size, or cut down and run.

    all_models.py --build BUILD [--target host] [NAME...]
    all_models.py --build BUILD --cut-down [NAME...]

At full size: `ppc-plan --target` on 32 H100, 1,024 for models above 100 billion parameters, then `ppc-compile --plan` to object code
with the proof of equivalence, without dropout, which programs do not have. Prints a row for each model, and after the table the reasons of failures.

--cut-down: the same plans, with few and small layers and no degree above 2. Their programs run on this machine and are compared with
the single-rank program (`ppc-compile --check`).
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
LARGE = 100e9  # parameters above which a model gets the larger cluster
SEQUENCE, BATCH = 4096, 1024
SECONDS = 1800  # that one command may take

# Sizes of models that are cut down, by the names that configurations use.
SMALL = {
    "hidden_size": 32, "n_embd": 32, "n_embed": 32, "intermediate_size": 48, "n_inner": 48, "vocab_size": 96, "num_hidden_layers": 4,
    "n_layer": 4, "head_dim": 8, "max_position_embeddings": 64, "n_positions": 64, "seq_length": 64, "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16, "q_lora_rank": 12, "kv_lora_rank": 8, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4,
    "v_head_dim": 4, "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "n_group": 2, "topk_group": 1,
    "num_experts_per_tok": 2, "first_k_dense_replace": 1, "sliding_window": 6, "max_window_layers": 4, "bos_token_id": 1,
    "eos_token_id": 2,
}


# Programs have no dropout: it is turned off where a configuration has it, or its family by default.
DROPOUT = ["attn_pdrop", "resid_pdrop", "embd_pdrop", "attention_dropout", "hidden_dropout"]


class Failed(Exception):
    """Output of a command."""


class Measured:
    """Resources of a command, and its output."""

    def __init__(self, command, log):
        start = time.monotonic()
        process = os.fork()
        if process == 0:
            descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            os.execv(command[0], command)
        _, status, usage = os.wait4(process, 0)
        self.seconds, self.megabytes = time.monotonic() - start, usage.ru_maxrss / 1024
        with open(log) as file:
            self.text = file.read()
        if status:
            lines = [line for line in self.text.splitlines() if "error" in line] or self.text.splitlines()[-1:] or ["no word"]
            raise Failed(lines[0] if os.WIFEXITED(status) else f"ended by signal {os.WTERMSIG(status)}: {lines[0]}")


def section(plan, name):
    """The lines `key: value` of a section of a plan file."""
    found, inside = {}, False
    for line in plan.splitlines():
        if re.match(r"\w", line):
            inside = line.startswith(name + ":")
        elif inside and ":" in line:
            key, value = line.split("#")[0].split(":", 1)
            found[key.strip()] = value.strip()
    return found


def describe(layout):
    degrees = " x ".join(f"{key} {layout[key]}" for key in ("dp", "tp", "pp", "vp", "cp", "ep") if layout.get(key, "1") != "1")
    rest = [f"micro-batch {layout['micro_batch']}"] + ([layout["schedule"]] if layout["pp"] != "1" else [])
    rest += [f"zero {layout['zero']}"] * (layout["zero"] != "0") + ["sp"] * (layout["sp"] == "on")
    rest += [f"recompute {layout['recompute']}"] * (layout["recompute"] != "none") + [layout["precision"]]
    return ", ".join([degrees or "1 rank"] + rest)


class Model:
    def __init__(self, arguments, name, folder):
        self.arguments, self.name, self.folder = arguments, name, folder
        at = lambda end: os.path.join(folder, name + end)  # noqa: E731
        with open(os.path.join(MODELS, name + ".json")) as file:
            self.keys = json.load(file)
        self.keys.update({key: 0 for key in DROPOUT if self.keys.get(key, "n_embd" in self.keys and key.endswith("_pdrop"))})
        self.config = at(".json")
        with open(self.config, "w") as file:
            json.dump(self.keys, file)
        self.plan_path, self.log, self.object, self.small = at(".yaml"), at(".log"), at(".o"), at(".small.json")
        self.positions = min(SEQUENCE, self.keys.get("max_position_embeddings", self.keys.get("n_positions", SEQUENCE)))
        self.shape = ["--seq-len", str(self.positions), "--global-batch", str(BATCH)]

    def run(self, tool, *arguments):
        return Measured([os.path.join(self.arguments.build, "bin", tool), *arguments], self.log)

    def plan(self):
        described = json.loads(subprocess.run(
            [os.path.join(self.arguments.build, "bin/ppc-plan"), self.config, "--describe", "--emit", "json"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, check=True).stdout)
        self.parameters = described["parameters"]["total"] if isinstance(described["parameters"], dict) else described["parameters"]
        self.devices = 1024 if self.parameters > LARGE else 32
        planned = self.run("ppc-plan", self.config, "--cluster", f"dgx-h100:{self.devices // 8}", *self.shape, "--target",
                           self.arguments.target, "--emit", "plan", "-o", self.plan_path)
        with open(self.plan_path) as file:
            text = file.read()
        self.layout = section(text, "layout")
        self.step = re.search(r"^# .*: (.*) per step, (.*) per device", text, re.MULTILINE)
        return planned

    def compile(self):
        return self.run("ppc-compile", self.config, *self.shape, "--plan", self.plan_path, "--target", self.arguments.target,
                        "--emit=object", "-o", self.object)

    def check_small(self):
        """The plan's kinds of parallelism on a small model; what was compared."""
        keys = {key: SMALL.get(key, value) for key, value in self.keys.items()}
        heads = next(key for key in ("num_attention_heads", "n_head") if key in keys)
        groups = self.keys[heads] // self.keys.get("num_key_value_heads", self.keys[heads])
        keys[heads] = 4
        if "num_key_value_heads" in keys:
            keys["num_key_value_heads"] = 4 if groups == 1 else 2
        layout = self.layout
        layers = next(key for key in ("num_hidden_layers", "n_layer") if key in keys)
        at_most_2 = lambda key: min(2, int(layout[key]))  # noqa: E731
        stages = at_most_2("pp") * int(layout["vp"])
        keys[layers] = max(keys[layers], min(stages, 16))
        with open(self.small, "w") as file:
            json.dump(keys, file)
        options = [f"--{key}={at_most_2(key)}" for key in ("dp", "tp", "pp")]
        ep, tp = int(layout.get("ep", 1)), int(layout["tp"])
        if ep > 1:  # over all ranks of tp, and over those of dp as the plan does
            options.append(f"--ep={at_most_2('tp') * (at_most_2('dp') if ep > tp else 1)}")
        options += [f"--sp={layout['sp']}", f"--zero={layout['zero']}", f"--recompute={layout['recompute']}", "--micro-batch=1"]
        if int(layout["pp"]) > 1:
            options += [f"--schedule={layout['schedule']}", f"--vp={min(int(layout['vp']), (keys[layers] + 2) // at_most_2('pp'))}"]
        # In f32, as in bf16 rounding chooses other experts.
        options += ["--seq-len=8", f"--global-batch={4 * at_most_2('dp')}", "--check", "-o", os.path.join(self.folder, "train")]
        return self.run("ppc-compile", self.small, *options)


def row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-plan and bin/ppc-compile")
    parser.add_argument("--target", default="host")
    parser.add_argument("--cut-down", action="store_true", help="compile small models with the same kinds of parallelism, and run them")
    parser.add_argument("--keep", help="folder for plans and objects (a temporary one)")
    parser.add_argument("names", nargs="*", help="models of test/Inputs/Models, or parts of their names (all)")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    names = sorted(file[:-len(".json")] for file in os.listdir(MODELS))
    names = [name for name in names if not arguments.names or any(part in name for part in arguments.names)]
    if not names:
        parser.error("no model has such a name")
    failures = []
    row(["model", "ranks", "plan", "predicted step", "planned in", *(["check"] if arguments.cut_down else ["compiled in", "memory", "object"])])
    row(["---"] * (6 if arguments.cut_down else 8))
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for name in names:
            model, cells = Model(arguments, name, folder), [name]
            try:
                planned = model.plan()
                cells += [model.devices, describe(model.layout), model.step.group(1) if model.step else "", f"{planned.seconds:.1f} s"]
                if arguments.cut_down:
                    checked = re.search(r"^check: (\d+ steps agree.*)$", model.check_small().text, re.MULTILINE)
                    cells.append(checked.group(1) if checked else "no word of the check")
                    if not checked:
                        raise Failed("ppc-compile --check did not say that steps agree")
                else:
                    done = model.compile()
                    cells += [f"{done.seconds:.1f} s", f"{done.megabytes:.0f} MB", f"{os.path.getsize(model.object) / 2**20:.1f} MB"]
            except Failed as failure:
                failures.append(f"{name}: {failure}")
                cells.append("FAILED")
            row(cells)
    print(f"\n{len(names) - len(failures)} of {len(names)} models")
    print("\n".join(failures), end="\n" if failures else "")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
