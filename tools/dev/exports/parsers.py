"""The targets' own parsers, each in a process of its own (they change the process that they run in).

A target has: `load`, what it imports once; `check(path, options)`, what its parser says of a file, or its error; `known(options)`, where
its options stand and what they are (exports/known.py).
"""
import argparse
import dataclasses
import importlib
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import types
import typing


def type_name(hint):
    """int, or the values of a literal, or any, of a field's type."""
    arguments = [each for each in typing.get_args(hint) if each is not type(None)]
    if typing.get_origin(hint) is typing.Literal:
        return [str(value) for value in arguments]
    if typing.get_origin(hint) in (typing.Union, types.UnionType) and len(arguments) == 1:
        return type_name(arguments[0])
    return hint.__name__ if hint in (int, float, bool, str) else "any"


def _parts(hint):
    """Types in list[X] or X | Y."""
    return [hint] + [part for each in typing.get_args(hint) for part in _parts(each)]


def fields_of(kind, prefix="", depth=0):
    """{dotted key: type} of a dataclass and those inside it."""
    result = {}
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        inner = [each for each in _parts(hints[field.name]) if dataclasses.is_dataclass(each)]
        for each in inner:
            if depth < 4:
                result.update(fields_of(each, f"{prefix}{field.name}.", depth + 1))
        result[prefix + field.name] = "any" if inner else type_name(hints[field.name])
    return result


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Megatron:
    checkout = "megatron_lm"

    def load(self, options):
        sys.path.insert(0, options.megatron_lm)
        if not hasattr(typing, "override"):  # Python before 3.12
            import typing_extensions
            typing.override = typing_extensions.override
        import megatron.core.utils
        from packaging.version import Version
        megatron.core.utils.get_te_version = lambda: Version("2.12")  # Transformer Engine, which only GPUs have
        importlib.import_module("megatron.training.arguments")

    def parser(self):
        from megatron.training.arguments import add_megatron_arguments
        parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
        add_megatron_arguments(parser)
        return parser

    def check(self, path, _options):
        listed = subprocess.run(["bash", "-c", f"set -eu; source {shlex.quote(path)}; printf '%s\\n' \"${{MEGATRON_ARGS[@]}}\"; "
                                 "echo ${CUDA_DEVICE_MAX_CONNECTIONS:-}"], check=True, capture_output=True, text=True)
        *arguments, connections = listed.stdout.splitlines()
        with open(path, encoding="utf-8") as file:
            text = file.read()
        trial = re.search(r"^  # (--mock-data .*)$", text, re.M)[1]
        devices = int(re.search(r"data parallelism takes the remaining ranks: \d+ on (\d+)", text)[1])
        from megatron.training.arguments import validate_args
        parsed, unknown = self.parser().parse_known_args(arguments + shlex.split(trial))
        if unknown:
            raise ValueError(f"unknown arguments {unknown}")
        parsed.rank, parsed.world_size = 0, devices
        if connections:
            os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = connections
        import torch
        torch.cuda.get_device_capability = lambda *_: (9, 0)  # checks that ask which device it is
        torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(major=9, minor=0)
        validate_args(parsed)
        parsed.apply_rope_fusion = False  # Transformer Engine has it, and only GPUs have that
        from megatron.training.argument_utils import core_transformer_config_from_args
        core_transformer_config_from_args(parsed)
        return f"parsed, validated and a TransformerConfig for {devices} ranks"

    def known(self, options):
        known = {}
        for action in self.parser()._actions:
            choices = [getattr(value, "name", str(value)) for value in action.choices or []]
            kind = "flag" if action.nargs == 0 else choices or \
                {int: "int", float: "float", str: "str", None: "str"}.get(action.type, "any")
            known.update({name[2:]: kind for name in action.option_strings if name.startswith("--")})
        return "Megatron-LM at d98e8a64 (2026-08-22): arguments of its parser", known


class Torchtitan:
    checkout = None
    modules = ("llama3", "qwen3", "deepseek_v3")

    def load(self, _options):
        import torchtitan.tools.utils
        torchtitan.tools.utils.has_cuda_capability = lambda *_: True  # converters ask which device it is
        importlib.import_module("torchtitan.trainer")
        for name in self.modules:
            importlib.import_module(f"torchtitan.models.{name}.config_registry")

    def check(self, path, _options):
        load(path, "ppc_plan")
        from torchtitan.config import ConfigManager
        from torchtitan.distributed.parallel_dims import ParallelDims
        config = ConfigManager().parse_args(["--module", "ppc_plan", "--config", "ppc_plan"])
        parallelism, model = config.parallelism, config.model_spec.model
        ranks = 1
        for name in ("data_parallel_replicate", "data_parallel_shard", "tensor_parallel", "pipeline_parallel", "context_parallel"):
            ranks *= getattr(parallelism, name + "_degree")
        ParallelDims.from_config(parallelism, ranks)
        if parallelism.pipeline_parallel_degree > 1:
            check_torch_schedule(parallelism.pipeline_parallel_schedule)
        if stages := parallelism.module_fqns_per_model_part:
            names = [name for stage in stages for name in stage]
            if names != ["tok_embeddings"] + [f"layers.{i}" for i in range(len(model.layers))] + ["norm", "lm_head"]:
                raise ValueError("stages do not hold the model's modules in order")
        model.update_from_config(config=config)
        return f"ConfigManager, ParallelDims and the model's configuration accept it for {ranks} ranks"

    def known(self, _options):
        from torchtitan import config as configs
        known = {}
        for section, kind in (("parallelism", configs.ParallelismConfig), ("training", configs.TrainingConfig),
                              ("compile", configs.CompileConfig)):
            known.update({f"{section}.{key}": value for key, value in fields_of(kind).items()})
        known["parallelism.pipeline_parallel_schedule"] = torch_schedules()
        known["activation_checkpoint"] = ["None", "FullAC.Config()", "SelectiveAC.Config()"]
        known["loss"] = known["model_spec.converters"] = "any"
        known["model_spec.num_mtp_layers"] = "int"
        known["model_spec.attn_backend"] = "str"
        known["flavor"], imports = [], []
        for module in ("torchtitan.config", "torchtitan.distributed.activation_checkpoint", "torchtitan.components.quantization",
                       "torchtitan.components.lora", "torchtitan.models.common.config_utils", "torchtitan.models.deepseek_v3.mtp"):
            imports += [f"{module}.{name}" for name in vars(importlib.import_module(module))
                        if re.search(r"Config$|AC$|Converter$|^MTPLoss$|^decoder_vocab_size$", name)]
        for name in self.modules:
            module = importlib.import_module(f"torchtitan.models.{name}")
            table = next(value for key, value in vars(module).items() if key.endswith("_configs") and isinstance(value, dict))
            known["flavor"] += [flavor for flavor in table if flavor not in known["flavor"]]
            registry = importlib.import_module(f"torchtitan.models.{name}.config_registry")
            imports += [f"torchtitan.models.{name}.model_registry"]
            imports += [f"torchtitan.models.{name}.config_registry.{key}" for key, value in vars(registry).items()
                        if isinstance(value, types.FunctionType) and value.__module__ == registry.__name__]
        known["import"] = imports
        return "torchtitan 0.3.0: fields of its configuration, functions of its registries", known


def torch_schedules():
    from torch.distributed.pipelining import schedules
    found = []
    for name, value in vars(schedules).items():
        if isinstance(value, type) and name.startswith("Schedule"):
            try:
                schedules.get_schedule_class(name.removeprefix("Schedule"))
                found.append(name.removeprefix("Schedule"))
            except ValueError:
                pass
    return found


def check_torch_schedule(name):
    from torch.distributed.pipelining.schedules import get_schedule_class
    get_schedule_class(name)


class TorchtitanToml:
    """JobConfig of 0.2.2 alone, from its file: the package of today is another one."""
    checkout = "torchtitan_toml"

    def load(self, options):
        self.config = load(os.path.join(options.torchtitan_toml, "torchtitan/config/job_config.py"), "job_config").JobConfig
        importlib.import_module("torch.distributed.pipelining.schedules")

    def check(self, path, _options):
        import tomllib

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
        read(self.config, values, "")
        if values["parallelism"]["pipeline_parallel_degree"] > 1:
            check_torch_schedule(values["parallelism"]["pipeline_parallel_schedule"])
        return f"JobConfig has all of {sum(len(section) for section in values.values())} keys"

    def known(self, _options):
        known = fields_of(self.config)
        known["parallelism.pipeline_parallel_schedule"] = torch_schedules()
        return "torchtitan 0.2.2: fields of its JobConfig", known


class DeepSpeed:
    checkout = None

    def load(self, _options):
        importlib.import_module("deepspeed.runtime.config")

    def check(self, path, _options):
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

    def known(self, _options):
        from deepspeed.runtime import constants, precision_config
        from deepspeed.runtime.tensor_parallel.config import TPTrainingConfig
        from deepspeed.runtime.zero import config as zero, offload_config as offload
        known = {value: "any" for name, value in vars(constants).items()
                 if name.isupper() and isinstance(value, str) and re.fullmatch(r"[a-z][a-z_]+", value)}
        known.update({key: "int" for key in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")})
        known["sequence_parallel_size"] = "int"
        known["gradient_clipping"] = "float"
        known["data_types.grad_accum_dtype"] = ["fp32", "fp16", "bf16"]
        for section, kind in (("zero_optimization", zero.DeepSpeedZeroConfig), ("bf16", precision_config.DeepSpeedBF16Config),
                              ("zero_optimization.offload_optimizer", offload.DeepSpeedZeroOffloadOptimizerConfig),
                              ("fp16", precision_config.DeepSpeedFP16Config), ("tensor_parallel", TPTrainingConfig)):
            for name, field in kind.model_fields.items():
                known[f"{section}.{field.alias or name}"] = type_name(field.annotation)
        known["zero_optimization.stage"] = ["0", "1", "2", "3"]
        known["zero_optimization.offload_optimizer.device"] = ["none", "cpu", "nvme"]
        return "DeepSpeed 0.19.8: constants and models of its configuration", known


class Accelerate:
    checkout = None

    def load(self, _options):
        importlib.import_module("accelerate.commands.launch")

    def check(self, path, _options):
        from accelerate.commands import launch
        from accelerate.commands.config.config_args import ClusterConfig
        config = ClusterConfig.from_yaml_file(path)
        known = {action.dest for action in launch.launch_command_parser()._actions}
        for section in (config.fsdp_config, config.parallelism_config):
            for key in section:
                if key not in known:
                    raise ValueError(f"accelerate launch has no --{key}")
        # As `accelerate launch` handles file and arguments, up to the start of processes.
        parsed, _, _ = launch._validate_launch_command(launch.launch_command_parser().parse_args(["--config_file", path, "train.py"]))
        if parsed.num_processes != config.num_processes:
            raise ValueError("another number of processes was read")
        if config.parallelism_config:
            sizes = {key.removeprefix("parallelism_config_"): value for key, value in config.parallelism_config.items()
                     if key.endswith("_size")}
            from accelerate.parallelism_config import ParallelismConfig
            total = ParallelismConfig(**sizes).total_size
            if total != config.num_processes:
                raise ValueError(f"degrees multiply to {total}, not {config.num_processes}")
        return f"ClusterConfig and accelerate launch accept it for {config.num_processes} ranks"

    def known(self, _options):
        from accelerate.commands import launch
        from accelerate.commands.config.config_args import ClusterConfig
        known = {key: kind for key, kind in fields_of(ClusterConfig).items()}
        known["mixed_precision"] = ["no", "fp16", "bf16", "fp8"]
        known["distributed_type"] = ["NO", "MULTI_CPU", "MULTI_GPU", "DEEPSPEED", "FSDP", "XLA", "MEGATRON_LM"]
        known["compute_environment"] = ["LOCAL_MACHINE", "AMAZON_SAGEMAKER"]
        for action in launch.launch_command_parser()._actions:
            section = next((name for name in ("fsdp", "fp8") if action.dest.startswith(name + "_")), None)
            section = "parallelism_config" if action.dest.startswith("parallelism_config_") else section and section + "_config"
            if section:
                kind = [str(value) for value in action.choices] if action.choices else "any"
                known[f"{section}.{action.dest}"] = kind
        return "accelerate 1.15.0: fields of ClusterConfig, arguments of accelerate launch", known


class Nanotron:
    checkout = "nanotron"

    def load(self, options):
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
                if name.split(".")[0] in ("flash_attn", "ring_flash_attn", "grouped_gemm", "datatrove", "functorch_", "triton_"):
                    return importlib.util.spec_from_loader(name, Finder)
                return None

            @staticmethod
            def create_module(spec):
                return Anything(spec.name)

            @staticmethod
            def exec_module(module):
                pass

        sys.meta_path.insert(0, Finder)
        importlib.import_module("nanotron.config")

    def check(self, path, _options):
        import yaml
        from nanotron.config import get_config_from_file
        with open(path, encoding="utf-8") as file:
            values = yaml.safe_load(file)
        config = get_config_from_file(path)
        for key in ("dp", "tp", "pp", "context_parallel_size", "expert_parallel_size"):
            if getattr(config.parallelism, key) != values["parallelism"][key]:
                raise ValueError(f"another {key} was read")
        ranks = config.parallelism.dp * config.parallelism.tp * config.parallelism.pp * config.parallelism.context_parallel_size
        return f"Config accepts it for {ranks} ranks"

    def known(self, _options):
        from nanotron.config import Config
        from nanotron.config import models_config
        known = {key: kind for key, kind in fields_of(Config).items() if not key.startswith("model.model_config")}
        for kind in (models_config.LlamaConfig, models_config.Qwen2Config):
            name = next(field.name for field in dataclasses.fields(kind) if field.name.startswith("is_"))
            known.update({f"model.model_config({name}).{key}": value for key, value in fields_of(kind).items()})
            for key in ("rope_type", "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"):
                known[f"model.model_config({name}).rope_scaling.{key}"] = "any"
        known["parallelism.pp_engine"] = ["1f1b", "afab"]
        known["parallelism.tp_mode"] = ["ALL_REDUCE", "REDUCE_SCATTER"]
        known["model.dtype"] = ["bfloat16", "float16", "float32"]
        return "nanotron 0.5 at 2411b022 (2026-04-07): fields of its Config", known
