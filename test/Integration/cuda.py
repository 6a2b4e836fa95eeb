#!/usr/bin/env python3
"""Trains programs for GPUs on a fake GPU, which executes their final PTX, and compares them with programs for this machine.

    cuda.py --build BUILD [--steps N] [--seed N] [--links host|nccl] [--launches graphs|plain] [--jobs N] [ROW...]

In every row the program of --target cuda must have the losses of the program of --target host in each step, within TOLERANCE (relative), and
no call is allowed in a step that belongs before it (test/CudaStandIn/Driver). --seed sets the random order in which the fake driver executes
issued operations; without it each is executed as late as is legal. A name of a row, or a part of one, selects. No GPU is used, and
none of the results is one of a GPU.
"""
import argparse
import concurrent.futures
import json
import os
import sys
import tempfile
import time

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
TOLERANCE = {"f32": 1e-5, "bf16": 1e-2}
SHAPE = ["--seq-len", "16", "--global-batch", "4", "--micro-batch", "1"]

# name -> family (of Reference/Cases, or a file of Inputs), options of the layout (or the axis over which a plan file
# shards experts), precision, and the chip of the fake driver if it is not sm_80
ROWS = {
    "llama": ("llama", ["--ranks", "1"], "f32"),
    "llama-bf16": ("llama", ["--ranks", "1"], "bf16"),
    "llama-dp2": ("llama", ["--dp", "2"], "f32"),
    "llama-tp2-sp": ("llama", ["--tp", "2", "--sp"], "f32"),
    "llama-tp2-sp-bf16": ("llama", ["--tp", "2", "--sp"], "bf16"),
    "llama-pp2": ("llama", ["--pp", "2", "--schedule", "1f1b"], "f32"),
    "llama-pp2-zb1p": ("llama", ["--pp", "2", "--schedule", "zb1p"], "f32"),
    "llama-zero1": ("llama", ["--dp", "2", "--zero", "1"], "f32"),
    "llama-zero3": ("llama", ["--dp", "2", "--zero", "3"], "f32"),
    "llama-cp2": ("llama", ["--cp", "2"], "f32"),
    "llama-offload": ("llama", ["--dp", "2", "--pp", "2", "--zero", "2", "--offload", "optimizer"], "bf16"),
    "llama-offload-saved": ("llama", ["--pp", "2", "--schedule", "gpipe", "--offload", "optimizer+activations"], "f32"),
    "llama-offload-parameters": ("llama", ["--pp", "2", "--vp", "3", "--schedule", "breadth-first", "--offload", "optimizer+activations+parameters"], "bf16"),
    "llama-8": ("llama", ["--pp", "2", "--dp", "2", "--tp", "2", "--sp", "--schedule", "1f1b", "--zero", "1"], "f32"),
    "qwen3": ("qwen3", ["--ranks", "1"], "f32"),
    "qwen3-tp2": ("qwen3", ["--tp", "2"], "f32"),
    "gpt2": ("gpt2", ["--ranks", "1"], "f32"),
    "gpt2-dp2": ("gpt2", ["--dp", "2"], "f32"),
    "gpt2-bf16": ("gpt2", ["--ranks", "1"], "bf16"),
    "gpt2-tp2-bf16": ("gpt2", ["--tp", "2"], "bf16"),
    "gpt2-pp2-bf16": ("gpt2", ["--pp", "2", "--schedule", "1f1b"], "bf16"),
    "bloom-bf16": ("bloom", ["--ranks", "1"], "bf16"),
    "gpt-neox-bf16": ("gpt-neox", ["--ranks", "1"], "bf16"),
    "gemma": ("gemma", ["--ranks", "1"], "f32"),
    "gemma-pp2": ("gemma", ["--pp", "2", "--schedule", "1f1b"], "f32"),
    "qwen3-moe": ("qwen3-moe", ["--ranks", "1"], "f32"),
    "deepseek-v3": ("deepseek-v3", ["--ranks", "1"], "f32"),
    "mixtral-experts-tp2": ("mixtral", "tp", "f32"),
    "mixtral-experts-dp2": ("mixtral", "dp", "f32"),
    "mixtral-experts-cp2": ("mixtral", ["--cp", "2", "--ep", "2", "--zero", "1"], "f32"),
    "mixtral-bf16": ("mixtral", ["--ranks", "1"], "bf16"),
    # Gradients of attention in one pass, and attention by warpgroups, on a fake sm_90.
    "heads-64": ("heads-64", ["--ranks", "1"], "bf16"),
    "heads-64-cp2": ("heads-64", ["--cp", "2"], "bf16"),
    "warpgroups": ("heads-64", ["--ranks", "1"], "bf16", "sm_90a"),
    "warpgroups-cp2": ("heads-64", ["--cp", "2"], "bf16", "sm_90a"),
    # Attention in tensor memory, on a fake sm_100.
    "tensor-memory": ("heads-64", ["--ranks", "1"], "bf16", "sm_100a"),
    "tensor-memory-cp2": ("heads-64", ["--cp", "2"], "bf16", "sm_100a"),
}


def configuration(scratch, family):
    """The path of a model: with a vocabulary for text."""
    if family == "llama":
        return os.path.join(HERE, "Inputs/even.json")
    if os.path.exists(os.path.join(HERE, "Inputs", family + ".json")):
        return os.path.join(HERE, "Inputs", family + ".json")
    folder = os.path.join(scratch, family)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(HERE, "Reference/Cases", family + ".json")) as file:
        config = programs.with_fields(json.load(file), {"vocab_size": 131})
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    return folder


def shape(scratch, layout):
    """The parallelism options of a row."""
    if isinstance(layout, list):
        return [*SHAPE, *layout]
    path = os.path.join(scratch, f"experts-{layout}.yaml")
    with open(os.path.join(HERE, "Inputs/expert-parallel.yaml")) as file, open(path, "w") as plan:
        plan.write(file.read().replace("AXIS", layout))
    return ["--seq-len", "16", "--global-batch", "4", "--plan", path]


def standing_in(build, seed, devices=1, chip="sm_80"):
    """The environment of a machine with GPUs, as far as programs see."""
    environment = {**os.environ, "LD_LIBRARY_PATH": os.path.join(build, "lib/cuda-stand-in"), "PPC_STANDIN_DEVICES": str(devices),
                   "PPC_STANDIN_CHIP": chip.removeprefix("sm_").rstrip("a")}
    if seed:
        environment["PPC_STANDIN_SEED"] = str(seed)
    return environment


def losses(program, text, steps, *options, **environment):
    path = program + ".losses"
    programs.run([program, "--data", text, "--steps", steps, "--lr", "3e-3", "--seed", "1", "--quiet", "--save-losses", path, *options], **environment)
    with open(path) as file:
        return [float(line) for line in file]


def difference(build, scratch, name, steps, seed, links, launches):
    """The largest relative difference of a loss, and what training took."""
    family, layout, precision, chip = (*ROWS[name], "sm_80")[:4]
    options = [*shape(scratch, layout), "--precision", precision]
    text = os.path.join(scratch, "text")
    trained = {}
    for target in ("host", "cuda"):
        program = os.path.join(scratch, f"{name}-{target}")
        chips = ["--cuda-arch", chip] if target == "cuda" else []
        programs.compile_model(build, configuration(scratch, family), [*options, *chips, "--target", target], program)
        start = time.monotonic()
        trained[target] = losses(program, text, steps, *(["--launches", launches] if target == "cuda" else []),
                                 *(["--share-devices"] if target == "cuda" and links == "host" else []),
                                 env=standing_in(build, seed, 8 if links == "nccl" else 1, chip))
        seconds = time.monotonic() - start
    pairs = list(zip(trained["host"], trained["cuda"]))
    if len(pairs) != steps or len(set(trained["host"])) < 2:
        raise programs.Failed(f"{len(pairs)} losses of {steps} steps: {pairs}")
    return max(abs(a - b) / abs(a) for a, b in pairs), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile and lib/cuda-stand-in")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="seed of the order in which the fake driver executes operations")
    parser.add_argument("--links", choices=["host", "nccl"], default="host",
                        help="ranks share a GPU and communicate through the host (default), or have one each and a fake NCCL")
    parser.add_argument("--launches", choices=["graphs", "plain"], default="graphs", help="as programs take it")
    parser.add_argument("--jobs", type=int, default=2, help="programs run at a time")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    names = [name for name in ROWS if not arguments.names or any(part in name for part in arguments.names)]
    if not names:
        parser.error("no row has such a name")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        with open(os.path.join(scratch, "text"), "wb") as file:
            file.write(programs.english(20000))
        build = os.path.realpath(arguments.build)
        runs = [(name, pool.submit(difference, build, scratch, name, arguments.steps, arguments.seed, arguments.links,
                                   arguments.launches)) for name in names]
        for name, future in runs:
            try:
                largest, seconds = future.result()
            except programs.Failed as failure:
                print(f"{name:20} FAILED\n    {failure}")
                failed += 1
                continue
            good = largest <= TOLERANCE[ROWS[name][2]]
            failed += not good
            print(f"{name:20} {'ok' if good else 'WRONG'}: losses of {arguments.steps} steps differ by {largest:.1e} at most, {seconds:.1f} s",
                  flush=True)
    print(f"{len(names) - failed} of {len(names)} programs for GPUs train as those for this machine, on a stand-in")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
