"""Runs one random command line and judges the outcome."""
import contextlib
import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import time

import edits
import generator

# In seconds of the program itself: those in which it waits for a processor that others use, or for the disk, do not count.
SILENCE = 10  # without a word
LONGEST = 25  # then it is interrupted
TO_STOP = 2   # from the interrupt to the end
BROKEN = re.compile(r"Sanitizer|runtime error:|Assertion|UNREACHABLE|LLVM ERROR|PLEASE submit a bug|Stack dump|terminate called|std::bad_alloc")


class Bench:
    """Where command lines run: the programs, and files that hold what the tools make of them."""

    def __init__(self, build, folder):
        self.build, self.folder = os.path.realpath(build), folder
        self.bases = {name: text for name, text in generator.BASES.items() if text is not None}
        towers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Inputs/Programs/two-towers.mlir")
        with open(towers, encoding="utf-8") as file:
            self.bases["towers.mlir"] = file.read()
        config = os.path.join(folder, "llama.json")
        with open(config, "w", encoding="utf-8") as file:
            file.write(generator.LLAMA)
        step = [self.tool("ppc-compile"), config, "--seq-len=16", "--global-batch=8"]
        self.bases["llama.mlir"] = subprocess.run([*step, "--emit=model"], check=True, capture_output=True, text=True).stdout
        self.bases["spmd.mlir"] = subprocess.run([*step, "--dp=2", "--pp=2", "--emit=spmd"], check=True, capture_output=True, text=True).stdout
        self.program = os.path.join(folder, "train")
        subprocess.run([*step, "--dp=2", "-o", self.program], check=True, capture_output=True)

    def tool(self, name):
        return self.program if name == "program" else os.path.join(self.build, "bin", name)

    def arguments(self, case):
        words = [case["model"]] if case["model"] else []
        for name, value in case["options"]:
            words.append(name if value is None else f"{name}={value}" if name.startswith("--") else name)
            if value is not None and not name.startswith("--"):
                words.append(value)
        return words

    def write(self, case, folder):
        texts = {}
        for name, file in case["files"].items():
            edits.make(os.path.join(folder, name), self.bases[name], file["edits"])
            texts[name] = self.bases[name]
        if "rows.csv" in case["files"] and "llama.json" not in case["files"]:
            edits.make(os.path.join(folder, "llama.json"), self.bases["llama.json"], [])
        return texts


def limits():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the test runner ignores it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


class Outcome:
    def __init__(self):
        self.text, self.status, self.seconds, self.processor, self.silent, self.slow_stop = "", None, 0.0, 0.0, 0.0, 0.0
        self.interrupted = False


class OwnTime:
    """The time of a process that others do not stretch, since this was made, in seconds."""

    def __init__(self, pid):
        self.pid, self.seconds = pid, 0.0
        self.last, self.queued = time.monotonic(), self.queue_time()

    def queue_time(self):
        """Seconds for which its threads have waited for a processor, the longest of them."""
        longest = 0
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{self.pid}/task"):
                with contextlib.suppress(OSError, IndexError), open(f"/proc/{self.pid}/task/{thread}/schedstat", encoding="utf-8") as file:
                    longest = max(longest, int(file.read().split()[1]))
        return longest * 1e-9

    def waits_for_disk(self):
        with contextlib.suppress(OSError), open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "D"
        return False

    def now(self):
        """Called several times a second."""
        before, self.last = self.last, time.monotonic()
        queued_before, self.queued = self.queued, self.queue_time()
        if not self.waits_for_disk():
            self.seconds += max(0.0, self.last - before - max(0.0, self.queued - queued_before))
        return self.seconds


def is_quiet(case):
    """Whether a trained program is told to say little."""
    return case["tool"] == "program" and any(name in ("--quiet", "--print-every") for name, _ in case["options"])


def watch(process, outcome, may_be_silent):
    """Reads what it says until it ends, is silent for too long or takes too long."""
    pieces, start = [], time.monotonic()
    own, last, length = OwnTime(process.pid), 0.0, 0
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(0.2)
            for key, _ in ready:
                data = key.fileobj.read(1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                    continue
                last = own.now()
                if length < 1 << 20:
                    pieces.append(data)
                    length += len(data)
            now = own.now()
            if not may_be_silent and now - last > SILENCE:
                outcome.silent = now - last
                break
            if now > LONGEST:
                outcome.interrupted = True
                break
    if outcome.interrupted:
        process.send_signal(signal.SIGINT)
        before = own.now()
        while outcome.slow_stop < 3 * TO_STOP and process.poll() is None:
            time.sleep(0.05)
            outcome.slow_stop = own.now() - before
    if process.poll() is None and (outcome.silent or outcome.interrupted):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if outcome.interrupted or outcome.silent:
        for stream in (process.stdout, process.stderr):
            pieces.append(stream.read() or b"")
    outcome.seconds = time.monotonic() - start
    outcome.text = b"".join(pieces).decode(errors="replace")
    outcome.status = process.returncode


def run(bench, case):
    outcome = Outcome()
    folder = tempfile.mkdtemp(prefix="case-", dir=bench.folder)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        texts = bench.write(case, folder)
        process = subprocess.Popen([bench.tool(case["tool"]), *bench.arguments(case)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True, preexec_fn=limits)
        watch(process, outcome, is_quiet(case))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    outcome.processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return outcome, judge(bench, case, outcome, texts)


def names_something(message, bench, case, texts):
    """Whether an error speaks of the command line or of what its files hold."""
    words = set(re.findall(r"[a-z0-9_]{2,}", " ".join(bench.arguments(case)).lower()))
    for text in texts.values():
        words |= set(re.findall(r"[a-z0-9_]{3,}", text.lower()))
    words |= {word.replace("_", " ") for word in words}
    said = set(re.findall(r"[a-z0-9_]{2,}", message.lower())) - {"error", "the", "for", "and"}
    given = {value for _, value in case["options"] if value and value.isdigit()} & set(re.findall(r"\d+", message))
    given |= {value for _, value in case["options"] if value and len(value) > 1 and not value.isdigit() and f" {value}" in message}
    short = {word for word in bench.arguments(case) if re.fullmatch(r"-\w|\.", word)}  # -o, and the folder here
    missing = re.search(r"(?<![\w-])--[a-z]", message)  # an option that was not given
    return bool(words & said) or bool(given) or bool(missing) or any(f" {word}:" in message for word in short)


def judge(bench, case, outcome, texts):
    """The fault, as a word and the line that shows it; None: there is none."""
    if outcome.silent:
        return "silent", f"no output for {outcome.silent:.0f} s"
    if outcome.interrupted:
        if outcome.slow_stop > TO_STOP:
            return "stubborn", f"an interrupt took {outcome.slow_stop:.1f} s"
        return None
    broken = BROKEN.search(outcome.text)
    if broken:
        line = next(line for line in outcome.text.split("\n") if broken[0] in line)
        return "broken", line[:200]
    if outcome.status < 0 or outcome.status > 128:
        return "signal", f"ended by signal {-outcome.status if outcome.status < 0 else outcome.status - 128}"
    if outcome.status == 0:
        return None
    errors = [line for line in outcome.text.split("\n") if re.search(r"\berror:", line)]
    if not errors:
        return "wordless", f"status {outcome.status} without an error"
    message = outcome.text if case["tool"] == "ppc-opt" else errors[0]  # MLIR says what passes refuse in several lines
    if not names_something(message, bench, case, texts):
        return "vague", errors[0][:200]
    written = "" if (case["model"] or "").endswith(".mlir") else "ppc|"  # ops of the ppc dialect are known to who wrote a *.mlir
    if case["tool"] != "ppc-opt" and re.search(rf"'(?:{written}func|builtin|ppcrt|arith|llvm)\.[\w.]+' op", errors[0]):
        return "internal", errors[0][:200]
    return None
