#!/usr/bin/env python3
"""Compares predicted with measured steps of compiled programs on this machine.

    host-accuracy.py --build BUILD [--cluster machine.yaml] [--ranks N] [--steps N] [--config config.json]

Compiles one small LLaMA for every split of the ranks into dp x tp x pp and some micro-batch sizes, trains each, and prints the
predicted and the measured seconds per step: of the fastest step, and "cores", the CPU time of all ranks divided by the cores, which
a step cannot undercut and which does not depend on what else runs on the machine. Then the bytes of the largest arena and of the
planner's estimate. At the end: how far predictions are off, and how the layout that the planner ranks first does against the best
one.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 256, "hidden_size": 256, "intermediate_size": 704,
    "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 256, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "hidden_act": "silu", "initializer_range": 0.02, "tie_word_embeddings": False}


def layouts(ranks, batch, micro_batches):
    """Every dp x tp x pp of `ranks` ranks, with the micro-batch sizes that divide."""
    for tp in range(1, ranks + 1):
        for pp in range(1, ranks // tp + 1):
            if ranks % (tp * pp) == 0:
                dp = ranks // (tp * pp)
                for size in micro_batches:
                    if batch % (dp * size) == 0:
                        yield dp, tp, pp, size


def run(command, environment):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def measure(arguments, environment, scratch, layout):
    dp, tp, pp, size = layout
    program, log = os.path.join(scratch, "train"), os.path.join(scratch, "log.jsonl")
    run([os.path.join(arguments.build, "bin/ppc-compile"), os.path.join(scratch, "config.json"), "--seq-len", arguments.seq_len,
         "--global-batch", arguments.global_batch, "--dp", dp, "--tp", tp, "--pp", pp, "--micro-batch", size, "-o", program,
         *(["--cluster", arguments.cluster] if arguments.cluster else [])], environment)
    processor = []
    for steps in (2, arguments.steps + 2):  # the difference: steps without what happens once
        if os.path.exists(log):
            os.remove(log)
        before = os.times()
        run([program, "--synthetic", "--steps", steps, "--quiet", "--log", log], environment)
        after = os.times()
        processor.append(after.children_user + after.children_system - before.children_user - before.children_system)
    with open(log) as file:
        lines = [json.loads(line) for line in file]
    times = [line["step_time_s"] for line in lines[1:]]
    cores = min(len(os.sched_getaffinity(0)), arguments.ranks)
    return {"layout": f"dp {dp} tp {tp} pp {pp} mb {size}", "predicted": lines[0].get("predicted_step_time_s", math.nan),
            "fastest": min(times), "cores": (processor[1] - processor[0]) / arguments.steps / cores,
            "arena": max(line.get("arena_memory_bytes", 0) for line in lines), "planned": lines[0].get("planned_memory_bytes", math.nan)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--cluster", help="cluster file; default: the built-in constants")
    parser.add_argument("--config", help="config.json; default: a LLaMA of 3.5 million parameters")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--seq-len", type=int, default=128)
    parser.add_argument("--global-batch", type=int, default=16)
    parser.add_argument("--micro-batches", default="1,4", help="sequences per micro-batch and data-parallel rank")
    arguments = parser.parse_args()
    environment = dict(os.environ)
    if arguments.cluster:
        arguments.cluster = os.path.realpath(arguments.cluster)
    with tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "config.json"), "w") as file:
            file.write(open(arguments.config).read() if arguments.config else json.dumps(CONFIG))
        rows = []
        print(f"{'layout':24} {'predicted':>10} {'fastest':>10} {'cores':>10} {'pred/fast':>10} {'pred/cores':>10} {'arena':>9} {'planned':>9}")
        for layout in layouts(arguments.ranks, arguments.global_batch, [int(size) for size in arguments.micro_batches.split(",")]):
            row = measure(arguments, environment, scratch, layout)
            rows.append(row)
            print(f"{row['layout']:24} {row['predicted'] * 1e3:7.2f} ms {row['fastest'] * 1e3:7.2f} ms {row['cores'] * 1e3:7.2f} ms "
                  f"{row['predicted'] / row['fastest']:10.2f} {row['predicted'] / row['cores']:10.2f} {row['arena'] / 2**20:6.1f} MB "
                  f"{row['planned'] / 2**20:6.1f} MB", flush=True)
    first = min(rows, key=lambda row: row["predicted"])
    print()
    for name in ("fastest", "cores"):
        ratios = [row["predicted"] / row[name] for row in rows]
        best = min(row[name] for row in rows)
        print(f"predicted / {name}: {min(ratios):.2f} to {max(ratios):.2f}, geometric mean {statistics.geometric_mean(ratios):.2f}; "
              f"ranked first: {first['layout']}, {100 * (first[name] / best - 1):.0f} % above the best")


if __name__ == "__main__":
    main()
