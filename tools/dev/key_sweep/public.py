"""Keys and values of published configurations, as a sample that is kept here (public.json), or from a file {NAME: config.json}.

A sample is {ARCHITECTURE: {KEY: [VALUES]}}: of each architecture of the sweep what its files hold, and under "others" what files of
architectures hold that are not read. Sizes are left out: the models of the sweep are small.
"""
import json
import os

from .models import BASES

SAMPLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "public.json")
OTHERS = "others"
VALUES_OF_A_KEY, CHARACTERS, MOST = 3, 60, 16
# Names of parts, which are no models of their own, and of files of the same models.
TYPES = {base["model_type"]: name for name, base in BASES.items()} | {
    "qwen3_vl_text": "Qwen3ForCausalLM", "qwen3_vl_moe_text": "Qwen3MoeForCausalLM", "kimi_k2": "DeepseekV3ForCausalLM",
    "mimo": "Qwen2ForCausalLM", "yi": "LlamaForCausalLM"}
LEFT_OUT = {"architectures", "model_type", "auto_map", "text_config", "vision_config", "quantization_config", "transformers_version",
            "_name_or_path", "num_hidden_layers", "n_layer"}


def is_small(key, value):
    """Whether a value may stand in a configuration of the sweep."""
    if key == "rope_theta":
        return True
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return abs(value) <= MOST
    text = json.dumps(value)  # the tables are JSON, which has no infinity
    return len(text) <= CHARACTERS and "Infinity" not in text and "NaN" not in text


def sample_of(configs):
    """The sample of configurations by name."""
    sample = {}
    for _, config in sorted(configs.items()):
        text = config.get("text_config") or config
        held = sample.setdefault(TYPES.get(text.get("model_type"), OTHERS), {})
        for key, value in text.items():
            values = held.setdefault(key, [])
            if key not in LEFT_OUT and is_small(key, value) and value not in values and len(values) < VALUES_OF_A_KEY:
                values.append(value)
    return {name: {key: held[key] for key in sorted(held) if held[key]} for name, held in sorted(sample.items())}


def read(path=None):
    """The sample that is kept, or that of a file."""
    with open(path or SAMPLE) as file:
        content = json.load(file)
    return sample_of(content) if path else content


def write(sample):
    """A line for each key."""
    with open(SAMPLE, "w") as file:
        parts = [f' {json.dumps(name)}: {{\n' + ",\n".join(f"  {json.dumps(key)}: {json.dumps(values)}" for key, values in held.items()) + "\n }"
                 for name, held in sample.items()]
        file.write("{\n" + ",\n".join(parts) + "\n}\n")
