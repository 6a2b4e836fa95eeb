"""Megatron-Bridge's configuration classes, read from its source: they import kernels that only GPUs have."""
import ast
import contextlib
import os
import re

from exports import written

SECTIONS = {"model": "GPTModelProvider", "train": "TrainingConfig", "ddp": "DistributedDataParallelConfig",
            "dataset": "GPTDatasetConfig", "tokenizer": "TokenizerConfig", "checkpoint": "CheckpointConfig",
            "optimizer": "OptimizerConfig", "peft": "LoRA"}
MODULES = {"bridge/__init__.py": "megatron.bridge", "bridge/recipes/common.py": "megatron.bridge.recipes.common",
           "bridge/training/config.py": "megatron.bridge.training.config", "bridge/peft/lora.py": "megatron.bridge.peft.lora",
           "core/transformer/enums.py": "megatron.core.transformer.enums"}


def sources(*folders):
    for folder in folders:
        for base, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".py"):
                    path = os.path.join(base, name)
                    with open(path, encoding="utf-8") as file, contextlib.suppress(SyntaxError):
                        yield path, file.read()


def annotation(text):
    """int, bool, float or str, optional or not; else any."""
    plain = re.sub(r"^Optional\[(\w+)\]$", r"\1", text).replace(" | None", "")
    return plain if plain in ("int", "bool", "float", "str") else "any"


class MegatronBridge:
    checkout = "megatron_bridge"

    def load(self, options):
        self.options = self.read(options)

    def read(self, options):
        classes, imports, precisions, architectures = {}, [], [], set()
        for path, text in sources(options.megatron_bridge, options.megatron_lm):
            if re.search(r"config|provider|mixin|optimizer|peft|lora", path):
                for node in ast.walk(ast.parse(text)):
                    if isinstance(node, ast.ClassDef):
                        fields, bases = classes.setdefault(node.name, ({}, []))
                        fields.update({item.target.id: annotation(ast.unparse(item.annotation)) for item in node.body
                                       if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)})
                        bases.extend(ast.unparse(base).split(".")[-1] for base in node.bases)
            for end, module in MODULES.items():
                if path.endswith(end):
                    imports += [f"{module}.{name}" for name in re.findall(r"^(?:def|class) (\w+)", text, re.M)]
            if path.endswith("bridge/__init__.py") and "AutoBridge" in text:
                imports.append("megatron.bridge.AutoBridge")
            if path.endswith("training/mixed_precision.py"):
                precisions = re.findall(r"^@register\ndef (\w+)", text, re.M)
            architectures.update(re.findall(r"register_bridge\(\s*source=\"?(\w+(?:ForCausalLM|LMHeadModel))", text))

        def fields(kind, seen=()):
            own, bases = classes.get(kind, ({}, []))
            result = {}
            for base in bases:
                if base not in seen:
                    result.update(fields(base, seen + (kind,)))
            return {**result, **own}

        known = {key: "any" for key in fields("ConfigContainer")}
        for section, kind in SECTIONS.items():
            known.update({f"{section}.{key}": value for key, value in fields(kind).items()})
        known["mixed_precision"], known["import"] = precisions, sorted(set(imports) | {"megatron.bridge.AutoBridge"})
        known["architectures"] = sorted(architectures)
        return known

    def check(self, path, _options):
        with open(path, encoding="utf-8") as file:
            pairs = written.python(file.read())
        for key, value in pairs:
            if key not in self.options:
                raise ValueError(f"no field {key}")
            if isinstance(self.options[key], list) and value not in self.options[key]:
                raise ValueError(f"no {value} of {key}")
        return f"{len(pairs)} fields and imports exist"

    def known(self, _options):
        return "Megatron-Bridge at 067f987d (2026-08-22), with Megatron-LM at d98e8a64: fields of its configuration classes", self.options
