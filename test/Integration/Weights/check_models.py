#!/usr/bin/env python3
"""Weights that are not simply those of the program: a second head, another model's, biases of a router, what a run has saved.

    check_models.py --build BUILD

What is read and what it computes is compared with programs that say the same in another way: experts that a bias always chooses are
those of a model that has no others.
"""
import argparse
import glob
import json
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import programs  # noqa: E402

SHAPE = ["--seq-len", "16", "--global-batch", "4"]
LAYOUTS = [["--dp", "1"], ["--dp", "2", "--zero", "3", "--pp", "2"]]
FAVOURED = (10.3125, 9.875)  # biases above every score


def read(path):
    """{name: [type, shape, bytes]}"""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {name: [entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])]] for name, entry in header.items()}


def write(folder, tensors, config):
    os.makedirs(folder, exist_ok=True)
    header, data = {}, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    return folder


class Checks:
    def __init__(self, build, scratch):
        self.build, self.scratch, self.failed, self.number = build, scratch, 0, 0
        self.text = os.path.join(scratch, "text")
        with open(self.text, "wb") as file:
            file.write(programs.english(16 * 12 + 1))

    def fixture(self, name):
        with open(os.path.join(HERE, name, "config.json")) as file:
            config = json.load(file)
        tensors = {}
        for path in sorted(glob.glob(os.path.join(HERE, name, "*.safetensors"))):
            tensors.update(read(path))
        return tensors, config

    def folder(self, tensors, config):
        self.number += 1
        return write(os.path.join(self.scratch, f"folder{self.number}"), tensors, config)

    def compile(self, folder, layout=()):
        return programs.compile_model(self.build, folder, SHAPE + list(layout), os.path.join(self.scratch, "program"))

    def run(self, program, weights, *options):
        """Exit status, what was printed, the loss of 12 samples."""
        log = os.path.join(self.scratch, "log")
        steps = [] if "--steps" in options else ["--steps", "0"]
        given = ["--weights", weights] if weights else []
        status, printed = programs.execute([program, *given, "--eval-data", self.text, "--log", log, *steps, *options])
        with open(log) as file:
            lines = [json.loads(line) for line in file] if status == 0 else []
        return status, printed, lines[-1]["eval_loss"] if lines else None

    def saved(self, program, weights=None):
        """The same, and the tensors that are saved; without `weights`, of the initial ones."""
        folder = os.path.join(self.scratch, "saved-again")
        found = self.run(program, weights, "--save-weights", folder)
        return (*found, read(os.path.join(folder, "model.safetensors")) if found[0] == 0 else {})

    def expect(self, what, is_so, found):
        if not is_so:
            self.failed += 1
            print(f"FAILED {what}: {found}")

    def same(self, what, found, loss):
        self.expect(what, found[2] is not None and abs(found[2] - loss) < 1e-5, (found, loss))

    def refused(self, what, found, *words):
        self.expect(what, found[0] == 1 and all(word in found[1] for word in words), found)


def tied_head(checks):
    tensors, config = checks.fixture("tied")
    plain = checks.folder(tensors, config)
    program = checks.compile(plain)
    _, _, loss = checks.run(program, plain)
    head = list(tensors["model.embed_tokens.weight"])
    twice = {**tensors, "lm_head.weight": head}
    checks.same("an equal head", checks.run(program, checks.folder(twice, config)), loss)
    other = {**tensors, "lm_head.weight": [head[0], head[1], head[2][2:] + head[2][:2]]}
    checks.refused("another head", checks.run(program, checks.folder(other, config)), "lm_head.weight", "model.embed_tokens.weight",
                   "tie_word_embeddings")
    untied = checks.folder(other, {**config, "tie_word_embeddings": False})
    found = checks.run(checks.compile(untied), untied)
    checks.expect("a head of its own", found[2] and abs(found[2] - loss) > 1e-3, found)


def other_models(checks):
    tensors, config = checks.fixture("tied")
    plain = checks.folder(tensors, config)
    program = checks.compile(plain)
    _, _, loss = checks.run(program, plain)
    for change, words in (({"rms_norm_eps": 0.1}, ["rms_norm_eps is 0.1 there, 1e-06 in the program"]),
                          ({"rope_parameters": {"rope_theta": 10000.0}}, ["rope_theta is 10000.0 there, 500000.0 in the program"]),
                          ({"model_type": "mistral", "architectures": ["MistralForCausalLM"]}, ["model_type"]),
                          ({"rope_scaling": {"type": "linear", "factor": 2.0}}, ["rope_scaling.factor is 2.0"]),
                          ({"hidden_act": "gelu"}, ["hidden_act"])):
        folder = checks.folder(tensors, {**config, **change})
        checks.refused(str(change), checks.run(program, folder), "config.json is of another model", folder + "/model.safetensors", *words)
        checks.same(f"{change}: the file alone", checks.run(program, folder + "/model.safetensors"), loss)
    older = {key: value for key, value in config.items() if key not in ("rope_parameters", "rms_norm_eps", "head_dim")}
    checks.same("an older spelling", checks.run(program, checks.folder(tensors, {**older, "rope_theta": 500000, "torch_dtype": "float32",
                                                                                  "initializer_range": 0.02})), loss)


def saved(checks):
    """Both forms in which a run saves its parameters are read by the next."""
    for name in ("tied", "mixtral", "gpt2"):
        tensors, config = checks.fixture(name)
        folder = checks.folder(tensors, config)
        program = checks.compile(folder, ["--tp", "2"])
        parameters, weights = os.path.join(checks.scratch, "parameters.safetensors"), os.path.join(checks.scratch, "saved-" + name)
        _, _, loss = checks.run(program, folder, "--save-parameters", parameters, "--save-weights", weights)
        checks.same(f"{name}: --save-parameters", checks.run(program, parameters), loss)
        checks.same(f"{name}: --save-weights", checks.run(program, weights), loss)


def padding(checks):
    tensors, config = checks.fixture("tied")
    folder = checks.folder(tensors, {**config, "pad_token_id": 101})  # "e"
    _, printed, _ = checks.run(checks.compile(folder), folder, "--steps", "1", "--data", checks.text)
    checks.expect("a padding token is said", "holds token 101, the model's pad_token_id" in printed, printed)
    untrained = checks.compile(folder, ["--padding-row", "untrained"])
    status, printed, _ = checks.run(untrained, folder, "--steps", "1", "--data", checks.text)
    checks.expect("nothing is said of a row that is not trained", status == 0 and "pad_token_id" not in printed, printed)


def router_bias(checks):
    tensors, config = checks.fixture("deepseek-v3")
    gate, bias = "model.layers.1.mlp.gate.weight", "model.layers.1.mlp.gate.e_score_correction_bias"
    _, _, plain = checks.run(checks.compile(checks.folder(tensors, config)), checks.folder(tensors, config))
    for first in (0, 4):
        values = [0.0] * 8
        values[first:first + 2] = FAVOURED
        biased = {**tensors, bias: ["F32", [8], struct.pack("<8f", *values)]}
        rows = tensors[gate][2][first * 32:first * 32 + 64]
        few = {name: tensor for name, tensor in tensors.items() if ".experts." not in name or ".shared_experts." in name}
        few.update({gate: ["BF16", [2, 16], rows], bias: ["BF16", [2], b"\0" * 4]})
        for expert in range(2):
            for part in ("gate", "up", "down"):
                name = f"model.layers.1.mlp.experts.{{}}.{part}_proj.weight"
                few[name.format(expert)] = tensors[name.format(first + expert)]
        small = checks.folder(few, {**config, "n_routed_experts": 2, "n_group": 1, "topk_group": 1})
        _, _, loss = checks.run(checks.compile(small), small)
        checks.expect("two experts", loss and abs(loss - plain) > 1e-3, (loss, plain))
        folder = checks.folder(biased, config)
        for layout in LAYOUTS:
            written = os.path.join(checks.scratch, "trained")
            program = checks.compile(folder, layout)
            checks.same(f"{layout}: experts {first} and {first + 1}", checks.run(program, folder), loss)
            checks.run(program, folder, "--steps", "2", "--data", checks.text, "--lr", "1e-2", "--save-weights", written)
            kept = read(os.path.join(written, "model.safetensors"))
            checks.expect("the bias is saved as it was", kept[bias] == biased[bias], kept[bias])
            checks.expect("the gate is trained", kept[gate][2] != tensors[gate][2], "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    with tempfile.TemporaryDirectory() as scratch:
        checks = Checks(parser.parse_args().build, scratch)
        for check in (tied_head, other_models, saved, padding, router_bias):
            check(checks)
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
