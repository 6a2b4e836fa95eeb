#!/usr/bin/env python3
"""Runs configurations of a JSON file {NAME: config.json}: each is planned at full size, and cut down, compiled and trained.

    public-configs.py FILE --build build/dev                     the table, by architecture, and the two counts
    public-configs.py FILE --build build/dev --only Qwen3-8B     those whose name holds this text; also shows the figures
    public-configs.py FILE --build build/dev --plan-only         does not compile
    public-configs.py FILE --build build/dev --read-only         only reads them, which takes a second

Planned: ppc-plan finds a layout on as many H100 nodes as hold the parameters and their states. Trained: the same keys with few layers and
small widths, three steps on one rank, each with a finite loss. Configurations that are the same when cut down are compiled once. Exit status 1
when a configuration is refused without naming a key, or fails after it was read.
"""
import argparse
import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
SEQUENCE, BATCH, STEPS, VOCABULARY = 32, 2, 3, 320
PLAN = ["--seq-len", "1024", "--brief", "--top", "1", "--dp", "{dp}", "--micro-batch", "1", "--vp", "1"]

# Maximum of a key in a configuration that is scaled down.
MOST = {
    "num_hidden_layers": 4, "n_layer": 4, "vocab_size": VOCABULARY, "hidden_size": 64, "n_embd": 64, "n_embed": 64, "head_dim": 16,
    "intermediate_size": 96, "n_inner": 96, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24, "max_position_embeddings": 64,
    "n_positions": 64, "original_max_position_embeddings": 16, "sliding_window": 16, "q_lora_rank": 20, "kv_lora_rank": 16,
    "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "qk_head_dim": 20, "v_head_dim": 12, "n_routed_experts": 8, "num_experts": 8,
    "num_local_experts": 8, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 3, "index_n_heads": 2,
    "index_head_dim": 16, "max_window_layers": 4,
}
TOKENS = re.compile(r"_token_id$|_token_index$")
LATENT_HEAD = 8  # in files of latent attention, head_dim is the rotated part
HEADS = 4


def cut_heads(config):
    """As few heads as the ratio to key/value heads leaves."""
    for heads, others in (("num_attention_heads", "num_key_value_heads"), ("n_head", "num_kv_heads"), ("num_attention_heads", "num_kv_heads")):
        count, keys = config.get(heads), config.get(others)
        if isinstance(count, int) and isinstance(keys, int):
            config[others] = max(1, HEADS * keys // count)
    for heads in ("num_attention_heads", "n_head"):
        if isinstance(config.get(heads), int):
            config[heads] = HEADS


def cut_down(value, key=""):
    """The configuration with few layers and small widths. Lists of layers are truncated with the layers."""
    if isinstance(value, dict):
        smaller = {name: cut_down(part, name) for name, part in value.items()}
        cut_heads(smaller)
        if smaller.get("qk_rope_head_dim") and "head_dim" in smaller:
            whole = value["head_dim"] != value["qk_rope_head_dim"]
            smaller["head_dim"] = smaller["qk_nope_head_dim"] + smaller["qk_rope_head_dim"] if whole else smaller["qk_rope_head_dim"]
        return smaller
    if isinstance(value, list) and key == "mrope_section":
        return [2, 3, 3]
    if isinstance(value, list) and len(value) > MOST["num_hidden_layers"] and key not in ("architectures", "bad_words_ids"):
        return value[:MOST["num_hidden_layers"]]
    if isinstance(value, int) and not isinstance(value, bool):
        if TOKENS.search(key):
            return min(value, VOCABULARY - 1)
        return min(value, MOST.get(key, value))
    return value


def execute(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


def reason(errors, path):
    """The first error, without the name of the file."""
    for line in errors.splitlines():
        if line.startswith("error: "):
            line = line[len("error: "):].replace(path + ": ", "")
            return re.sub(r'of the supported ("\w+", )+"\w+"', "of the supported ones", line)
    return errors.strip().splitlines()[-1] if errors.strip() else "ended without a word"


class Runner:
    def __init__(self, options, folder):
        self.options, self.folder, self.trained = options, folder, {}
        self.text = os.path.join(folder, "text")
        with open(self.text, "w") as file:
            file.write("the quick brown fox jumps over the lazy dog and runs away. " * 200)

    def program(self, name):
        return os.path.join(self.options.build, "bin", name)

    def write(self, config):
        path = os.path.join(self.folder, "config.json")
        with open(path, "w") as file:
            json.dump(config, file)
        return path

    def read(self, config):
        """(billions of parameters, nothing) or (nothing, why not)."""
        path = self.write(config)
        status, printed, errors = execute([self.program("ppc-plan"), path, "--describe"])
        found = re.search(r"^parameters: ([\d,]+)", printed, re.MULTILINE)
        if status or not found:
            return None, reason(errors, path)
        return int(found[1].replace(",", "")) / 1e9, None

    def plan(self, config, billions):
        """Where the layout is, or why there is none: (found, text)."""
        path = self.write(config)
        nodes = 2 ** max(0, math.ceil(math.log2(billions * 16 / (8 * 40))))
        job = [word.format(dp=min(8 * nodes, 64)) for word in PLAN]
        status, printed, errors = execute([self.program("ppc-plan"), path, "--cluster", f"dgx-h100:{nodes}", "--global-batch", 64 * nodes, *job])
        row = next((line for line in printed.splitlines() if line.startswith("1 ")), "")
        return (True, f"{8 * nodes} devices: {' '.join(row.split()[1:])}") if not status and row else (False, reason(errors, path))

    def train(self, config):
        path = self.write(config)
        program, log = os.path.join(self.folder, "program"), os.path.join(self.folder, "log")
        status, _, errors = execute([self.program("ppc-compile"), path, "--seq-len", SEQUENCE, "--global-batch", BATCH, "--ranks", 1, "-o", program])
        if status:
            return False, reason(errors, path)
        status, _, errors = execute([program, "--data", self.text, "--steps", STEPS, "--log", log])
        if status:
            return False, reason(errors, path)
        with open(log) as file:
            losses = [line["loss"] for line in map(json.loads, file) if "loss" in line]
        os.remove(log)
        good = len(losses) == STEPS and all(isinstance(loss, float) and math.isfinite(loss) for loss in losses)
        return good, "losses " + ", ".join(f"{loss:.3f}" for loss in losses)

    def train_once(self, config):
        smaller = cut_down(config)
        key = json.dumps(smaller, sort_keys=True)
        if key not in self.trained:
            self.trained[key] = self.train(smaller)
        return self.trained[key]

    def row(self, config):
        """Results (read, planned, trained, text); None for a step that was not tried."""
        billions, why = self.read(config)
        if why:
            return False, None, None, why
        if self.options.read_only:
            return True, None, None, f"{billions:.1f} B parameters"
        planned, text = self.plan(config, billions)
        if self.options.plan_only:
            return True, planned, None, text
        trained, losses = self.train_once(config)
        return True, planned, trained, f"{text}; {losses}" if planned and trained else losses if planned else text


def architecture(config):
    return (config.get("architectures") or [config.get("model_type", "unnamed")])[0]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/dev"), help="build folder that holds bin/ppc-plan and bin/ppc-compile")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only names that hold this text, with their figures")
    parser.add_argument("--plan-only", action="store_true")
    parser.add_argument("--read-only", action="store_true")
    return parser.parse_args()


def main():
    options = arguments()
    with open(options.file) as file:
        configs = json.load(file)
    names = [name for name in configs if not options.only or any(part.lower() in name.lower() for part in options.only)]
    groups, counts, bad = collections.defaultdict(list), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options, folder)
        for name in sorted(names, key=lambda name: (architecture(configs[name]), name)):
            read, planned, trained, text = runner.row(configs[name])
            counts.update(read=read, planned=bool(planned), trained=bool(trained))
            word = "refused" if not read else "NOT PLANNED" if planned is False else "NOT TRAINED" if trained is False else \
                "trained" if trained else "planned" if planned else "read"
            bad += word.isupper() or not read and 'key "' not in text
            groups[architecture(configs[name])].append(word)
            if not word.islower() or word == "refused" or options.only:
                print(f"{architecture(configs[name])}: {name}: {word}: {text}", flush=True)
    print(f"\n{'architecture':<44}files  outcome")
    for group, words in sorted(groups.items()):
        print(f"{group:<44}{len(words):>5}  " + ", ".join(f"{count} {word}" for word, count in sorted(collections.Counter(words).items())))
    print(f"of {len(names)} configurations {counts['read']} are read, {counts['planned']} planned, {counts['trained']} trained")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
