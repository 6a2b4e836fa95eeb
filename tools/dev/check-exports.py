#!/usr/bin/env python3
"""Holds the files that ppc-plan exports to the parsers of the programs that read them.

Plans each model for each target and gives the file to the target's own parser: Megatron-LM's argument parser, torchtitan's
ConfigManager and JobConfig, DeepSpeed's DeepSpeedConfig, Accelerate's ClusterConfig, nanotron's Config, the fields of
Megatron-Bridge's configuration classes. Prints a table: accepted, refused by ppc-plan (with what the target lacks), or the
parser's error; exit status 1 if there is one of these.

The parsers are packages (pip install torch torchtitan==0.3.0 deepspeed accelerate ...) or checkouts, where no package has
them; a target whose parser is not there is skipped and said so.

usage: check-exports.py --plan-tool build/release/bin/ppc-plan [--megatron-lm DIR] [--torchtitan-toml DIR] [--nanotron DIR]
       [--megatron-bridge DIR] [--target NAME]... [--model NAME]... [--keep DIR]
"""
import argparse
import ast
import contextlib
import importlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import types

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
# Models, and the cluster and job that each is planned for.
MODELS = {
    "llama-3-8b": ("dgx-h100:2", 8192, 128),
    "llama-3-70b": ("dgx-h100:8", 8192, 128),
    "llama-3.1-405b": ("dgx-h100:64", 8192, 512),
    "qwen3-8b": ("dgx-h100:1", 4096, 64),
    "mixtral-8x7b": ("dgx-h100:4", 4096, 256),
    "qwen2-7b": ("dgx-a100:1", 4096, 64),
    "deepseek-v3": ("dgx-h100:32", 4096, 1024),
}


def megatron(path, options):
    """The arguments after the shell has read the file."""
    listed = subprocess.run(["bash", "-c", f"set -eu; source {shlex.quote(path)}; printf '%s\\n' \"${{MEGATRON_ARGS[@]}}\"; "
                             "echo CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-}"], check=True, capture_output=True, text=True)
    *arguments, connections = listed.stdout.splitlines()
    with open(path, encoding="utf-8") as file:
        text = file.read()
    trial = re.search(r"^  # (--mock-data .*)$", text, re.M)[1]
    devices = int(re.search(r"data parallelism is what is left of the ranks: \d+ on (\d+)", text)[1])
    from megatron.training.arguments import add_megatron_arguments, validate_args
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    add_megatron_arguments(parser)
    parsed, unknown = parser.parse_known_args(arguments + shlex.split(trial))
    if unknown:
        raise ValueError(f"unknown arguments {unknown}")
    parsed.rank, parsed.world_size = 0, devices
    value = connections.split("=")[1]
    if value:
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = value
    import torch
    torch.cuda.get_device_capability = lambda *_: (9, 0)  # checks that ask which device it is
    torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(major=9, minor=0)
    validate_args(parsed)
    count = text.count("\n  --")
    return f"{count} arguments parsed and validated for {devices} ranks"


def torchtitan(path, _options):
    spec = importlib.util.spec_from_file_location("ppc_plan", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ppc_plan"] = module
    spec.loader.exec_module(module)
    from torchtitan.config import ConfigManager
    config = ConfigManager().parse_args(["--module", "ppc_plan", "--config", "ppc_plan"])
    parallelism = config.parallelism
    check_torch_schedule(parallelism.pipeline_parallel_degree, parallelism.pipeline_parallel_schedule)
    if stages := parallelism.module_fqns_per_model_part:
        names = [name for stage in stages for name in stage]
        layers = len(config.model_spec.model.layers)
        expected = ["tok_embeddings"] + [f"layers.{i}" for i in range(layers)] + ["norm", "lm_head"]
        if names != expected:
            raise ValueError("stages do not hold the model's modules in order")
    return "ConfigManager accepts it"


def check_torch_schedule(degree, name):
    if degree > 1:
        from torch.distributed.pipelining.schedules import get_schedule_class
        get_schedule_class(name)


def torchtitan_toml(path, options):
    """JobConfig of 0.2.2 alone, from its file: the package of today is another one."""
    import tomllib
    file = os.path.join(options.torchtitan_toml, "torchtitan/config/job_config.py")
    spec = importlib.util.spec_from_file_location("job_config", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["job_config"] = module
    spec.loader.exec_module(module)
    import dataclasses
    import typing

    def read(kind, values, where):
        fields = {field.name: field for field in dataclasses.fields(kind)}
        hints = typing.get_type_hints(kind)
        for key, value in values.items():
            if key not in fields:
                raise ValueError(f"{where}: no key {key}")
            hint = hints[key]
            if dataclasses.is_dataclass(hint):
                read(hint, value, f"{where}.{key}")
            elif typing.get_origin(hint) is typing.Literal and value not in typing.get_args(hint):
                raise ValueError(f"{where}.{key}: {value!r} is none of {typing.get_args(hint)}")
            elif hint in (int, str, bool) and type(value) is not hint:
                raise ValueError(f"{where}.{key}: {value!r} is no {hint.__name__}")
        return kind(**{key: value for key, value in values.items() if not isinstance(value, dict)})

    with open(path, "rb") as opened:
        values = tomllib.load(opened)
    read(module.JobConfig, values, "")
    check_torch_schedule(values["parallelism"]["pipeline_parallel_degree"],
                         values["parallelism"].get("pipeline_parallel_schedule", "1F1B"))
    return f"JobConfig has all of {sum(len(section) for section in values.values())} keys"


def deepspeed(path, _options):
    with open(path, encoding="utf-8") as file:
        values = json.load(file)
    import deepspeed.comm
    from deepspeed.runtime import config as module
    tensor = values.get("tensor_parallel", {}).get("autotp_size", 1)
    sequence = values.get("sequence_parallel_size", 1)
    data = values["train_batch_size"] // (values["train_micro_batch_size_per_gpu"] * values["gradient_accumulation_steps"])
    module.dist.get_world_size = lambda *_: data * sequence  # ranks of one tensor-parallel rank
    module.dist.get_rank = lambda *_: 0
    parsed = module.DeepSpeedConfig(values)
    if parsed.zero_optimization_stage != values["zero_optimization"]["stage"]:
        raise ValueError("another ZeRO stage was read")
    from deepspeed.runtime.tensor_parallel.config import get_tensor_parallel_config
    if tensor > 1 and get_tensor_parallel_config(values).autotp_size != tensor:
        raise ValueError("another tensor-parallel degree was read")
    return f"DeepSpeedConfig accepts it for {data * sequence * tensor} ranks"


def accelerate(path, _options):
    from accelerate.commands.config.config_args import ClusterConfig
    from accelerate.commands import launch
    config = ClusterConfig.from_yaml_file(path)
    known = {action.dest for action in launch.launch_command_parser()._actions}
    for section in (config.fsdp_config, config.parallelism_config):
        for key in section:
            if key not in known:
                raise ValueError(f"accelerate launch has no --{key}")
    # launch_command reads the file and puts these into the arguments; then their parser has the last word.
    from accelerate.utils import dataclasses as parts
    if config.parallelism_config:
        sizes = {key.removeprefix("parallelism_config_"): value for key, value in config.parallelism_config.items()
                 if key.endswith("_size")}
        from accelerate.parallelism_config import ParallelismConfig
        parsed = ParallelismConfig(**sizes)
        if parsed.total_size != config.num_processes:
            raise ValueError(f"degrees multiply to {parsed.total_size}, not {config.num_processes}")
    if config.fsdp_config.get("fsdp_version") == 2 and parts.FullyShardedDataParallelPlugin is None:
        raise ValueError("no FSDP2")
    return f"ClusterConfig accepts it for {config.num_processes} ranks"


def nanotron(path, options):
    sys.path.insert(0, os.path.join(options.nanotron, "src"))

    class Anything(types.ModuleType):
        """Kernels, which configurations do not use."""
        __path__ = []
        __version__ = "9.9"

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    class Finder:
        @staticmethod
        def find_spec(name, _path=None, _target=None):
            if name.split(".")[0] in ("flash_attn", "grouped_gemm", "datatrove", "functorch_", "triton_"):
                return importlib.util.spec_from_loader(name, Finder)
            return None

        @staticmethod
        def create_module(spec):
            return Anything(spec.name)

        @staticmethod
        def exec_module(module):
            pass

    sys.meta_path.append(Finder)
    import yaml
    from nanotron.config import get_config_from_file
    with open(path, encoding="utf-8") as file:
        values = yaml.safe_load(file)
    config = get_config_from_file(path)
    for key in ("dp", "tp", "pp", "context_parallel_size", "expert_parallel_size"):
        if getattr(config.parallelism, key) != values["parallelism"][key]:
            raise ValueError(f"another {key} was read")
    return f"Config accepts it for {config.parallelism.dp * config.parallelism.tp * config.parallelism.pp} ranks"


def megatron_bridge(path, options):
    """Runs the recipe on stand-ins and looks up each field that it sets in the classes of the checkouts."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    fields = {}
    for folder in (options.megatron_bridge, options.megatron_lm):
        for base, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".py") and re.search(r"config|provider|mixin|optimizer|recipe", name):
                    with open(os.path.join(base, name), encoding="utf-8") as file, contextlib.suppress(SyntaxError):
                        for node in ast.walk(ast.parse(file.read())):
                            if isinstance(node, ast.ClassDef):
                                own = {item.target.id for item in node.body
                                       if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)}
                                bases = [ast.unparse(base).split(".")[-1] for base in node.bases]
                                known = fields.setdefault(node.name, (set(), []))
                                known[0].update(own)
                                known[1].extend(bases)

    def has(kind, name, seen=()):
        own, bases = fields.get(kind, (set(), []))
        return name in own or any(base not in seen and has(base, name, seen + (kind,)) for base in bases)

    sections = {"model": "GPTModelProvider", "train": "TrainingConfig", "ddp": "DistributedDataParallelConfig",
                "dataset": "GPTDatasetConfig", "tokenizer": "TokenizerConfig", "checkpoint": "CheckpointConfig",
                "optimizer": "OptimizerConfig"}
    count = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign) or not ast.unparse(node.targets[0]).startswith("cfg."):
            continue
        _, section, *rest = ast.unparse(node.targets[0]).split(".")
        kind, name = (sections[section], rest[0]) if rest else ("ConfigContainer", section)
        if not has(kind, name):
            raise ValueError(f"{kind} has no field {name}")
        count += 1
    text = subprocess.run(["grep", "-rhoE", "def [a-z0-9_]+\\(", options.megatron_bridge], capture_output=True, text=True).stdout
    functions = set(re.findall(r"def ([a-z0-9_]+)\(", text))
    recipe = re.search(r'cfg.mixed_precision = "(\w+)"', open(path, encoding="utf-8").read())[1]
    for name in (recipe, "_pretrain_common", "to_megatron_provider"):
        if name not in functions:
            raise ValueError(f"Megatron-Bridge has no {name}")
    return f"{count} fields are there"


TARGETS = {  # parser, the option that names its checkout, the file's name
    "megatron": (megatron, "megatron_lm", "args.sh"),
    "megatron-bridge": (megatron_bridge, "megatron_bridge", "recipe.py"),
    "torchtitan": (torchtitan, None, "ppc_plan.py"),
    "torchtitan-0.2.2": (torchtitan_toml, "torchtitan_toml", "job.toml"),
    "deepspeed": (deepspeed, None, "ds.json"),
    "accelerate": (accelerate, None, "accelerate.yaml"),
    "nanotron": (nanotron, "nanotron", "nanotron.yaml"),
}


# What each parser imports, once for all files of a target.
IMPORTS = {
    "megatron": ["megatron.training.arguments"],
    "torchtitan": ["torchtitan.config", "torchtitan.models.llama3.config_registry"],
    "deepspeed": ["deepspeed.runtime.config"],
    "accelerate": ["accelerate.commands.launch"],
    "torchtitan-0.2.2": ["torch.distributed.pipelining.schedules"],
}


def plan(target, model, options, folder):
    """The path of the file, or why there is none."""
    cluster, sequence, batch = MODELS[model]
    path = os.path.join(folder, f"{model}-{target}-{TARGETS[target][2]}")
    command = [options.plan_tool, os.path.join(ROOT, "test/Inputs/Models", model + ".json"), "--cluster", cluster, "--seq-len",
               str(sequence), "--global-batch", str(batch), "--emit", target, "-o", path]
    planned = subprocess.run(command, capture_output=True, text=True)
    if planned.returncode:
        return None, planned.stderr.strip().splitlines()[0].removeprefix("error: ")
    return path, ""


def in_child(work):
    """What `work` returns, from a process of its own: parsers change the process that they run in."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = ["failed", "ended without a result"]
        try:
            with open(os.devnull, "w", encoding="utf-8") as null, contextlib.redirect_stdout(null), \
                    contextlib.redirect_stderr(null):
                status = ["accepted", work()]
        except ModuleNotFoundError as problem:
            status = ["skipped", f"no module {problem.name}"]
        except BaseException as problem:  # argparse exits
            status = ["failed", f"{type(problem).__name__}: {problem}"]
        finally:
            os.write(writing, json.dumps(status).encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as result:
        status = json.load(result)
    os.waitpid(child, 0)
    return status


def check_target(target, options, folder):
    """{model: (status, text)} of a target."""
    parser, checkout, _ = TARGETS[target]
    results, paths = {}, {}
    for model in options.model or MODELS:
        path, problem = plan(target, model, options, folder)
        if not path:
            results[model] = ("refused", problem)
        elif checkout and not getattr(options, checkout):
            results[model] = ("skipped", f"no --{checkout.replace('_', '-')}")
        else:
            paths[model] = path

    def all_files():
        if target == "megatron":
            sys.path.insert(0, options.megatron_lm)
            import typing
            if not hasattr(typing, "override"):  # Python before 3.12
                import typing_extensions
                typing.override = typing_extensions.override
        for name in IMPORTS.get(target, []):
            importlib.import_module(name)
        return {model: in_child(lambda: parser(path, options)) for model, path in paths.items()}

    if paths:
        status, text = in_child(all_files)
        results.update(text if status == "accepted" else dict.fromkeys(paths, (status, text)))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", required=True)
    for name in ("megatron-lm", "torchtitan-toml", "nanotron", "megatron-bridge"):
        parser.add_argument("--" + name, metavar="DIR", help="checkout, or unpacked package")
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--model", action="append", choices=list(MODELS))
    parser.add_argument("--keep", metavar="DIR", help="where the files stay")
    options = parser.parse_args()
    counts = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        print("| model | target | result | |\n|---|---|---|---|", flush=True)
        for target in options.target or TARGETS:
            for model, (status, text) in check_target(target, options, folder).items():
                counts[status] = counts.get(status, 0) + 1
                print(f"| {model} | {target} | {status} | {' '.join(text.split())[:300]} |", flush=True)
    print(", ".join(f"{count} {status}" for status, count in sorted(counts.items())))
    return 1 if counts.get("failed") else 0


if __name__ == "__main__":
    sys.exit(main())
