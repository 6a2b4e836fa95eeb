"""Results of transformers for a config.json: the loss of its class in training mode, and the gradients.

Runs in the sweep's own environment. As a program it answers lines of JSON, [name, config], with lines of JSON; that is how
a second version of transformers is asked.
"""
import json
import os
import sys
import tempfile
import warnings

import numpy
import torch
import transformers

SEQUENCE, BATCH = 16, 2
MOST_PARAMETERS = 3_000_000
MASK = (1 << 64) - 1

transformers.logging.set_verbosity(transformers.logging.CRITICAL)
warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)


def drawn(name, count):
    """test/Unit/Import/ImportedValues.h: numbers in [-1, 1) that follow from a name."""
    key = 0xCBF29CE484222325
    for byte in name.encode():
        key = (key ^ byte) * 0x100000001B3 & MASK
    with numpy.errstate(over="ignore"):
        x = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(key) + numpy.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        x ^= x >> numpy.uint64(31)
    return (x >> numpy.uint64(11)).astype(numpy.float64) * 2.0 ** -52 - 1


def parameter_value(name, count):
    values = drawn(name, count)
    if ("norm" in name or "ln_" in name) and name.endswith(".weight"):
        return (1 + 0.3 * values).astype(numpy.float32)
    embedding = any(part in name for part in ("embed_tokens", "embed_in", "wte.", "wpe.", "word_embeddings."))
    return ((0.1 if embedding else 0.5) * values).astype(numpy.float32)


def tokens(vocabulary):
    drawn_tokens = numpy.floor((drawn("tokens", BATCH * (SEQUENCE + 1)) + 1) / 2 * vocabulary)
    return torch.tensor(numpy.minimum(drawn_tokens, vocabulary - 1).astype(numpy.int64)).reshape(BATCH, SEQUENCE + 1)


def stored_name(model, name):
    """The name that PPC's module has: that of files of weights."""
    return "embed_out.weight" if model.config.model_type == "gpt_neox" and name == "lm_head.weight" else name


def parts_of(model, name, rows):
    """Parts of a parameter in PPC: (name, first row, rows) of each; one without rows is all of it."""
    if model.config.model_type != "phi3" or not name.endswith(("qkv_proj.weight", "gate_up_proj.weight")):
        return [(stored_name(model, name), None, None)]
    if name.endswith("gate_up_proj.weight"):
        return [(name.replace("gate_up", part), index * rows // 2, rows // 2) for index, part in enumerate(("gate", "up"))]
    width = rows // (model.config.num_attention_heads + 2 * model.config.num_key_value_heads)
    counts = [width * model.config.num_attention_heads] + [width * model.config.num_key_value_heads] * 2
    return [(name.replace("qkv", part), sum(counts[:index]), counts[index]) for index, part in enumerate("qkv")]


EXPERT_PARTS = {"gate_proj": ("gate_up_proj", 0), "w1": ("gate_up_proj", 0), "up_proj": ("gate_up_proj", 1), "w3": ("gate_up_proj", 1),
                "down_proj": ("down_proj", 0), "w2": ("down_proj", 0)}


def draw_parameter(name, tensor):
    """Older versions keep each expert apart; its numbers are a part of the stacked tensor's."""
    name = name.replace("block_sparse_moe", "mlp")
    if ".experts." in name and not name.endswith(("gate_up_proj", "down_proj")):
        before, after = name.split(".experts.")
        index, which, _ = after.split(".")
        stacked, part = EXPERT_PARTS[which]
        size, parts = tensor.numel(), 2 if stacked == "gate_up_proj" else 1
        start = (int(index) * parts + part) * size
        return parameter_value(f"{before}.experts.{stacked}", start + size)[start:]
    return parameter_value(name, tensor.numel())


def configuration(config):
    """The configuration object, read from a file as users do."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump(config, file)
        return transformers.AutoConfig.from_pretrained(folder)


def refuse_large(parsed):
    """A class's default sizes may be those of a published model: counted without memory, where a size is large."""
    sizes = [value for key, value in vars(parsed).items() if isinstance(value, int) and key != "max_position_embeddings"]
    if max(sizes) <= 128:
        return
    with torch.device("meta"):
        size = sum(p.numel() for p in transformers.AutoModelForCausalLM.from_config(parsed, dtype=torch.float32).parameters())
    if size > MOST_PARAMETERS:
        raise OverflowError(str(size))


def build(config):
    refuse_large(configuration(config))
    parsed = configuration(config)
    parsed._attn_implementation = "eager"
    if hasattr(parsed, "_experts_implementation"):
        parsed._experts_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(parsed, dtype=torch.float32).float()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            for stored, first, count in parts_of(model, name, parameter.shape[0]):
                part = parameter if count is None else parameter[first:first + count]
                part.copy_(torch.tensor(draw_parameter(stored, part)).reshape(part.shape))
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.copy_(torch.tensor(parameter_value(name, buffer.numel())))
    return model


def compute(config, wanted_gradients=True):
    """{"loss", "gradients", "vocabulary"}, {"large": parameters}, or {"error": text}."""
    try:
        model = build(config)
        model.train()
        torch.manual_seed(0)
        ids = tokens(model.config.vocab_size)
        # The last position has no target, so that the others' mean is over SEQUENCE positions of SEQUENCE tokens.
        loss = model(input_ids=ids, labels=ids, use_cache=False)[0]
        if not torch.isfinite(loss):
            return {"error": f"the loss is {loss.item()}"}
        answer = {"loss": loss.item()}
        if wanted_gradients:
            loss.backward()
            answer["gradients"] = {}
            for name, parameter in model.named_parameters():
                gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
                for stored, first, count in parts_of(model, name, parameter.shape[0]):
                    answer["gradients"][stored] = (gradient if count is None else gradient[first:first + count]).flatten().numpy()
            # A router's bias is a parameter of PPC's, which no gradient reaches.
            answer["gradients"].update({name: torch.zeros_like(buffer).flatten().numpy() for name, buffer in model.named_buffers()
                                        if name.endswith("e_score_correction_bias")})
        return answer
    except OverflowError as large:
        return {"large": str(large)}
    except Exception as error:  # noqa: BLE001: whatever the reference does with an illegal value
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]}


def class_keys(config):
    """Names of the keys in the configuration class of a base."""
    parsed = transformers.AutoConfig.for_model(config["model_type"])
    private = {"transformers_version", "architectures", "_name_or_path", "model_type"}
    return sorted((set(parsed.to_dict()) | set(getattr(parsed, "attribute_map", {}))) - private)


def default_of(config, key):
    """Value in the configuration of a file without `key`; None for an unknown name."""
    try:
        value = getattr(configuration(config), key)
    except Exception:  # noqa: BLE001
        return None
    return str(value) if isinstance(value, torch.dtype) else value


def main():
    for line in sys.stdin:
        config = json.loads(line)
        if config == "version":
            print(json.dumps(transformers.__version__), flush=True)
        elif "keys of" in config:
            print(json.dumps(class_keys(config["keys of"])), flush=True)
        else:
            print(json.dumps(compute(config, wanted_gradients=False)), flush=True)


if __name__ == "__main__":
    main()
