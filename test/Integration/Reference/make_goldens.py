#!/usr/bin/env python3
"""Makes the golden files of this folder with PyTorch and transformers: loss and gradients of small models.

Runs in an environment of its own, so that no test needs a framework (see README.md):
    python3 -m venv ENV && ENV/bin/pip install -r requirements.txt
    ENV/bin/python make_goldens.py --build ../../../build/release

For each Cases/NAME.json the compiled program writes its initial parameters; transformers' class for it (f32, eager
attention) takes them, and Cases/NAME.safetensors gets `parameter.*`, `gradient.*`, `ids`, `targets` and the mean
cross-entropy `loss`; then torch.optim.AdamW trains it, with clipping, warm-up and cosine, and the file gets the `losses` of
its steps. check_goldens.py compares a program with them.
"""
import argparse
import array
import json
import math
import os
import sys
import tempfile

import torch
import transformers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tensors  # noqa: E402
from check_goldens import BATCH, CASES, RATE, SEQUENCE, STEPS, WARMUP, compile_case, first_step, write_text  # noqa: E402


def flat(tensor):
    return tuple(tensor.shape), array.array("q" if tensor.dtype == torch.int64 else "f", tensor.flatten().tolist())


def router_biases(model):
    """Here they are a buffer, since no gradient reaches them."""
    return [(name, bias) for name, bias in model.named_buffers() if name.endswith("e_score_correction_bias")]


def text_parts(model, name, parameter):
    """What PPC has of a parameter, under the names that files of weights have; transformers 5 renamed some in the code. Of models of
    several parts, those of the text."""
    if name.startswith("model.visual."):
        return []
    name = name.replace("model.language_model.", "model.")
    name = "embed_out.weight" if model.config.model_type == "gpt_neox" and name == "lm_head.weight" else name
    return fused_parts(model.config, name, parameter)


def named_parameters(model):
    for name, parameter in [*model.named_parameters(), *router_biases(model)]:
        yield from text_parts(model, name, parameter)


def fused_parts(config, name, parameter):
    """Of one matrix for several projections, the rows of each: (name, view)."""
    if config.model_type == "phi3" and name.endswith("gate_up_proj.weight"):
        gate, up = parameter.split(parameter.shape[0] // 2)
        return [(name.replace("gate_up", "gate"), gate), (name.replace("gate_up", "up"), up)]
    if name.endswith("qkv_proj.weight"):
        heads, keys = config.num_attention_heads, config.num_key_value_heads
        width = parameter.shape[0] // (heads + 2 * keys)
        return [(name.replace("qkv", part), rows) for part, rows in zip("qkv", parameter.split([width * heads, width * keys, width * keys]))]
    return [(name, parameter)]


# Files whose class transformers does not have: the class of the same model that it has.
SAME = {"mimo": ("qwen2", "Qwen2ForCausalLM"), "yi": ("llama", "LlamaForCausalLM"), "kimi_k2": ("deepseek_v3", "DeepseekV3ForCausalLM")}


def known_class(fields):
    if fields["model_type"] == "kimi_k25":  # whose text part is a class of its own
        fields = fields["text_config"]
    if fields["model_type"] in SAME:
        kind, name = SAME[fields["model_type"]]
        return {**fields, "model_type": kind, "architectures": [name]}
    return fields


def load(config_file, parameters):
    """The model of transformers with the given parameters."""
    with open(config_file) as file:
        fields = known_class(json.load(file))
    config = transformers.AutoConfig.for_model(fields["model_type"]).from_dict(fields)
    for part in (config, getattr(config, "text_config", config)):
        part._attn_implementation = "eager"
        part._experts_implementation = "eager"
    model = getattr(transformers, fields["architectures"][0])(config).float().eval()
    wanted = dict(named_parameters(model))
    if set(wanted) != set(parameters):
        sys.exit(f"error: {config_file}: the parameters differ by {sorted(set(wanted) ^ set(parameters))}")
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(torch.tensor(parameters[name][1]).reshape(parameter.shape))
    return model


def loss_of(model, ids, targets):
    logits = model(input_ids=ids).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def trained_losses(model, batches):
    """Losses of AdamW steps on the batches: rates as runtime/run/LearningRate.h draws them, defaults of ppc-append-optimizer."""
    decay = [parameter for parameter in model.parameters() if parameter.dim() > 1]
    others = [parameter for parameter in model.parameters() if parameter.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  betas=(0.9, 0.95), eps=1e-8)
    losses = []
    for step, (ids, targets) in enumerate(batches, 1):
        rate = RATE * step / WARMUP
        if step > WARMUP:
            rate = RATE / 10 + (RATE - RATE / 10) * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (len(batches) - WARMUP)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = loss_of(model, ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def make(name, build, scratch):
    config = os.path.join(CASES, name + ".json")
    program = compile_case(build, config, [], os.path.join(scratch, name))
    text = os.path.join(scratch, "text")
    batches = [tuple(torch.tensor(tokens).reshape(BATCH, SEQUENCE) for tokens in batch) for batch in write_text(text)]
    ids, targets = batches[0]
    _, _, parameters = first_step(program, text)
    model = load(config, parameters)
    loss = loss_of(model, ids, targets)
    loss.backward()
    zero = torch.zeros_like
    gradients = {name: gradient.clone() for whole, parameter in model.named_parameters()
                 for name, gradient in text_parts(model, whole, zero(parameter) if parameter.grad is None else parameter.grad)}
    gradients.update({name: zero(bias) for name, bias in router_biases(model)})
    losses = trained_losses(model, batches)
    golden = {"loss": flat(loss.detach()), "ids": flat(ids), "targets": flat(targets),
              "losses": ((STEPS,), array.array("f", losses))}
    golden.update({"parameter." + key: value for key, value in parameters.items()})
    golden.update({"gradient." + key: flat(value) for key, value in gradients.items()})
    metadata = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "sequence": str(SEQUENCE)}
    path = os.path.join(CASES, name + ".safetensors")
    tensors.write(path, golden, metadata)
    print(f"{name}: loss {loss.item():.6f}, after {STEPS - 1} steps {losses[-1]:.6f}, {len(gradients)} gradients, {os.path.getsize(path)} bytes")


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


if __name__ == "__main__":
    main()
