#!/usr/bin/env python3
"""Compares the memory that the planner predicts, before a program is partitioned, with the arena that the compiler lays out afterwards.

    planned_memory.py --build BUILD [--verbose] [NAME...]

Models of every family, widened from Reference/Cases, in f32 and bf16 under layouts with each kind of parallelism and recomputation. The
planned bytes of a rank, without libraries, must be within a tolerance of its arena: TOLERANCE, RECOMPUTED where full layers are
recomputed (their scratch is then a large part), OFFLOADED where the optimizer is on the host (of models as small as these
one table is much of it, and so of the device memory in use), APART if activations are offloaded and weight gradients run separately, EXPERTS for models with experts or latent attention. A name of a family, or a part of
one, selects.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.realpath(__file__))
TOLERANCE, RECOMPUTED, OFFLOADED, EXPERTS = 0.03, 0.08, 0.04, 0.10
LIBRARIES = 16e6  # memory of every program (lib/Cluster/Devices/x86-64.yaml, framework_memory)
LIBRARIES_CUDA, COMMUNICATOR = 1.2e9 + 2**25, 2**27  # memory of GPU libraries (include/ppc/Cluster/Device.h, lib/CostModel/Stacks/ppc-cuda.yaml); one communicator each way
SHAPE = ["--seq-len", "256", "--global-batch", "8"]
LAYOUTS = ["--tp 2 --micro-batch 2", "--tp 2 --sp=on --micro-batch 4", "--dp 2 --micro-batch 4", "--dp 2 --zero 1 --micro-batch 2",
           "--pp 2 --micro-batch 1", "--pp 2 --tp 2 --sp=on --micro-batch 1 --schedule gpipe", "--tp 2 --micro-batch 2 --recompute full",
           "--dp 2 --micro-batch 2 --recompute selective", "--cp 4 --micro-batch 2",
           "--dp 2 --cp 2 --tp 2 --sp=on --zero 1 --micro-batch 2", "--cp 4=ulysses --micro-batch 2",
           "--dp 2 --cp 2=ulysses --tp 2 --sp=on --micro-batch 2", "--dp 2 --zero 1 --micro-batch 2 --offload optimizer",
           "--tp 2 --micro-batch 2 --offload optimizer"]
APART = 0.05  # planned is more than the arena there
SCHEDULED = 0.02  # tolerance of the programs of FULL_SIZE: bf16 over four GPUs, under every schedule
FULL_SIZE = "Inputs/Models/llama-3-8b.json"
FULL_SHAPE = "--seq-len 4096 --global-batch 32 --micro-batch 1 --pp 4 --precision bf16 --cluster dgx-h100:1 --target cuda"
SCHEDULES = ["gpipe", "1f1b", "interleaved", "breadth-first", "zb1p", "zb2p", "zbv", "v-half", "v-min", "wave", "dualpipev", "chimera", "dualpipe",
             "seq1f1b", *(f"{name} --offload activations" for name in ("1f1b", "gpipe", "interleaved", "zb1p", "dualpipev"))]
SCHEDULES_APART = ["zb1p --offload activations", "dualpipev --offload activations"]
WIDE = {"hidden_size": 256, "intermediate_size": 640, "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 4,
        "n_embd": 256, "n_layer": 3, "n_head": 8, "n_positions": 256, "max_position_embeddings": 256, "vocab_size": 2048,
        "moe_intermediate_size": 128, "shared_expert_intermediate_size": 256, "head_dim": 32, "kv_lora_rank": 64, "q_lora_rank": 96,
        "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32,
        "qk_head_dim": 48, "index_head_dim": 32, "index_topk": 256,
        "num_nextn_predict_layers": 0}  # which are planned, and no program has


def widened(family):
    with open(os.path.join(HERE, "Reference/Cases", family + ".json")) as file:
        config = json.load(file)
    text = config.get("text_config", config)
    wide = {key: WIDE[key] for key in WIDE if key in text}
    for key in ("indexer_types", "mlp_layer_types"):  # by layer
        if key in text:
            wide[key] = text[key][:WIDE["num_hidden_layers"]]
    if "kv_lora_rank" in text:  # a key for each head
        wide["num_key_value_heads"] = wide["num_attention_heads"]
    return programs.with_fields(config, wide)


def memory(compiler, config, options):
    """Planned bytes without libraries and bytes of the arena, of a rank of each stage."""
    command = [compiler, config, *SHAPE, *options.split(), "--emit", "device"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    planned = re.search(r"ppc\.prediction = \{.*?memory_bytes = array<i64: ([0-9, ]+)>", done.stdout)
    arenas = [int(bytes) for bytes in re.findall(r"ppcrt\.device @\w+ at \d+ arena (\d+)", done.stdout)]
    if not planned or not arenas:
        sys.exit(f"{' '.join(command)}: the program has no prediction or no arena")
    return [int(bytes) - LIBRARIES for bytes in planned.group(1).split(",")], arenas


def scheduled_memory(compiler, schedule):
    """As `memory`, of FULL_SIZE, libraries included: what a plan says of itself, and the arenas of its program."""
    command = [compiler, os.path.join(HERE, "..", FULL_SIZE), *FULL_SHAPE.split(), "--schedule", *schedule.split()]

    def emitted(form, *options):
        done = subprocess.run([*command, "--emit", form, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)} --emit {form}\n{done.stderr}")
        return done.stdout

    units = {"GiB": 2**30, "MiB": 2**20}
    planned = [float(number) * units[unit] for number, unit in re.findall(r"memory of a rank of stage \d+ +([0-9.]+) (\w+)", emitted("plan"))]
    arenas = [int(bytes) for bytes in re.findall(r"ppcrt\.device @\w+ at \d+ arena (\d+)", emitted("program", "--no-verify"))]
    if not planned or len(planned) != len(arenas):
        sys.exit(f"{schedule}: the plan says the memory of {len(planned)} stages, and the program has {len(arenas)} arenas")
    last = len(planned) - 1
    return [bytes - LIBRARIES_CUDA - COMMUNICATOR * 2 * ((stage > 0) + (stage < last)) for stage, bytes in enumerate(planned)], arenas


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--verbose", action="store_true", help="print every program")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    compiler = os.path.join(arguments.build, "bin/ppc-compile")
    families = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(HERE, "Reference/Cases/*.json")))
    families = [family for family in families if not arguments.names or any(name in family for name in arguments.names)]
    if not families:
        parser.error("no family has such a name")
    errors, failed = {}, 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = []
        for family in families:
            config = widened(family)
            path = os.path.join(scratch, family + ".json")
            with open(path, "w") as file:
                json.dump(config, file)
            experts = any(key in config.get("text_config", config) for key in ("num_experts", "num_local_experts", "kv_lora_rank"))
            for precision in ("f32", "bf16"):
                for layout in LAYOUTS:
                    if experts and "--cp" in layout:
                        continue  # refused
                    kind = "experts" if experts else "recomputed" if "recompute full" in layout else "offloaded" if "offload" in layout else "others"
                    jobs.append((f"{family} {precision} {layout}", kind, pool.submit(memory, compiler, path, f"{layout} --precision {precision}")))
        if not arguments.names:
            jobs += [(f"full size, {schedule}", "apart" if schedule in SCHEDULES_APART else "scheduled", pool.submit(scheduled_memory, compiler, schedule))
                     for schedule in SCHEDULES]
        for name, kind, job in jobs:
            tolerance = {"experts": EXPERTS, "recomputed": RECOMPUTED, "offloaded": OFFLOADED, "scheduled": SCHEDULED, "apart": APART, "others": TOLERANCE}[kind]
            for stage, (planned, arena) in enumerate(zip(*job.result())):
                error = planned / arena - 1
                errors.setdefault(kind, []).append(abs(error))
                failed += abs(error) > tolerance
                if arguments.verbose or abs(error) > tolerance:
                    print(f"{'' if abs(error) <= tolerance else 'FAILED: '}{name}, stage {stage}: planned {planned / 2**20:.2f} MiB, "
                          f"arena {arena / 2**20:.2f} MiB, {100 * error:+.2f} %")
    for kind, list in errors.items():
        print(f"{kind}: {len(list)} ranks, planned memory is off by {100 * statistics.median(list):.2f} % in the median, "
              f"{100 * statistics.mean(list):.2f} % on average, {100 * max(list):.2f} % at most")
    if failed:
        sys.exit(f"{failed} arenas are not what was planned")
    print(f"{sum(map(len, errors.values()))} arenas are what was planned")


if __name__ == "__main__":
    main()
