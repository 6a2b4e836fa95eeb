#!/usr/bin/env python3
"""Bad input and bad luck: every case ends with one clear error line, the right exit status, and nothing left behind.

    failures.py --build BUILD [NAME...]
"""
import argparse
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import processes
import programs

HERE = os.path.dirname(os.path.realpath(__file__))
EVEN = os.path.join(HERE, "Inputs", "even.json")
SHAPE = ["--seq-len", "16", "--global-batch", "8"]
CRASH = re.compile(r"PLEASE submit a bug|Stack dump|Assertion|terminate called|AddressSanitizer|runtime error:|Traceback")


def config(**changes):
    """The text of the even model's config.json with some keys changed (None removes a key)."""
    with open(EVEN) as file:
        values = json.load(file)
    values.update(changes)
    return json.dumps({key: value for key, value in values.items() if value is not None})


# name, file name, its text (None: the even model), options of ppc-compile, what the error line must hold
COMPILER_CASES = [
    ("json-syntax", "config.json", '{"model_type": "llama",', [], ["config.json"]),
    ("json-type", "config.json", config(hidden_size="wide"), [], ["config.json", "hidden_size"]),
    ("json-missing-key", "config.json", config(hidden_size=None), [], ["config.json", "hidden_size"]),
    ("architecture", "config.json", config(model_type="mamba", architectures=["MambaForCausalLM"]), [], ["config.json", "MambaForCausalLM", "LlamaForCausalLM"]),
    ("activation", "config.json", config(hidden_act="relu6"), [], ["hidden_act", "relu6", "silu"]),
    ("heads-do-not-group", "config.json", config(num_key_value_heads=3), [], ["num_key_value_heads", "8", "3"]),
    ("mlir-syntax", "model.mlir", "func.func @loss( {\n", [], ["model.mlir:1"]),
    ("mlir-unknown-op", "model.mlir", "func.func @loss() {\n  ppc.teleport\n  return\n}\n", [], ["model.mlir:2"]),
    ("no-such-file", None, None, [], ["missing.json"]),
    ("ranks-do-not-match", None, "", ["--ranks", "6", "--dp", "2", "--tp", "2"], ["6", "4"]),
    ("more-stages-than-layers", None, "", ["--pp", "9"], ["9", "6", "embedding and LM head"]),
    ("batch-does-not-divide", None, "", ["--dp", "3"], ["8", "3"]),
    ("micro-batch-does-not-divide", None, "", ["--dp", "2", "--micro-batch", "3"], ["3"]),
    ("zero-ranks", None, "", ["--dp", "0"], ["dp"]),
    ("unknown-schedule", None, "", ["--pp", "2", "--schedule", "tuesday"], ["tuesday"]),
    ("unknown-option", None, "", ["--dpp", "2"], ["dpp"]),
]


def check_output(status, text, wanted_status, parts):
    """Problems of what a failed command left on its terminal."""
    problems = []
    if status not in wanted_status:
        problems.append(f"exit status {status}, not {' or '.join(map(str, wanted_status))}")
    if CRASH.search(text):
        problems.append("it crashed")
    lines = [line for line in text.splitlines() if "error:" in line or "Unknown" in line or "unknown" in line]
    if not lines:
        problems.append("no error line")
    for part in parts:
        if part not in text:
            problems.append(f"the message does not mention '{part}'")
    return problems + ([f"it printed:\n{text}"] if problems else [])


def compiler_case(build, scratch, file_name, text, options, parts):
    if file_name:
        model = os.path.join(scratch, file_name)
        with open(model, "w") as file:
            file.write(text)
    else:
        model = os.path.join(scratch, "missing.json") if text is None else EVEN
    output = os.path.join(scratch, "train")
    shape = [] if model.endswith(".mlir") else SHAPE
    status, printed = programs.execute([os.path.join(build, "bin/ppc-compile"), model, *shape, *options, "-o", output])
    problems = check_output(status, printed, (1, 2), parts)
    return problems + (["it left a program"] if os.path.exists(output) else [])


def shared_memory():
    return set(glob.glob("/dev/shm/*"))


class Running:
    """A long training run on 4 ranks that has passed its first step."""

    def __init__(self, program, data):
        self.before = shared_memory()
        self.log = program + ".jsonl"
        if os.path.exists(self.log):
            os.remove(self.log)
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([program, "--data", data, "--steps", "100000000", "--log", self.log],
                                        stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True)
        if not processes.eventually(lambda: os.path.exists(self.log) and os.path.getsize(self.log), self.process):
            self.output.seek(0)
            self.process.kill()
            raise programs.Failed("the run did not start:\n" + self.output.read())
        self.ranks = processes.children(self.process.pid)

    def finish(self):
        """Waits; returns exit status, output, and problems with processes and files that remain."""
        problems = []
        try:
            status = self.process.wait(programs.PATIENCE_S)
        except subprocess.TimeoutExpired:
            problems.append(f"still running {programs.PATIENCE_S} s later")
            os.killpg(self.process.pid, signal.SIGKILL)
            status = self.process.wait()
        if not processes.eventually(lambda: not any(processes.alive(pid) for pid in self.ranks)):
            problems += [f"process {pid} of a rank is still alive" for pid in self.ranks if processes.alive(pid)]
        problems += [f"{name} is left" for name in sorted(shared_memory() - self.before) if "ppc" in name]
        self.output.seek(0)
        return status, self.output.read(), problems


def killed_rank(program, data):
    run = Running(program, data)
    if len(run.ranks) < 4:
        return [f"{len(run.ranks)} processes for 4 ranks"] + run.finish()[2]
    os.kill(run.ranks[2], signal.SIGKILL)
    status, text, problems = run.finish()
    return problems + check_output(status, text, (1,), ["rank 2"])


def interrupted(program, data, number):
    run = Running(program, data)
    os.killpg(run.process.pid, number) if number == signal.SIGINT else os.kill(run.process.pid, number)
    status, text, problems = run.finish()
    if status not in (128 + number, -number):
        problems.append(f"exit status {status}, not {128 + number}\n{text}")
    if CRASH.search(text):
        problems.append(f"it crashed:\n{text}")
    return problems


def program_cases(build, scratch):
    """(name, function without arguments that returns problems) for the compiled program."""
    program = programs.compile_model(build, EVEN, SHAPE + ["--dp", "2", "--tp", "2"], os.path.join(scratch, "train4"))
    data, short, folder = (os.path.join(scratch, name) for name in ("text", "short", "folder"))
    with open(data, "wb") as file:
        file.write(programs.english(20000))
    with open(short, "wb") as file:
        file.write(b"too short")
    with open(os.path.join(scratch, "bytes"), "wb") as file:
        file.write(programs.english(5000) + "café".encode())
    os.mkdir(folder)

    def refused(parts, *options, status=(1,)):
        def check():
            before = shared_memory()
            code, text = programs.execute([program, *options])
            return check_output(code, text, status, parts) + [f"{name} is left" for name in shared_memory() - before if "ppc" in name]
        return check

    run = ["--data", data, "--steps", "2"]
    return [
        ("no-data", refused(["--data"], "--steps", "1", status=(1, 2))),
        ("missing-data", refused(["nowhere"], "--data", "nowhere", "--steps", "1")),
        ("short-data", refused(["short", "9", "17"], "--data", short, "--steps", "1")),
        ("token-outside-vocabulary", refused(["195", "128"], "--data", os.path.join(scratch, "bytes"), "--steps", "1")),
        ("data-is-a-folder", refused(["folder"], "--data", folder, "--steps", "1")),
        ("unwritable-log", refused(["/nowhere/log"], *run, "--log", "/nowhere/log")),
        ("unwritable-parameters", refused(["/nowhere/p"], *run, "--save-parameters", "/nowhere/p")),
        ("full-device", refused(["/dev/full"], *run, "--save-parameters", "/dev/full")),
        ("steps-are-no-number", refused(["--steps"], "--data", data, "--steps", "many", status=(2,))),
        ("unknown-option", refused(["--stepz"], "--stepz", "1", status=(2,))),
        ("killed-rank", lambda: killed_rank(program, data)),
        ("ctrl-c", lambda: interrupted(program, data, signal.SIGINT)),
        ("terminated", lambda: interrupted(program, data, signal.SIGTERM)),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("names", nargs="*", help="names of cases; all when none is given")
    arguments = parser.parse_args()
    failed = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        cases = [(case[0], lambda case=case: compiler_case(arguments.build, scratch, *case[1:])) for case in COMPILER_CASES]
        cases.append(("unwritable-program", lambda: check_output(*programs.execute(
            [os.path.join(arguments.build, "bin/ppc-compile"), EVEN, *SHAPE, "-o", "/nowhere/train"]), (1,), ["/nowhere/train"])))
        cases += program_cases(arguments.build, scratch)
        for name, check in cases:
            if arguments.names and name not in arguments.names:
                continue
            problems = check()
            count += 1
            failed += bool(problems)
            print(f"{'FAILED' if problems else 'ok':6} {name}")
            for problem in problems:
                print("    " + problem.replace("\n", "\n    "))
    print(f"{count - failed} of {count} cases end as they should")
    sys.exit(1 if failed else 0)


main()
