#!/usr/bin/env python3
"""Tries the programs of this folder on the GPUs of this machine (tools/dev/gpu-check/pack.py has made it).

    run.py [-o FILE] [--without-large]

Each small program is trained, and its losses are compared with those of the same program of the CPU backend. Then ppc-bench
measures copies and matmuls, steps of the large model are timed, also in PyTorch if that is installed with CUDA, and the time of
each of its operations is shown as a share of the rates of copies and matmuls. The short table comes last, and goes to FILE as JSON
(results.json here). Needs the driver, cuBLASLt (of a toolkit, or of PyTorch's packages) and Python, nothing else.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))


def environment():
    """Own libraries first, then those that the system and PyTorch's packages have."""
    folders = [os.path.join(HERE, "lib"), *os.environ.get("LD_LIBRARY_PATH", "").split(":"), "/usr/local/cuda/lib64"]
    for path in sys.path:
        folders += glob.glob(os.path.join(path, "nvidia/*/lib"))
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folder for folder in folders if folder)}


def machine():
    """The chip and the driver, in words."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, timeout=30)
        return sorted(set(done.stdout.strip().splitlines())) if done.returncode == 0 else ["nvidia-smi: " + done.stderr.strip()]
    except (OSError, subprocess.TimeoutExpired) as error:
        return [f"nvidia-smi: {error}"]


def train(name, steps, *options):
    """Lines of --log, or an error as text."""
    log = os.path.join(HERE, name + ".log")
    if os.path.exists(log):
        os.remove(log)
    command = [os.path.join(HERE, name), "--steps", str(steps), "--log", log, "--quiet", "--share-devices", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment())
    except subprocess.TimeoutExpired:
        return "not done after 240 s"
    if done.returncode:
        return done.stderr.strip() or f"exit status {done.returncode}"
    with open(log) as file:
        return [json.loads(line) for line in file]


def bench(*command):
    """Success, and the output of ppc-bench or its error output."""
    try:
        done = subprocess.run([os.path.join(HERE, "ppc-bench"), *command], capture_output=True, text=True, timeout=120, env=environment())
    except subprocess.TimeoutExpired:
        return False, "not done after 120 s"
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr.strip()


def time_operations():
    """The table of ppc-bench roofline for some steps of the large model."""
    profile = os.path.join(HERE, "profile.json")
    lines = train("large-profile", 4, "--synthetic", "--profile", profile)
    if isinstance(lines, str):
        return False, lines
    return bench("roofline", "--gpu", "--bf16", profile)


def compare(name, row, steps):
    start = time.monotonic()
    lines = train(name, steps, "--data", os.path.join(HERE, "text"), "--lr", "3e-3", "--seed", "1")
    result = {"name": name, "seconds": round(time.monotonic() - start, 1)}
    if isinstance(lines, str):
        return {**result, "ok": False, "said": lines}
    differences = [abs(line["loss"] - wanted) / abs(wanted) for line, wanted in zip(lines, row["losses"])]
    complete = len(differences) == len(row["losses"])
    return {**result, "ok": complete and max(differences) <= row["tolerance"], "difference": max(differences), "tolerance": row["tolerance"]}


def flops_of_token(config, sequence):
    """6 N + 12 L H Q T / 2: FLOPs of matmuls, and of attention over half of the keys."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    layer = hidden * hidden * (2 + 2 * config["num_key_value_heads"] / heads) + 3 * hidden * config["intermediate_size"]
    return 6 * (config["num_hidden_layers"] * layer + hidden * config["vocab_size"]) + 6 * config["num_hidden_layers"] * hidden * sequence


def time_large(large):
    lines = train("large", 12, "--synthetic")
    if isinstance(lines, str):
        return {"ok": False, "said": lines}
    seconds = statistics.median(line["step_time_s"] for line in lines[2:])
    tokens = large["global-batch"] * large["seq-len"]
    result = {"ok": True, "ms": 1e3 * seconds, "tokens_per_s": tokens / seconds,
              "tflops": flops_of_token(large["config"], large["seq-len"]) * tokens / seconds / 1e12}
    try:
        done = subprocess.run([sys.executable, os.path.join(HERE, "torch_step.py"), os.path.join(HERE, "facts.json")], capture_output=True,
                              text=True, timeout=240)
        result["torch"] = json.loads(done.stdout) if done.returncode == 0 else {"said": done.stderr.strip().splitlines()[-1:]}
    except (subprocess.TimeoutExpired, ValueError) as error:
        result["torch"] = {"said": str(error)}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="output", default=os.path.join(HERE, "results.json"))
    parser.add_argument("--without-large", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.25, help="approximate duration of the measurement of a copy or matmul")
    arguments = parser.parse_args()
    with open(os.path.join(HERE, "facts.json")) as file:
        facts = json.load(file)
    results = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "rows": []}
    for name, row in facts["rows"].items():
        results["rows"].append(compare(name, row, facts["steps"]))
        print(f"{name} done", file=sys.stderr, flush=True)
    good, results["device"] = bench("device", "--gpu", "--seconds", str(arguments.seconds))
    print(results["device"], flush=True)
    results["rows"].append({"name": "ppc-bench device", "ok": good, "seconds": 0, "said": "copies and matmuls are above" if good else results["device"]})
    if "large" in facts and not arguments.without_large:
        results["large"] = time_large(facts["large"])
        good, results["operations"] = time_operations()
        print(results["operations"], flush=True)
        results["large"]["ok"] &= good
    with open(arguments.output, "w") as file:
        json.dump(results, file, indent=1)
    print(f"# {'; '.join(results['machine'])}; {results['date']}")
    for row in results["rows"]:
        what = f"losses differ by {row['difference']:.1e} of {row['tolerance']:.0e}" if "difference" in row else row["said"].splitlines()[-1]
        print(f"{row['name']:20} {'ok' if row['ok'] else 'WRONG':6} {row['seconds']:6.1f} s  {what}")
    if large := results.get("large"):
        print(f"1.1B LLaMA, bf16, 8 x 2048 tokens: {large['ms']:.0f} ms per step, {large['tokens_per_s']:.0f} tokens/s, {large['tflops']:.0f} TFLOP/s"
              if large["ok"] else f"1.1B LLaMA: {large['said']}")
        if torch := large.get("torch"):
            print(f"PyTorch {torch['version']}: {torch['ms']:.0f} ms per step" if "ms" in torch else f"PyTorch: {torch['said']}")
    trained = [row for row in results["rows"] if row["name"] in facts["rows"]]
    good = sum(row["ok"] for row in trained)
    print(f"{good} of {len(trained)} programs train as on a host")
    return not all(row["ok"] for row in results["rows"]) or not results.get("large", {"ok": True})["ok"]


if __name__ == "__main__":
    sys.exit(main())
