#!/usr/bin/env python3
"""Compares the times of a step in bf16 and in f32 on this machine: both programs in turn, several times.

    precision-pairs.py --build build/dev [--pairs 5] [--steps 2] [--cores 1] [--config config.json] [-- options of ppc-compile]

The model of `ppc-bench step` is used unless --config names another. A turn is two runs of a program, of one step and of 1 +
--steps; the difference is the CPU time of --steps steps, of all ranks together, which other programs on the machine disturb least.
Prints pairs, the median of their ratios, and the ratio of the minimum times.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile

MODEL = {"model_type": "llama", "vocab_size": 32000, "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 4,
         "num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "hidden_act": "silu", "initializer_range": 0.02, "tie_word_embeddings": False}


def processor_time(program, steps, cores):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "--synthetic", "--steps", str(steps), "--quiet"], check=True, stdout=subprocess.DEVNULL,
                   preexec_fn=lambda: os.sched_setaffinity(0, cores))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--config")
    parser.add_argument("--seq-len", default="512")
    parser.add_argument("--global-batch", default="8")
    parser.add_argument("options", nargs="*", default=["--micro-batch=2"])
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:options.cores]
    with tempfile.TemporaryDirectory() as folder:
        config = options.config or os.path.join(folder, "config.json")
        if not options.config:
            with open(config, "w") as file:
                json.dump(MODEL, file)
        programs = {}
        for precision in ("f32", "bf16"):
            programs[precision] = os.path.join(folder, precision)
            subprocess.run([os.path.join(options.build, "bin/ppc-compile"), config, "--seq-len", options.seq_len, "--global-batch",
                            options.global_batch, *options.options, "--precision", precision, "-o", programs[precision]], check=True)
        times = {precision: [] for precision in programs}
        for _ in range(options.pairs):
            for precision, program in programs.items():
                short = processor_time(program, 1, cores)
                times[precision].append((processor_time(program, 1 + options.steps, cores) - short) / options.steps)
            print("f32 {:.2f} s, bf16 {:.2f} s".format(*(times[p][-1] for p in programs)), flush=True)
    ratios = [b / a for a, b in zip(times["f32"], times["bf16"])]
    print(f"CPU time of a step, bf16 / f32: median of {len(ratios)} pairs {statistics.median(ratios):.3f}, "
          f"minimum against minimum {min(times['bf16']) / min(times['f32']):.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
