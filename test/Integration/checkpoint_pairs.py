#!/usr/bin/env python3
"""Pairs of a checkpoint and a program that differ in one thing: what another run would compute is refused by its name, what may
differ is noted, and the same run says nothing.

    checkpoint_pairs.py --build BUILD [--count N] [--seed S] [--list]
    checkpoint_pairs.py --build build/dev --count 200 --seed 1      all kinds of pairs, 3 minutes on two cores

Each pair draws a model, trains it for a step with a checkpoint, changes one thing (of the model, the optimizer, the layout, the
data, the command line) and goes on. Programs are compiled once for all pairs that need them. A thing of `REFUSED` must end the
run with status 1 and name what differs, with --resume-anyway go on and say what it ignores; a thing of `NOTED` must go on with
a note that names it; one of `SILENT` must go on and say nothing. The list of the three kinds is that of docs/guide/Checkpoints.md.
"""
import argparse
import collections
import json
import os
import random
import shutil
import struct
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128, "hidden_size": 16, "intermediate_size": 24,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
         "rope_theta": 10000.0, "hidden_act": "silu", "initializer_range": 0.2, "tie_word_embeddings": False}
MISTRAL = dict(LLAMA, architectures=["MistralForCausalLM"], model_type="mistral", sliding_window=5)
GPT2 = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "vocab_size": 128, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 24,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0,
        "initializer_range": 0.2}
NEOX = {"architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "vocab_size": 128, "hidden_size": 16, "intermediate_size": 24,
        "num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 64, "rotary_pct": 0.5, "rotary_emb_base": 10000,
        "layer_norm_eps": 1e-5, "hidden_act": "gelu", "use_parallel_residual": True, "tie_word_embeddings": False, "initializer_range": 0.2,
        "attention_dropout": 0.0, "hidden_dropout": 0.0}
MIXTRAL = dict(LLAMA, architectures=["MixtralForCausalLM"], model_type="mixtral", num_local_experts=4, num_experts_per_tok=2)
QWEN = dict(LLAMA, architectures=["Qwen2MoeForCausalLM"], model_type="qwen2_moe", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8,
            shared_expert_intermediate_size=12, norm_topk_prob=False, decoder_sparse_step=1, use_sliding_window=False)
MODELS = {"llama": LLAMA, "mistral": MISTRAL, "gpt2": GPT2, "gpt_neox": NEOX, "mixtral": MIXTRAL, "qwen2_moe": QWEN}
SHAPE = ("--seq-len", "16", "--global-batch", "4")

# A variant of a program: changed keys of the configuration, options of ppc-compile.
Variant = collections.namedtuple("Variant", "model config options shape", defaults=((), (), SHAPE))
# One thing that differs: what is refused or noted must hold `names`; `program` makes a variant of the base, `run` a list of options.
Thing = collections.namedtuple("Thing", "name kind models names program run", defaults=(None, None))


def with_config(**changes):
    return lambda base: base._replace(config=tuple(sorted(changes.items())))


def with_options(*options):
    return lambda base: base._replace(options=options)


def with_shape(*shape):
    return lambda base: base._replace(shape=shape)


EVERY = tuple(MODELS)
ROTARY = ("llama", "mistral", "mixtral", "qwen2_moe")
REFUSED, NOTED, SILENT = "refused", "noted", "silent"


def changed_byte(data, scratch, draw):
    at = draw.randrange(len(data))
    return data[:at] + bytes([97 + (data[at] - 96) % 26]) + data[at + 1:]


def exchanged_halves(data, scratch, draw):
    return data[len(data) // 2:] + data[:len(data) // 2]


def other_text(data, scratch, draw):
    return programs.english(len(data), seed=2 + draw.randrange(1000))


def longer(data, scratch, draw):
    return data + b"a"


def shorter(data, scratch, draw):
    return data[:-1]


def as_ids(width):
    return lambda data, scratch, draw: struct.pack(f"<{len(data)}{'H' if width == 2 else 'I'}", *data)


THINGS = [
    # the model
    Thing("norm epsilon", REFUSED, ROTARY, ["rms_norm.epsilon"], with_config(rms_norm_eps=1e-6)),
    Thing("norm epsilon", REFUSED, ("gpt2",), ["layer_norm.epsilon"], with_config(layer_norm_epsilon=1e-6)),
    Thing("norm epsilon", REFUSED, ("gpt_neox",), ["layer_norm.epsilon"], with_config(layer_norm_eps=1e-6)),
    Thing("rotary base", REFUSED, ROTARY, ["model."], with_config(rope_theta=500.0)),
    Thing("rotary base", REFUSED, ("gpt_neox",), ["model."], with_config(rotary_emb_base=500)),
    Thing("rotary fraction", REFUSED, ("gpt_neox",), ["model."], with_config(rotary_pct=1.0)),
    Thing("rotary scaling", REFUSED, ("llama",), ["model."], with_config(rope_scaling={"rope_type": "linear", "factor": 2.0})),
    Thing("activation", REFUSED, ("llama", "mistral"), ["model.gelu", "model.silu"], with_config(hidden_act="gelu")),
    Thing("activation", REFUSED, ("gpt2",), ["model."], with_config(activation_function="gelu")),
    Thing("activation", REFUSED, ("gpt_neox",), ["model."], with_config(hidden_act="gelu_new")),
    Thing("window", REFUSED, ("mistral",), ["attention.window is 7 here, 5"], with_config(sliding_window=7)),
    Thing("no window", REFUSED, ("mistral",), ["attention.window is none here, 5"], with_config(sliding_window=None)),
    Thing("residual", REFUSED, ("gpt_neox",), ["fingerprint"], with_config(use_parallel_residual=False)),
    Thing("experts per token", REFUSED, ("mixtral", "qwen2_moe"), ["model."], with_config(num_experts_per_tok=1)),
    Thing("routing weights", REFUSED, ("qwen2_moe",), ["model."], with_config(norm_topk_prob=True)),
    Thing("capacity", REFUSED, ("mixtral", "qwen2_moe"), ["model."], with_options("--expert-capacity-factor", "1.0")),
    Thing("padding row", REFUSED, ("llama",), ["model.embedding.padding_index is 101 here, none"],
          lambda base: with_options("--padding-row", "untrained")(with_config(pad_token_id=101)(base))),
    # tensors of other shapes
    Thing("tied embeddings", REFUSED, ("llama", "mistral", "mixtral"), [], with_config(tie_word_embeddings=True)),
    Thing("heads", REFUSED, ("llama", "gpt2"), [], lambda base: base._replace(config=(("num_attention_heads" if base.model == "llama" else "n_head", 2),))),
    Thing("layers", REFUSED, ("llama", "mixtral"), [], with_config(num_hidden_layers=3)),
    Thing("width", REFUSED, ("llama", "mistral"), [], with_config(intermediate_size=32)),
    Thing("vocabulary", REFUSED, ("llama", "gpt2"), [], with_config(vocab_size=160)),
    # the optimizer
    Thing("beta1", REFUSED, EVERY, ["optimizer.adamw.beta1 is 0.8 here, 0.9"], with_options("--beta1", "0.8")),
    Thing("beta2", REFUSED, EVERY, ["optimizer.adamw.beta2 is 0.99 here, 0.95"], with_options("--beta2", "0.99")),
    Thing("epsilon", REFUSED, EVERY, ["optimizer.adamw.epsilon is 1e-06 here, 1e-08"], with_options("--epsilon", "1e-6")),
    Thing("weight decay", REFUSED, EVERY, ["optimizer.adamw.weight_decay"], with_options("--weight-decay", "0.2")),
    Thing("clipping", REFUSED, EVERY, ["optimizer.clip_scale.max_norm is 2 here, 1"], with_options("--max-norm", "2")),
    Thing("no clipping", REFUSED, EVERY, ["optimizer.clip_scale.max_norm is none here, 1"], with_options("--max-norm", "0")),
    # the shape of a step
    Thing("sequence length", REFUSED, EVERY, ["sequence length is 8 here, 16"], with_shape("--seq-len", "8", "--global-batch", "4")),
    Thing("global batch", REFUSED, EVERY, ["global batch is 8 here, 4"], with_shape("--seq-len", "16", "--global-batch", "8")),
    # the data
    Thing("one byte of the data", REFUSED, EVERY, ["data is "], run=("data", changed_byte)),
    Thing("halves of the data exchanged", REFUSED, EVERY, ["data is "], run=("data", exchanged_halves)),
    Thing("other data of the same size", REFUSED, EVERY, ["data is "], run=("data", other_text)),
    Thing("longer data", REFUSED, EVERY, ["data is "], run=("data", longer)),
    Thing("shorter data", REFUSED, EVERY, ["data is "], run=("data", shorter)),
    Thing("random tokens", REFUSED, EVERY, ["data is random tokens here"], run=("synthetic",)),
    Thing("seed", REFUSED, EVERY, ["--seed 7"], run=("--seed", "7")),
    Thing("order", REFUSED, EVERY, ["--order shuffle"], run=("--order", "shuffle")),
    # what may differ
    Thing("data-parallel ranks", NOTED, EVERY, ["ranks 2 instead of 1", "layout "], with_options("--dp", "2")),
    Thing("sharded state", NOTED, ("llama", "gpt2"), ["ranks 2 instead of 1", "layout "], with_options("--dp", "2", "--zero", "1")),
    Thing("tensor-parallel ranks", NOTED, ("llama", "gpt2"), ["ranks 2 instead of 1", "layout "], with_options("--tp", "2")),
    Thing("stages", NOTED, ("llama", "mixtral"), ["ranks 2 instead of 1", "layout "], with_options("--pp", "2")),
    Thing("micro-batch", NOTED, EVERY, ["layout "], with_options("--micro-batch", "2")),
    Thing("recomputation", NOTED, ("llama", "gpt2"), ["layout "], with_options("--recompute", "full")),
    Thing("precision", NOTED, ("llama", "gpt2", "mixtral"), ["precision bf16 instead of f32"], with_options("--precision", "bf16")),
    Thing("name of the model", NOTED, ("llama",), ["name of the model mistral instead of llama"],
          with_config(architectures=["MistralForCausalLM"], model_type="mistral", sliding_window=None)),
    Thing("place of the data", NOTED, EVERY, ["--data "], run=("data", lambda data, scratch, draw: data)),
    Thing("data as 16-bit ids", NOTED, EVERY, ["--data "], run=("data.bin", as_ids(2))),
    Thing("data as 32-bit ids", NOTED, EVERY, ["--data "], run=("data.bin", as_ids(4))),
    Thing("threads", NOTED, EVERY, ["threads of a rank 2 instead of 1"], run=("--threads", "2")),
    Thing("learning rate", NOTED, EVERY, ["--lr 0.001 instead of 0.01"], run=("--lr", "1e-3")),
    Thing("last learning rate", NOTED, EVERY, ["--min-lr 0.005 instead of "], run=("--min-lr", "5e-3")),
    Thing("warm-up", NOTED, EVERY, ["--warmup 2 instead of 1"], run=("--warmup", "2")),
    Thing("steps", NOTED, EVERY, ["--steps 4 instead of 3"], run=("--steps", "4")),
    # what says nothing
    Thing("initial values", SILENT, ("llama", "gpt2"), [], with_config(initializer_range=0.1)),
    Thing("positions that a model without a table may have", SILENT, ("llama", "mixtral"), [], with_config(max_position_embeddings=128)),
    Thing("log", SILENT, EVERY, [], run=("--print-every", "1")),
    Thing("checkpoints", SILENT, EVERY, [], run=("--checkpoint-every", "1", "--checkpoint-keep", "5")),
    Thing("nothing", SILENT, EVERY, [], run=()),
]


class Pairs:
    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        self.built, self.checkpoints = {}, {}
        self.text = programs.english(4000)
        self.data = os.path.join(scratch, "text")
        with open(self.data, "wb") as file:
            file.write(self.text)

    def program(self, variant):
        key = repr(variant)
        if key not in self.built:
            path = os.path.join(self.scratch, f"program{len(self.built)}")
            config = dict(MODELS[variant.model], **dict(variant.config))
            with open(path + ".json", "w") as file:
                json.dump(config, file)
            programs.run([os.path.join(self.build, "bin/ppc-compile"), path + ".json", *variant.shape, *variant.options, "--no-verify", "--optimize", 0, "-o", path])
            self.built[key] = path
        return self.built[key]

    def checkpoint(self, variant):
        """The folder of a run of the program that was stopped after step 2 of 3."""
        key = repr(variant)
        if key not in self.checkpoints:
            folder = os.path.join(self.scratch, f"run{len(self.checkpoints)}")
            status, text = self.train(self.program(variant), folder, ["--data", self.data, "--checkpoint-every", "2", *self.schedule("3")])
            if status:
                raise programs.Failed(text)
            shutil.rmtree(os.path.join(folder, "step-00000003"))
            self.checkpoints[key] = folder
        return self.checkpoints[key]

    @staticmethod
    def schedule(steps):
        return ["--steps", steps, "--lr", "1e-2", "--min-lr", "1e-2", "--warmup", "1"]

    @staticmethod
    def train(program, folder, options, seconds=programs.PATIENCE_S):
        """Status, and what it said on standard error."""
        threads = [] if "--threads" in options else ["--threads", "1"]
        with tempfile.TemporaryFile("w+") as errors:
            status, _ = programs.execute([program, "--checkpoint-dir", folder, *threads, *options], seconds, stderr=errors)
            errors.seek(0)
            return status, "".join(line for line in errors if " for the disk of " not in line)  # a machine that stands still

    def options(self, thing, draw):
        """Of the run that goes on."""
        if thing.run is None:
            return ["--data", self.data]
        if thing.run[:1] == ("synthetic",):
            return ["--synthetic"]
        if thing.run[:1] in (("data",), ("data.bin",)):
            path = os.path.join(self.scratch, "other-" + thing.run[0])
            with open(path, "wb") as file:
                file.write(thing.run[1](self.text, self.scratch, draw))
            return ["--data", path]
        return ["--data", self.data, *thing.run]

    def check(self, model, thing, draw):
        """Problems of one pair. The two programs change places at random where both are compiled."""
        base = Variant(model)
        other = thing.program(base) if thing.program else base
        names = thing.names
        if thing.program and draw.random() < 0.3:
            base, other, names = other, base, [name for name in names if " here, " not in name and " instead of " not in name]
        options = self.options(thing, draw)
        folder = os.path.join(self.scratch, "resumed")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.checkpoint(base), folder)
        before = sorted(os.listdir(folder))
        status, text = self.train(self.program(other), folder, [*options, "--resume"])
        problems = []
        lines = text.splitlines()
        if thing.kind == REFUSED:
            if status != 1 or len(lines) != 1 or not text.startswith("error: "):
                problems.append(f"status {status}, not one error")
            if sorted(os.listdir(folder)) != before:
                problems.append("the checkpoints were changed")
            if names:
                again, said = self.train(self.program(other), folder, [*options, "--resume-anyway"])
                ignored = [line for line in said.splitlines() if line.startswith("warning: --resume-anyway ignores that ")]
                if again or not ignored:
                    problems.append(f"--resume-anyway: status {again}, {said}")
        elif status:
            problems.append(f"status {status}")
        elif thing.kind == NOTED and not (lines and all(line.startswith(("note: ", "warning: the learning rate is ")) for line in lines)):
            problems.append("no notes, or other lines")
        elif thing.kind == SILENT and lines:
            problems.append("it says something")
        if thing.kind != SILENT and names and not all(name in text for name in names if name != "model.silu"):
            problems.append(f"it does not name {names}")
        return [problem + ":\n" + text for problem in problems]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="*", default=list(MODELS), help="of which to draw")
    parser.add_argument("--runs", action="store_true", help="only what differs without another program")
    parser.add_argument("--only", metavar="NAME", help="one thing alone, in all models")
    parser.add_argument("--list", action="store_true", help="print what is drawn")
    arguments = parser.parse_args()
    pool = [(model, thing) for thing in THINGS for model in thing.models if model in arguments.models and not (arguments.runs and thing.program)]
    pool = [(model, thing) for model, thing in pool if arguments.only in (None, thing.name)]
    if not pool:
        parser.error("nothing to draw from")
    draw = random.Random(arguments.seed)
    # Each once before any comes again.
    drawn = []
    while len(drawn) < arguments.count:
        drawn += draw.sample(pool, min(len(pool), arguments.count - len(drawn)))
    failed, kinds = 0, collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        pairs = Pairs(arguments.build, scratch)
        for number, (model, thing) in enumerate(drawn):
            problems = pairs.check(model, thing, random.Random(f"{arguments.seed} {number}"))
            kinds[thing.kind] += not problems
            failed += bool(problems)
            if problems or arguments.list:
                print(f"{'FAILED' if problems else 'ok':6} pair {number}: {model}, {thing.name}: {thing.kind}", flush=True)
            for problem in problems:
                print("    " + problem.replace("\n", "\n    "), flush=True)
        print(f"seed {arguments.seed}: {len(drawn)} pairs of {len(pairs.built)} programs: " +
              ", ".join(f"{kinds[kind]} {kind}" for kind in (REFUSED, NOTED, SILENT)) + f", {failed} failed")
    sys.exit(1 if failed else 0)


main()
