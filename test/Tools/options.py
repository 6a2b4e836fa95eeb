#!/usr/bin/env python3
"""Gives every numeric option senseless numbers: each is handled sensibly or refused by name and value.

    options.py PROGRAM...

PROGRAM is ppc-compile, ppc-plan, ppc-bench, ppc-opt or the path of a trained program. The options come from its --help; an option whose
placeholder is not known here fails, so that a new one is looked at.
"""
import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

VALUES = ["nan", "inf", "-inf", "-1", "0", "1e308", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e-400", "", "many", "0x10", "1 2"]
QUICK = ["nan", "-1", "0", "9223372036854775807"]  # values for passes, which parse by themselves
NUMBERS = {"N", "F", "K", "GiB", "tokens", "sequences", "rank", "number", "percent", "dollars", "s", "0|1", "0|1|2|3", "16|8|4", "n,n,...", "long", "int"}
TEXTS = {"file", "HOST:PORT", "name", "what", "on|off", "N[=gather|ulysses]", "f32|bf16", "name|file.yaml", "name:N|file.yaml", "file.yaml", "key=value", "key[=value]", "value", "string",
         "none|selective|full|auto", "none|optimizer|activations|auto", "f32|bf16|fp16|fp8|...", "unfused|flash1|flash2|flash3|...", "FILE", "FOLDER",
         "PATH", "rows.csv", "config.json", "path", "options", "folder", "program", "f32,bf16", "FILE.bin", "bytes|FILE", "filename", "file.csv", "cpu", "names"}
SECONDS = 10  # CPU time, which no other process stretches
PATIENCE_S = 600

CONFIG = """{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4,
 "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 128,
 "initializer_range": 0.02, "tie_word_embeddings": false, "hidden_act": "silu"}
"""
COMMANDS = {"ppc-compile": ["{config}", "--seq-len=16", "--global-batch=8", "--emit=plan"],
            "ppc-plan": ["{config}", "--seq-len=64", "--global-batch=8", "--cluster=dgx-a100:1", "--brief"],
            "ppc-bench": ["device", "--ranks=1", "--seconds=0.01"],
            "program": ["--synthetic", "--steps=2", "--quiet"]}
WITH = {"--tokens": ["--describe"], "--price": ["--describe", "--tokens=1e9"], "--mfu": ["--describe", "--tokens=1e9"], "--base-bits": ["--lora=8"],
        "--prompt-length": ["--objective=grpo"], "--eval-every": ["--eval-data={text}"], "--eval-batches": ["--eval-data={text}"],
        "--checkpoint-every": ["--checkpoint-dir=c"], "--checkpoint-keep": ["--checkpoint-dir=c"], "--weight-file-bytes": ["--save-weights=w"],
        "--check-steps": [], "--min-lr": ["--lr=3e38"]}


def help_of(command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout


def options_of(program, text):
    """(name, placeholder) of each option that takes a value."""
    if program == "program":
        return re.findall(r"^  (--[\w-]+) (\S+)", text, re.M)
    return [(name, value) for name, value in re.findall(r"^ +(--?[\w-]+)=<([^>]+)>", text, re.M)]


def numeric(options):
    """Numeric options, and unknown ones."""
    unknown = [f"{name}=<{value}>" for name, value in options if value not in NUMBERS | TEXTS and "|" not in value]
    return [name for name, value in options if value in NUMBERS], unknown


def passes_of(text):
    """(pass, option) of each numeric option of our passes."""
    found, current = [], None
    for line in text.split("\n"):
        if match := re.match(r"^      --([\w-]+) ", line):
            current = match[1]
        elif (match := re.match(r"^        --([\w-]+)=<(long|int|number|uint|ulong)>", line)) and current and current.startswith("ppc-"):
            found.append((current, match[1]))
    return found


def limit_processor():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))


def judge(command, name, value, folder):
    """Error in the handling of the value; None: it is right."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S, cwd=folder, preexec_fn=limit_processor)
    except subprocess.TimeoutExpired:
        return f"took more than {PATIENCE_S} s"
    if done.returncode == -signal.SIGXCPU:
        return f"took more than {SECONDS} s of CPU time"
    if done.returncode < 0 or done.returncode > 2 or re.search(r"Sanitizer|Assertion|LLVM ERROR|Stack dump", done.stderr):
        return f"status {done.returncode}: {done.stderr[:300]}"
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.split("\n") if re.search(r"\berror:|for the --", line)]
    if not errors:
        return f"status {done.returncode} without an error: {done.stderr[:300]}"
    said = errors[0]
    names = name.lstrip("-") in said.replace("_", "-")
    taken = re.search(r"in step \d+: .*(nan|not finite)", said)  # a learning rate that trains to nothing
    if name and not taken and not (names and (value in said if value else "nothing" in said or '""' in said)):
        return f"does not name the option and its value: {said}"
    return None


def cases(program, path, folder):
    """(command, option, value) of each try; what is not known."""
    config, text, towers = (os.path.join(folder, name) for name in ("config.json", "text.txt", "towers.mlir"))
    fill = lambda words: [word.format(config=config, text=text) for word in words]
    if program == "ppc-opt":
        found = passes_of(help_of([path]))
        return [([path, towers, f"--{name}={option}={value}", "-o", os.devnull], "", value) for name, option in found for value in QUICK], []
    commands = [([path], fill(COMMANDS[program]))]
    if program == "ppc-bench":
        commands.append(([path, "step"], []))
    tries, unknown = [], []
    for start, rest in commands:
        names, strange = numeric(options_of(program, help_of(start)))
        unknown += strange
        for name in names:
            for value in VALUES:
                words = [word for word in rest if not word.startswith(name + "=")] + fill(WITH.get(name, []))
                tries.append(([*start, *words, f"{name}={value}"], name, value))
    return tries, unknown


def main():
    failures, count = 0, 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        with open(os.path.join(folder, "text.txt"), "w", encoding="utf-8") as file:
            file.write("To be, or not to be. " * 100)
        towers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Inputs/Programs/two-towers.mlir")
        with open(towers, encoding="utf-8") as file, open(os.path.join(folder, "towers.mlir"), "w", encoding="utf-8") as copy:
            copy.write(file.read())
        for path in sys.argv[1:]:
            program = path if path in COMMANDS or path == "ppc-opt" else "program"
            if program == "program":
                path = os.path.abspath(path)
            tries, unknown = cases(program, path, folder)
            assert tries, f"{program}: no option is a number"
            for option in unknown:
                print(f"{program}: {option}: is it a number? add it in {os.path.basename(__file__)}")
            failures += len(unknown)
            for (command, name, value), problem in zip(tries, pool.map(lambda one: judge(*one, folder), tries)):
                count += 1
                if problem:
                    failures += 1
                    print(f"{' '.join(command)}: {problem}")
    print(f"{count} values given, {failures} failures")
    return 1 if failures else 0


sys.exit(main())
