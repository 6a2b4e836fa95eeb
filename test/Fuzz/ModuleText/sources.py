"""Modules that are mutated, and the passes that they go through: those of the RUN lines of the lit tests, and what ppc-compile emits."""
import os
import re
import shlex
import subprocess

TESTS = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
DROPPED = {"%s", "--split-input-file", "--verify-diagnostics", "-split-input-file", "-verify-diagnostics", "-"}
LONGEST = 40000  # characters of a module: mutants of longer ones are slow to read
LLAMA = """{"model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
"num_key_value_heads": 1, "vocab_size": 16, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false}"""
# Phases after each stage that ppc-compile emits.
EMITTED = {"model": ["--ppc-phase-import", "--ppc-phase-train"], "train": ["--ppc-phase-plan", "--ppc-verify-model"],
           "plan": ["--ppc-phase-partition", "--ppc-verify-planned", "--ppc-insert-reshards"],
           "spmd": ["--ppc-phase-device-host", "--ppc-verify-equivalence", "--ppc-verify-spmd"],
           "device": ["--ppc-verify-arena", "--ppc-verify-program", "--ppc-phase-codegen-host"]}
LAYOUTS = [["--dp=2", "--tp=2", "--zero=3"], ["--pp=2", "--micro-batch=1"], ["--pp=2", "--offload=parameters", "--micro-batch=2"],
           ["--cp=2", "--recompute=full"]]


class Source:
    """One module, and sequences of arguments of ppc-opt that tests give it."""

    def __init__(self, name, text, runs):
        self.name, self.text, self.runs = name, text, runs


def passes_of(line):
    """The arguments of ppc-opt in a RUN line, without those that are about the test; None if none can be repeated."""
    match = re.search(r"ppc-opt\s(.*)", line)
    if not match:
        return None
    try:
        words = shlex.split(re.split(r"\s(?:2>&1|\||>|2>)", " " + match[1] + " ")[0])
    except ValueError:
        return None
    arguments, skipped = [], False
    for word in words:
        if skipped or word in DROPPED or word == "-o":
            skipped = word == "-o"
        elif "%" in word:
            return None
        else:
            arguments.append(word)
    return arguments


def of_tests():
    for folder, _, names in sorted(os.walk(TESTS)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith(".mlir") or os.path.getsize(path) > 10 * LONGEST:
                continue
            with open(path, encoding="utf-8") as file:
                text = file.read()
            joined = re.sub(r"\\\n//\s*RUN:", " ", text)
            runs = [passes_of(line) for line in joined.split("\n") if "RUN:" in line]
            runs = [run for run in runs if run]
            parts = re.split(r"(?m)^// -----.*$", re.sub(r"(?m)^\s*//(?! -----).*\n", "", text))
            for number, part in enumerate(parts):
                if part.strip() and len(part) <= LONGEST:
                    yield Source(f"{os.path.relpath(path, TESTS)}#{number}", part.strip() + "\n", runs)


def of_compiler(build, folder):
    """A small model under some layouts, at each of the points where ppc-compile can stop."""
    config = os.path.join(folder, "config.json")
    with open(config, "w", encoding="utf-8") as file:
        file.write(LLAMA)
    for layout in LAYOUTS:
        for emit, passes in EMITTED.items():
            done = subprocess.run([os.path.join(build, "bin/ppc-compile"), config, "--seq-len=4", "--global-batch=4", f"--emit={emit}", *layout],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 0 and len(done.stdout) <= 10 * LONGEST:
                yield Source(f"--emit={emit} {' '.join(layout)}", done.stdout, [[one] for one in passes])


def all_passes(build):
    """Every pass and pipeline that ppc-opt lists; each also runs on modules of other tests."""
    text = subprocess.run([os.path.join(build, "bin/ppc-opt"), "--list-passes"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^ {2}(--[\w-]+)", text, re.MULTILINE))
    # Those that take a list of cases from a file make modules of their own.
    return sorted(name for name in names if not re.search(r"-cases$|plan-files$", name))
