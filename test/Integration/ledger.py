#!/usr/bin/env python3
"""Compares the planner's model of compiled programs with the programs: the entries of both per-rank accountings (docs/internals/Ledger.md).

    ledger.py --build BUILD [--target host|cuda] [--random N] [--searches N] [--seed S] [--verbose] [NAME...]

Programs are compiled as far as their partition: the layouts of equivalence.py (a name, or a part of one, selects), layouts for the
models of Reference/Cases, N random models and layouts of random_layouts.py, each with the seed that reproduces it, and the
final plans of N searches of each kind: over grids of a transformer, over groups of devices (planned for a machine of two kinds, run
on one), over the ops of programs that are not transformers.

Calls of SMALL bytes and more must be equally many, of each kind, group of ranks, element type and size, in each phase of each
device. Smaller ones, those of prepare and update, and what ZeRO-2 and -3 exchange in micro-batches, which are modelled together, must move equally
many bytes of each kind, group and type. FLOPs and bytes of memory must be equal.
"""
import argparse
import collections
import concurrent.futures
import csv
import glob
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

import equivalence
import programs
import random_layouts

HERE = os.path.dirname(os.path.realpath(__file__))
SMALL = 4096
CASES = ["--dp 2 --tp 2 --micro-batch 2", "--tp 2 --sp=on --pp 2 --micro-batch 2", "--dp 2 --zero 1 --tp 2 --sp=on --micro-batch 1 --recompute full",
         "--dp 2 --tp 3 --pp 2 --micro-batch 1 --schedule zb1p --recompute selective", "--dp 2 --zero 1 --tp 4 --micro-batch 2",
         "--tp 4 --tp-depth 2 --micro-batch 2", "--dp 2 --tp 4 --tp-depth 2 --pp 2 --zero 1 --micro-batch 1 --recompute full",
         "--tp 4 --tp-rows 2 --sp=on --micro-batch 2", "--dp 2 --tp 4 --tp-rows 2 --sp=on --pp 2 --zero 1 --micro-batch 1 --recompute full"]
# Cases of even.json, whose heads depth divides (SequenceExchange.cpp, CompiledState.cpp).
DEPTH_CASES = ["--tp 4 --tp-depth 2 --micro-batch 2 --pp 2 --recompute full", "--dp 2 --zero 3 --tp 4 --tp-depth 2 --micro-batch 1",
               "--dp 2 --zero 2 --tp 4 --tp-depth 2 --micro-batch 1 --recompute selective", "--dp 2 --zero 1 --tp 4 --tp-depth 4 --micro-batch 1",
               "--dp 4 --zero 3 --gradient-group 2 --parameter-group 2 --tp 4 --tp-depth 2 --micro-batch 1",
               "--dp 2 --tp 4 --tp-depth 2 --pp 2 --schedule zb1p --zero 1 --micro-batch 1"]
# Further cases for models without learned positions, whose gradient is summed before it becomes one of the table
# (docs/internals/Ledger.md).
SHARDED_CASES = ["--dp 4 --zero 2 --gradient-group 2 --micro-batch 1", "--dp 4 --zero 3 --gradient-group 1 --micro-batch 1 --pp 2",
                 "--dp 4 --tp 2 --sp=on --zero 3 --gradient-group 2 --parameter-group 2 --micro-batch 1",
                 "--dp 4 --zero 3 --gradient-group 2 --micro-batch 1 --recompute full", "--dp 4 --zero 3 --parameter-group 2 --micro-batch 1",
                 "--dp 8 --zero 3 --shard-group 4 --gradient-group 2 --parameter-group 2 --micro-batch 1",
                 "--dp 2 --zero 2 --tp 2 --sp=on --micro-batch 1", "--dp 2 --zero 3 --pp 2 --micro-batch 1 --schedule zb1p",
                 "--dp 3 --zero 3 --tp 2 --micro-batch 1 --recompute full", "--dp 2 --zero 3 --tp 4 --tp-rows 2 --sp=on --micro-batch 1"]
# Cases above with a known difference (docs/internals/Ledger.md): run if a name selects them.
KNOWN = {*((model, SHARDED_CASES[5]) for model in ("bloom", "gemma", "qwen2", "tied")), ("gpt-neox", SHARDED_CASES[3])}

# Further cases for models with experts.
EXPERT_CASES = ["--dp 2 --tp 2 --ep 2 --micro-batch 2 --zero 1", "--dp 4 --ep 4 --micro-batch 1 --recompute full",
                "--dp 4 --tp 2 --ep 4 --pp 2 --zero 1 --micro-batch 1 --schedule zb1p", "--dp 2 --tp 2 --ep 4 --sp=on --micro-batch 2 --recompute full",
                "--dp 2 --cp 2 --ep 2 --zero 1 --micro-batch 1", "--cp 2 --tp 2 --sp=on --micro-batch 2",
                # Experts over context-parallel ranks.
                "--cp 2 --ep 2 --zero 1 --micro-batch 1", "--dp 2 --cp 2 --ep 4 --zero 1 --micro-batch 1", "--cp 4 --ep 2 --zero 2 --micro-batch 2",
                "--cp 2 --tp 2 --ep 4 --sp=on --zero 3 --micro-batch 1", "--dp 2 --cp 2 --ep 4 --micro-batch 1 --pp 2 --recompute full"]

GROUPS = """name: two kinds
summary: two fast cores and two slow ones
groups:
  - device: { kind: x86-64 }
    levels:
      - { name: shared-memory, kind: shared-memory, size: 2 }
  - device: { kind: x86-64, peak: { f32: 115e9, bf16: 240e9 } }
    levels:
      - { name: shared-memory, kind: shared-memory, size: 2 }
between: { name: shared-memory, kind: shared-memory, size: 2 }
"""


def entry(row, shards):
    """The quantity that a table row counts, and the amount of one."""
    if row["part"] != "transfer":
        return (row["part"], row["device"], row["phase"], row["kind"]), 1
    what = ("transfer", row["device"], row["phase"], row["kind"], row["members"], row["element_bits"])
    size = int(row["elements"]) * int(row["element_bits"]) // 8
    if row["phase"] in ("prepare", "update") or row["members"] in shards:
        return (*what, "bytes"), size
    return ((*what, "bytes of small calls"), size) if size < SMALL else ((*what, row["elements"]), 1)


def sharding_groups(command):
    """The groups that exchange state in each micro-batch under ZeRO-2 and -3, as the table has them: none otherwise."""
    status, plan = programs.execute([*command, "--emit=plan"], stderr=subprocess.DEVNULL)
    if status:
        raise programs.Failed(f"exit status {status} from: {' '.join(command)} --emit=plan")
    if not re.search(r"^(gradients|storage):", plan, re.M):
        return ()
    sizes = {name: int(size) for name, size in re.findall(r"(\w+): (\d+)", re.search(r"^grid:\n((?:  .*\n)+)", plan, re.M)[1])}
    copies, outer, batches, ranks = sizes.get("copies", 1), sizes.get("outer", 1), sizes.get("ep", 1), math.prod(sizes.values())
    sequences = sizes.get("cp", 1) * sizes.get("cp0", 1) * sizes.get("cp1", 1)
    data = copies * outer * sizes.get("dp", 1) * sequences
    cut = re.search(r"^  experts: \[ ([^]]*) \]", plan, re.M)
    sharing = batches * math.prod(sizes[axis] for axis in (cut[1].split(", ") if cut else []) if axis.startswith("cp"))
    if copies * outer == 1 and sharing == 1:
        return f"{data}x{ranks // data}", f"{ranks}x1"
    # Shard groups, of all ranks or of those with the same experts; the replicas; both together.
    tensor = ranks // data // batches
    sets = {(ranks, 1)}
    # Groups that also include the tensor-parallel ranks, which have exchanged other parts of a sequence.
    for shards in (data * batches // copies, data * batches // copies // outer):
        sets |= {(shards, tensor), (shards // sharing, tensor * sharing), (data * batches // shards, tensor * shards),
                 (data * batches, tensor), (data * batches // sharing, tensor * sharing), (shards * tensor, 1)}
    return tuple(f"{size}x{stride}" for size, stride in sets)


def differences(table, shards):
    """Lines for entries that are modelled and not emitted, or the other way around."""
    totals = collections.defaultdict(lambda: [0, 0])
    rows = list(csv.DictReader(table.splitlines()))
    known = any(row["kind"] == "slots" and int(row["priced"]) for row in rows)
    for row in (row for row in rows if row["kind"] not in ("slots", "host_slots") or known):
        what, each = entry(row, shards)
        for side, column in enumerate(("priced", "emitted")):
            totals[what][side] += each * int(row[column])
    return [f"{' '.join(what)}: {priced} modelled, {emitted} emitted" for what, (priced, emitted) in totals.items() if priced != emitted]


def check(build, config, options, target="host"):
    """Compiles; "refused" or "failed" with the output, "unpriced", or "ok" or "differs" with the differences."""
    command = [os.path.join(build, "bin/ppc-compile"), config, *options, "--target", target]
    with tempfile.TemporaryFile("w+") as errors:
        status, table = programs.execute([*command, "--emit=ledger", "--no-verify"], stderr=errors)
        errors.seek(0)
        said = errors.read()
    if status:
        return "refused" if status == 1 and "error:" in said else "failed", said.splitlines()
    if ",priced," not in table.split("\n")[0]:
        return "unpriced", [line for line in said.splitlines() if "no cost estimate" in line]
    found = differences(table, sharding_groups(command))
    return ("differs" if found else "ok"), found


def drawn(scratch, seed):
    """A random model and layout: the file of the one, options of the other, and both in words."""
    pick = random.Random(seed)
    model = random_layouts.draw_model(pick)
    layout, shape = random_layouts.draw_layout(pick)
    layout = random_layouts.draw_experts(random.Random(seed), model, layout)
    if pick.random() < 0.5:
        shape += ["--precision", "bf16"]
    path = os.path.join(scratch, f"{seed}.json")
    with open(path, "w") as file:
        json.dump({key: value for key, value in model.items() if value is not None}, file)
    return path, shape + layout, f"--seed {seed}: {model['model_type']} {' '.join(shape + layout)}"


def searched(scratch, seed):
    """A random model, planned for random ranks."""
    path, options, name = drawn(scratch, seed)
    shape = options[:options.index("--dp")]
    ranks = random.Random(seed).choice(["2", "4", "6", "8", "12"])
    return path, [*shape, "--ranks", ranks], f"search, {name.split(':')[0]} --ranks {ranks}: {name}"


def grouped(build, scratch, seed):
    """A random model, planned for two kinds of machines; None: there is no such plan, or none that programs run."""
    path, options, name = drawn(scratch, seed)
    shape = options[:options.index("--dp")]
    cluster, plan = os.path.join(scratch, "groups.yaml"), os.path.join(scratch, f"{seed}.plan.yaml")
    with open(cluster, "w") as file:
        file.write(GROUPS)
    wanted = [option for key in ("--seq-len", "--global-batch") for option in (key, shape[shape.index(key) + 1])]
    precision = "bf16" if "bf16" in shape else "f32"
    command = [os.path.join(build, "bin/ppc-plan"), path, *wanted, "--precision", precision, "--cluster", cluster, "--stack", "ppc-host",
               "--forbid=cp,ep,etp,offload,zero=2,zero=3", "--pin=devices=4", "--emit", "plan", "-o", plan]
    if programs.execute(command)[0]:
        return None
    with open(plan) as file:
        lines = [line for line in file if "stage_groups:" not in line]
    with open(plan, "w") as file:
        file.writelines(lines)
    return path, [*shape, "--ranks", "4", "--plan", plan], f"search over groups, {name}"


def towers(scratch, seed):
    """A random program that no recipe knows, as test/Inputs/Programs/two-towers.mlir, with random pins."""
    pick = random.Random(seed)
    batch, tokens, layers = pick.choice([4, 8, 16]), pick.choice([4, 8, 16]), pick.randint(1, 4)
    stream, wide, narrow, vocab = pick.choice([16, 48]), pick.choice([32, 96, 256]), pick.choice([8, 20, 64]), pick.choice([64, 256])
    arguments, body, x = [], [], "%x0"

    def parameter(name, rows, columns, shape):
        arguments.append(f'%{name}: tensor<{shape}xf32> {{ppc.parameter = "{name}", ppc.dims = ["{rows}", "{columns}"], '
                         'ppc.init = #ppc.init<normal, 0.2>}')

    at, of = [f"{batch}x{tokens}x{width}" for width in (stream, wide, narrow)], 'tensor<{}xf32>'.format
    parameter("table", "vocab", "stream", f"{vocab}x{stream}")
    body.append(f"%x0 = ppc.embedding %table, %ids {{ppc.layer = 0 : i64}} : ({of(f'{vocab}x{stream}')}, tensor<{batch}x{tokens}xi32>) -> {of(at[0])}")
    for i in range(1, layers + 1):
        def add(text):
            body.append(text.replace("#", str(i)))

        def product(result, spec, x, weight, shapes):
            add(f'%{result}# = ppc.matmul "{spec}" {x}, %{weight}# {{ppc.layer = # : i64}} : ({of(shapes[0])}, {of(shapes[1])}) -> {of(shapes[2])}')

        for name, rows, columns, shape in (("u", "wide", "stream", f"{wide}x{stream}"), ("w", "stream", "wide", f"{stream}x{wide}"),
                                           ("g", "narrow", "stream", f"{narrow}x{stream}"), ("n", "stream", "narrow", f"{stream}x{narrow}")):
            parameter(f"{name}{i}", rows, columns, shape)
        product("a", "bsh,wh->bsw", x, "u", (at[0], f"{wide}x{stream}", at[1]))
        add(f"%b# = ppc.silu %a# {{ppc.layer = # : i64}} : {of(at[1])}")
        add(f"%c# = ppc.mul %a#, %b# {{ppc.layer = # : i64}} : {of(at[1])}")
        product("d", "bsw,hw->bsh", "%c#", "w", (at[1], f"{stream}x{wide}", at[0]))
        product("e", "bsh,nh->bsn", x, "g", (at[0], f"{narrow}x{stream}", at[2]))
        add(f"%f# = ppc.silu %e# {{ppc.layer = # : i64}} : {of(at[2])}")
        product("y", "bsn,hn->bsh", "%f#", "n", (at[2], f"{stream}x{narrow}", at[0]))
        add(f"%z# = ppc.add %d#, %y# {{ppc.layer = # : i64}} : {of(at[0])}")
        add(f"%x# = ppc.add {x}, %z# {{ppc.layer = # : i64}} : {of(at[0])}")
        x = f"%x{i}"
    parameter("head", "vocab", "stream", f"{vocab}x{stream}")
    logits, last = f"{batch}x{tokens}x{vocab}", f"{{ppc.layer = {layers + 1} : i64}}"
    body.append(f'%logits = ppc.matmul "bsh,vh->bsv" {x}, %head {last} : ({of(at[0])}, {of(f"{vocab}x{stream}")}) -> {of(logits)}')
    body.append(f"%nll, %lse = ppc.cross_entropy %logits, %targets {last} : ({of(logits)}, tensor<{batch}x{tokens}xi32>) -> "
                f"({of(f'{batch}x{tokens}')}, {of(f'{batch}x{tokens}')})")
    body.append(f"%sum = ppc.reduce #ppc.combiner<sum> %nll dims [0, 1] {last} : {of(f'{batch}x{tokens}')} to tensor<f32>")
    body.append(f"%loss = ppc.scale %sum by {1 / (batch * tokens):e} {last} : tensor<f32>")
    inputs = [f'%{name}: tensor<{batch}x{tokens}xi32> {{ppc.input = "{name}", ppc.dims = ["batch", "seq"]}}' for name in ("ids", "targets")]
    path = os.path.join(scratch, f"{seed}.mlir")
    with open(path, "w") as file:
        file.write("func.func @loss(" + ",\n    ".join(inputs + arguments) + ") -> tensor<f32> {\n  " + "\n  ".join(body) +
                   "\n  return %loss : tensor<f32>\n}\n")
    options = ["--ranks", pick.choice(["2", "4", "8"]), *pick.choice([[], [], ["--tp", "2"], ["--pp", "2"], ["--dp", "2"], ["--tp", "4"]])]
    return path, options, f"search over ops, --seed {seed}: {' '.join(options)}, {layers} layers of {batch}x{tokens}, {stream}, {wide}, {narrow}, {vocab}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--random", type=int, default=0, help="random models and layouts besides")
    parser.add_argument("--searches", type=int, default=0, help="final plans of each kind of search besides")
    parser.add_argument("--target", choices=["host", "cuda"], default="host")
    parser.add_argument("--seed", type=int, default=1, help="of the first of them")
    parser.add_argument("--verbose", action="store_true", help="print every layout, and all that differs")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    outcomes = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        cases = [(os.path.join(HERE, "Inputs", model + ".json"), [*equivalence.SHAPE, *options.split()], name)
                 for name, model, options in equivalence.LAYOUTS]
        cases += [(os.path.join(HERE, "Inputs/even.json"), [*equivalence.SHAPE, *layout.split(), "--precision", precision],
                   f"even {layout} {precision}") for layout in DEPTH_CASES for precision in ("f32", "bf16")]
        for path in sorted(glob.glob(os.path.join(HERE, "Reference/Cases/*.json"))):
            with open(path) as file:
                config = json.load(file)
            experts = any("experts_per_tok" in key for key in config)
            for layout in CASES + (EXPERT_CASES if experts else []) + ([] if config["model_type"] == "gpt2" else SHARDED_CASES):
                for precision in ("f32", "bf16") if arguments.names or (os.path.basename(path)[:-5], layout) not in KNOWN else ():
                    options = f"--seq-len 16 --global-batch 8 {layout} --precision {precision}"
                    cases.append((path, options.split(), f"{os.path.basename(path)[:-5]} {layout} {precision}"))
        cases = [case for case in cases if not arguments.names or any(name in case[2] for name in arguments.names)]
        cases += [drawn(scratch, seed) for seed in range(arguments.seed, arguments.seed + arguments.random)]
        seeds = range(arguments.seed, arguments.seed + arguments.searches)
        cases += [searched(scratch, seed) for seed in seeds] + [towers(scratch, seed) for seed in seeds]
        cases += [case for case in pool.map(lambda seed: grouped(arguments.build, scratch, seed), seeds) if case]
        jobs = [(name, pool.submit(check, arguments.build, path, options, arguments.target)) for path, options, name in cases]
        for name, job in jobs:
            outcome, lines = job.result()
            outcomes[outcome] += 1
            if outcome in ("differs", "failed") or arguments.verbose:
                print(f"{name}: {outcome}\n    " + "\n    ".join(lines if arguments.verbose else lines[:8]), flush=True)
    print(f"{outcomes['ok']} layouts modelled as emitted, {outcomes['differs']} differ; {outcomes['refused']} layouts refused, "
          f"{outcomes['unpriced']} not modelled, {outcomes['failed']} failed")
    sys.exit(1 if outcomes["differs"] or outcomes["failed"] else 0)


if __name__ == "__main__":
    main()
