#!/usr/bin/env python3
"""Makes the golden files of this folder with PyTorch and transformers: loss and gradients of small LLaMAs.

Runs in an environment of its own, so that no test needs a framework (see README.md):
    python3 -m venv ENV && ENV/bin/pip install -r requirements.txt
    ENV/bin/python make_goldens.py --build ../../../build/release

For each Cases/NAME.json the compiled program writes its initial parameters; transformers' LlamaForCausalLM (f32, eager
attention) takes them, and Cases/NAME.safetensors gets `parameter.*`, `gradient.*`, `ids`, `targets` and the mean
cross-entropy `loss`. check_goldens.py compares a program with them.
"""
import argparse
import array
import json
import os
import sys
import tempfile

import torch
import transformers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tensors  # noqa: E402
from check_goldens import BATCH, CASES, SEQUENCE, compile_case, first_step, write_text  # noqa: E402


def flat(tensor):
    return tuple(tensor.shape), array.array("i" if tensor.dtype == torch.int32 else "f", tensor.flatten().tolist())


def reference(config_file, parameters, ids, targets):
    """Loss and gradients that transformers computes with the given parameters."""
    with open(config_file) as file:
        config = transformers.LlamaConfig.from_dict(json.load(file))
    config._attn_implementation = "eager"
    model = transformers.LlamaForCausalLM(config).float().eval()
    wanted = dict(model.named_parameters())
    if set(wanted) != set(parameters):
        sys.exit(f"error: {config_file}: the parameters differ by {sorted(set(wanted) ^ set(parameters))}")
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(torch.tensor(parameters[name][1]).reshape(parameter.shape))
    logits = model(input_ids=ids.long()).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.long().flatten())
    loss.backward()
    return loss, {name: parameter.grad for name, parameter in wanted.items()}


def make(name, build, scratch):
    config = os.path.join(CASES, name + ".json")
    program = compile_case(build, config, [], os.path.join(scratch, name))
    text = os.path.join(scratch, "text")
    ids, targets = (torch.tensor(tokens, dtype=torch.int32).reshape(BATCH, SEQUENCE) for tokens in write_text(text))
    _, _, parameters = first_step(program, text)
    loss, gradients = reference(config, parameters, ids, targets)
    golden = {"loss": flat(loss.detach()), "ids": flat(ids), "targets": flat(targets)}
    golden.update({"parameter." + key: value for key, value in parameters.items()})
    golden.update({"gradient." + key: flat(value) for key, value in gradients.items()})
    metadata = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "sequence": str(SEQUENCE)}
    path = os.path.join(CASES, name + ".safetensors")
    tensors.write(path, golden, metadata)
    print(f"{name}: loss {loss.item():.6f}, {len(gradients)} gradients, {os.path.getsize(path)} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("cases", nargs="*", help="names of cases; all when none is given")
    arguments = parser.parse_args()
    names = arguments.cases or sorted(name[:-5] for name in os.listdir(CASES) if name.endswith(".json"))
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            make(name, arguments.build, scratch)


main()
