"""What outputs.py tries: which option is what, and commands that read every kind of input."""
import dataclasses
import json
import os
import shutil
import struct
import sys

import programs

# Of each help text: options that name an output, those that name an input, and those that name neither.
OUTPUTS = {
    "ppc-compile": {"-o"},
    "ppc-plan": {"-o"},
    "ppc-bench": {"-o"},
    "ppc-bench step": {"--folder"},
    "ppc-bench roofline": set(),
    "ppc-bench kernels": set(),
    "ppc-opt": {"-o", "--log-actions-to", "--profile-actions-to", "--mlir-generate-reproducer", "--mlir-pass-pipeline-crash-reproducer",
                "--remarks-output-file", "--mlir-print-ir-tree-dir"},
    "program": {"--log", "--trace", "--profile", "--save-parameters", "--save-gradients", "--save-losses", "--save-tokens", "--save-weights",
                "--checkpoint-dir", "--save-durations"},
}
INPUTS = {
    "ppc-compile": {"--cluster", "--plan"},
    "ppc-plan": {"--cluster", "--stack", "--plan", "--evaluate"},
    "ppc-bench": set(),
    "ppc-bench step": {"--config", "--weights", "--cluster", "--python", "--layout"},
    "ppc-bench roofline": set(),
    "ppc-bench kernels": {"--model", "--nvdisasm", "--layout"},
    "ppc-opt": {"--irdl-file", "--load-dialect-plugin", "--load-pass-plugin"},
    "program": {"--data", "--eval-data", "--tokenizer", "--weights", "--emulate"},
}
VALUES = {
    "ppc-compile": set("--cp --dp --ep --tp --tp-rows --tp-depth --pp --vp --sp --zero --shard-group --gradient-group --parameter-group --layers-per-stage --memory --micro-batch --offload --overlap --ranks --recompute --rotate --schedule "
                       "--expert-capacity-factor --global-batch --padding-row --precision --product-pieces --seq-len --check-steps --emit --host-cpu --optimize --cuda-arch --target --beta1 --beta2 "
                       "--epsilon --max-norm --optimizer --weight-decay".split()),
    "ppc-plan": set("--base-bits --freeze-layers --lora --objective --packed-length --prompt-length --mfu --price --tokens --devices "
                    "--global-batch --memory --seq-len --attention --cp --dp --ep --etp --forbid --micro-batch --offload --pin --pp --precision "
                    "--recompute --schedule --shard-group --gradient-group --parameter-group --sp --tp --tp-rows --tp-depth --vp --zero --emit --explain --target --top".split()),
    "ppc-bench": {"--ranks", "--seconds"},
    "ppc-bench step": {"--global-batch", "--precision", "--repeats", "--seq-len", "--steps"},
    "ppc-bench roofline": set(),
    "ppc-bench kernels": {"--arch"},
    "ppc-opt": set(),
    "program": set("--data-format --order --eval-every --eval-batches --steps --lr --min-lr --warmup --seed --weight-type --weight-file-bytes "
                   "--checkpoint-every --checkpoint-keep --on-not-finite --transport --print-every --slow-rank --slow-rank-after --threads --launches --store --join-timeout --hang-timeout".split()),
}
# ppc-opt has hundreds of options of LLVM, most of them for code that it never runs: those of MLIR and ours that name files.
FILE_OPTIONS_ALONE = {"ppc-opt": r"^(-o|--(irdl-file|load-.*-plugin|.*-actions-to|mlir-.*(reproducer|dir)|remarks-output-file))$"}


def help_of(build, program):
    tool = lambda name, *words: [os.path.join(build, "bin", name), *words, "--help"]  # noqa: E731
    return {"ppc-compile": tool("ppc-compile"), "ppc-plan": tool("ppc-plan"), "ppc-bench": tool("ppc-bench"),
            "ppc-bench step": tool("ppc-bench", "step"), "ppc-bench roofline": tool("ppc-bench", "roofline"), "ppc-bench kernels": tool("ppc-bench", "kernels"), "ppc-opt": tool("ppc-opt"), "program": [program, "--help"]}


@dataclasses.dataclass
class Command:
    name: str
    words: list
    inputs: list  # paths of files
    outputs: list  # options that name a file
    environment: dict = dataclasses.field(default_factory=dict)
    folders: dict = dataclasses.field(default_factory=dict)  # option that names a folder -> names that are written in it
    alone: tuple = ()  # outputs that the others exclude
    grow: tuple = ()  # outputs that are written line by line, in place
    goes_on: tuple = ()  # outputs without which the command ends well
    writes: bool = False  # whether it is also tried where writing fails: it has to be quick


CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 256, "hidden_size": 16, "intermediate_size": 24,
          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
          "rope_theta": 10000.0, "hidden_act": "silu", "initializer_range": 0.2, "tie_word_embeddings": False}
CLUSTER = "name: four cores\ndevice:\n  kind: x86-64\n  memory: 4e9\nlevels:\n  - { name: shared-memory, kind: shared-memory, size: 4 }\n"
HERE = os.path.dirname(os.path.realpath(__file__))
ROWS = "model,seq_len,global_batch,cluster,stack,tp,dp,pp,micro_batch\n{config},16,4,{cluster},{stack},1,1,1,1\n"
SHAPE = ["--seq-len", "16", "--global-batch", "4"]
# Names that ppc-bench step and the programs that it runs write in its folder, also without the packages that it compares.
BENCH_FOLDER = ["tokens.bin", "compile.stderr", "profile.stderr", "ppc.stderr", "steps.jsonl", "train-f32", "train-f32-profile",
                "profile-f32.json", "jax_step.stderr", "torch_step.stderr", "torch_step--compile.stderr"]
# The same for what is not given to it.
BENCH_INPUTS = {"--config": ["config.json"], "--weights": ["weights.stderr", "weights/config.json", "weights/model.safetensors"],
                "--cluster": ["machine.yaml", "machine.stderr"]}


class Commands:
    """Files, tools of which nothing else depends, and commands that use them."""

    def __init__(self, build, scratch, run):
        self.scratch = scratch
        for name, part in (("bin", ("ppc-compile", "ppc-plan", "ppc-bench", "ppc-opt")), ("lib", ("libppcrt.a", "ppc-module-reader.so"))):
            os.mkdir(self.path(name))
            for file in part:
                shutil.copy(os.path.join(build, name, file), self.path(name, file))
        for name in ("model", "weights", "shared"):
            os.mkdir(self.path(name))
        self.config = self.write("model/config.json", json.dumps(CONFIG))
        self.cluster, self.local = self.write("cluster.yaml", CLUSTER), self.write("local.yaml", CLUSTER)
        self.linker = self.write("linker", "#!/bin/sh\nexec cc \"$@\"\n", 0o755)
        compile_ = [self.tool("ppc-compile"), self.config, *SHAPE]
        self.plan, self.module, self.program = self.path("plan.yaml"), self.path("module.mlir"), self.path("train")
        run([*compile_, "--emit=plan", "-o", self.plan])
        run([*compile_, "--emit=model", "-o", self.module])
        run([*compile_, "--profile", "--no-verify", "-o", self.program])
        self.stack = self.path("stack.yaml")
        shutil.copy(os.path.join(HERE, "../../lib/CostModel/Stacks/ppc.yaml"), self.stack)
        self.rows = self.write("rows.csv", ROWS.format(config=self.config, cluster=self.cluster, stack=self.stack))
        self.text, self.held = self.write("text", programs.english(4000)), self.write("held", programs.english(2000, seed=2))
        self.write("shared/ids.bin", struct.pack("<4000H", *programs.english(4000)))
        self.write("shared/ids.idx", "of what is beside it")
        self.tokenizer = self.write("tokenizer.json", "{}")
        train = [self.program, "--synthetic", "--steps", "2", "--quiet"]
        run([*train, "--save-weights", self.path("weights"), "--checkpoint-dir", self.path("run")])
        run([*train, "--save-weights", self.path("parts"), "--weight-file-bytes", "20000"])
        self.all = [*self.compiling(), *self.planning(), *self.measuring(), *self.optimizing(), *self.training()]

    def path(self, *names):
        return os.path.join(self.scratch, *names)

    def tool(self, name):
        return self.path("bin", name)

    def write(self, name, content, mode=0o644):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(self.path(name), mode)
        return self.path(name)

    def compiling(self):
        tool, library = self.tool("ppc-compile"), self.path("lib", "libppcrt.a")
        environment = {"PPC_LOCAL_CLUSTER": self.local, "PPC_RUNTIME_LIBRARY": library, "CC": self.linker}
        yield Command("ppc-compile", [tool, self.config, *SHAPE, "--cluster", self.cluster, "--plan", self.plan],
                      [self.config, self.cluster, self.plan, self.local, library, self.linker, tool], ["-o"], environment)
        yield Command("ppc-compile of a folder", [tool, self.path("model"), *SHAPE, "--emit=plan"], [self.config, self.local], ["-o"], environment, writes=True)
        yield Command("ppc-compile of a module", [tool, self.module, "--emit=object"], [self.module], ["-o"])

    def planning(self):
        tool, reader = self.tool("ppc-plan"), self.path("lib", "ppc-module-reader.so")
        yield Command("ppc-plan", [tool, self.config, *SHAPE, "--cluster", self.cluster, "--stack", self.stack, "--plan", self.plan, "--emit", "json"],
                      [self.config, self.cluster, self.stack, self.plan, tool], ["-o"])
        yield Command("ppc-plan of a folder", [tool, self.path("model"), *SHAPE, "--cluster", "local", "--emit", "plan"], [self.config, self.local], ["-o"],
                      {"PPC_LOCAL_CLUSTER": self.local}, writes=True)
        yield Command("ppc-plan of a module", [tool, self.module, "--cluster", self.cluster], [self.module, self.cluster, reader], ["-o"])
        yield Command("ppc-plan --evaluate", [tool, "--evaluate", self.rows], [self.rows, self.config, self.cluster, self.stack], ["-o"], writes=True)
        yield Command("ppc-plan --describe", [tool, "--describe", self.config, "--cluster", self.cluster], [self.config, self.cluster], ["-o"])
        yield Command("ppc-plan --list-clusters", [tool, "--list-clusters"], [tool], ["-o"], writes=True)

    def measuring(self):
        tool = self.tool("ppc-bench")
        yield Command("ppc-bench", [tool, "device", "--ranks", "1", "--seconds", "0.001"], [self.local, tool], ["-o"], {"PPC_LOCAL_CLUSTER": self.local}, writes=True)
        given = {"--config": self.config, "--weights": self.path("weights"), "--cluster": self.cluster}
        files = dict(given, **{"--weights": self.path("weights", "model.safetensors")})
        for left in (None, *given):
            words = [word for option, path in given.items() if option != left for word in (option, path)]
            inputs = [path for option, path in files.items() if option != left]
            yield Command(f"ppc-bench step without {left or 'nothing'}",
                          [tool, "step", *words, "--python", self.linker, "--layout", f"--plan {self.plan}", *SHAPE],
                          inputs if left else [*inputs, self.linker, self.plan], [], folders={"--folder": BENCH_INPUTS.get(left, BENCH_FOLDER)})

    def optimizing(self):
        tool = self.tool("ppc-opt")
        outputs = sorted(OUTPUTS["ppc-opt"] - {"--mlir-print-ir-tree-dir"})
        plan = f"--ppc-make-plan=plan-file={self.plan}"
        yield Command("ppc-opt", [tool, self.module, plan], [self.module, self.plan, tool], outputs, alone=tuple(outputs))
        yield Command("ppc-opt, one output", [tool, self.module], [], ["-o"], writes=True)

    def training(self):
        files = ["--log", "--trace", "--profile", "--save-parameters", "--save-gradients", "--save-losses"]
        folders = {"--save-weights": ["config.json", "model.safetensors"], "--checkpoint-dir": ["run.lock"]}
        weights = [self.path("weights", "model.safetensors"), self.path("weights", "config.json")]
        growing = {"grow": ("--log", "--save-losses"), "goes_on": ("--trace",)}
        steps = ["--steps", "2", "--quiet"]
        yield Command("program", [self.program, *steps, "--data", self.text, "--eval-data", self.held, "--weights", self.path("weights")],
                      [self.text, self.held, self.program, *weights], files, folders=folders, **growing)
        ids, parts = self.path("shared", "ids"), self.path("parts")
        yield Command("program, ids", [self.program, *steps, "--data", ids], [ids + ".bin", ids + ".idx"], files, folders=folders)
        yield Command("program, parts of weights",
                      [self.program, *steps, "--data", self.text, "--tokenizer", self.tokenizer, "--weights", os.path.join(parts, "model.safetensors.index.json")],
                      [self.tokenizer, *(os.path.join(parts, name) for name in sorted(os.listdir(parts))[:3])], files, folders=folders)
        run = self.path("run", "step-00000002")
        yield Command("program, resumed", [self.program, *steps, "--synthetic", "--checkpoint-dir", self.path("run"), "--resume"],
                      [os.path.join(run, name) for name in sorted(os.listdir(run))], files, folders={"--save-weights": ["config.json", "model.safetensors"]})
        yield Command("program, tokens", [self.program, "--data", self.text], [self.text, self.program], ["--save-tokens"], writes=True)
        network = self.write("network.json", '{"links": []}')
        yield Command("program, emulated", [self.program, *steps, "--synthetic", "--emulate", network], [network], ["--save-durations"])
        yield Command("program, writing", [self.program, *steps, "--synthetic"], [], files, writes=True, **growing)


def commands(build, scratch, run):
    return Commands(build, scratch, run)


if __name__ == "__main__":
    sys.exit("see outputs.py")
