#!/usr/bin/env python3
"""Makes the folders of weights here with transformers: what `save_pretrained` writes for small random models, and the loss
of the model in `expected.json`.

Runs in an environment of its own (../Reference/README.md). Needed when the case, the text or the order of samples change.
"""
import json
import os
import shutil
import sys

import torch
import transformers

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
import check_weights  # noqa: E402

CASES = os.path.join(HERE, "../Reference/Cases")
# case -> type of the stored values, bytes of a file
MODELS = {"gpt2": ("bfloat16", "1GB"), "gpt-neox": ("float16", "1GB"), "bloom": ("float16", "1GB"), "mixtral": ("bfloat16", "20KB"),
          "deepseek-v3": ("bfloat16", "1GB"), "qwen3-moe": ("float16", "12KB"), "tied": ("bfloat16", "1GB"),
          "gemma": ("bfloat16", "1GB"), "seed-oss": ("bfloat16", "1GB"), "phi-4": ("float16", "20KB"),
          "qwen3-vl-moe": ("bfloat16", "30KB"), "glm-dsa": ("bfloat16", "1GB")}


def make(name, type_name, shard):
    with open(os.path.join(CASES, name + ".json")) as file:
        fields = json.load(file)
    config = transformers.AutoConfig.for_model(fields["model_type"]).from_dict(fields)
    kind = getattr(transformers, fields["architectures"][0])
    torch.manual_seed(1)
    model = kind(config)
    with torch.no_grad():  # norms and biases should matter too
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    model.to(getattr(torch, type_name)).save_pretrained(folder, max_shard_size=shard)
    for left in ("generation_config.json",):
        if os.path.exists(os.path.join(folder, left)):
            os.remove(os.path.join(folder, left))
    again = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager").eval()
    ids, targets = (torch.tensor(tokens).reshape(check_weights.BATCH, check_weights.SEQUENCE) for tokens in check_weights.first_batch())
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(again(input_ids=ids).logits.flatten(0, 1), targets.flatten()).item()
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump({"loss": loss, "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}, file, indent=1)
        file.write("\n")
    print(f"{name}: loss {loss:.6f}, {sorted(os.listdir(folder))}")


for case in sys.argv[1:] or MODELS:
    make(case, *MODELS[case])
