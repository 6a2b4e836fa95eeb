"""Compiles models and runs the programs: the few lines every integration test shares."""
import json
import os
import signal
import subprocess
import tempfile
import threading

import processes

PATIENCE_S = processes.PATIENCE_S


class Failed(Exception):
    """A command that should have worked did not; the text says which, and what it printed. `status` None: it has not ended."""

    def __init__(self, text, command="", status=None):
        super().__init__(text)
        self.command, self.status = command, status


class UnderWay:
    """The commands that run() waits for, in whichever thread: a signal ends all of them before the test."""

    def __init__(self):
        self.lock, self.sessions, self.are_ended = threading.RLock(), set(), False
        self.is_starting, self.told = False, None

    def start(self, command, **options):
        with self.lock:
            if self.are_ended:
                raise Failed("the test is to end", " ".join(command))
            self.is_starting = True
            try:
                process = subprocess.Popen(command, start_new_session=True, **options)
                self.sessions.add(process.pid)
            finally:
                self.is_starting = False
            if self.told:
                self.end_all(self.told, None)
            return process

    def end(self, process):
        """Ends what is left of a command."""
        processes.end_session(process.pid)
        process.wait()
        with self.lock:
            self.sessions.discard(process.pid)

    def end_all(self, number, frame):
        with self.lock:
            if self.is_starting:  # this thread, which goes on with it once the process is known
                self.told = number
                return
            self.are_ended = True
            for session in self.sessions:
                processes.end_session(session)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


UNDER_WAY = UnderWay()
if threading.current_thread() is threading.main_thread():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, UNDER_WAY.end_all)


def execute(command, timeout=PATIENCE_S, env=None, stderr=subprocess.STDOUT):
    """Runs a command; returns its exit status and what it printed. Raises Failed when it has not ended after `timeout` seconds, with what it printed
    so far and where its threads and those of its children are. Whatever ends the wait, none of its processes is left."""
    words = [str(part) for part in command]
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        process = UNDER_WAY.start(words, stdout=printed, stderr=stderr, env=env)
        late = None
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            late = processes.describe(process.pid)
        finally:
            UNDER_WAY.end(process)
        printed.seek(0)
        output = printed.read()
    if late is not None:
        raise Failed(f"not ended after {timeout} s: {' '.join(words)}\n{output}\n{late}", " ".join(words))
    return process.returncode, output


def run(command, timeout=PATIENCE_S, env=None):
    """Runs a command and returns what it printed; raises Failed with all of it when it fails, or has not ended after `timeout` seconds."""
    status, output = execute(command, timeout, env)
    if status:
        text = " ".join(map(str, command))
        raise Failed(f"exit status {status} from: {text}\n{output}", text, status)
    return output


def compile_model(build, model, options, output, optimize=0):
    """Compiles `model` with a list of options of ppc-compile; returns the path of the program.

    What most tests compare are layouts, which LLVM does not know: they are compiled in a third of the time with `optimize` 0. None: as
    ppc-compile has it by default."""
    words = [str(option) for option in options]
    is_given = optimize is None or any(word.startswith(("--emit=", "--cuda-arch", "--optimize")) or word in ("cuda", "--target=cuda") for word in words)
    run([os.path.join(build, "bin/ppc-compile"), model, *words, *([] if is_given else ["--optimize", optimize]), "-o", output])
    return output


def with_fields(config, fields):
    """A configuration with other fields of its text part, which files of several parts have in an object of its own."""
    if "text_config" in config:
        return {**config, "text_config": {**config["text_config"], **fields}}
    return {**config, **fields}


def train(program, data, steps, flags=(), **options):
    """Trains; `flags` are given as they are, an option `save_parameters` becomes --save-parameters. Returns the lines of --log as dictionaries."""
    log = program + ".jsonl"
    if os.path.exists(log):
        os.remove(log)
    command = [program, "--data", data, "--steps", steps, "--log", log, *flags]
    for name, value in options.items():
        command += ["--" + name.replace("_", "-"), value]
    run(command)
    if not os.path.exists(log):
        return []
    with open(log) as file:
        return [json.loads(line) for line in file]


def english(size, seed=1):
    """`size` bytes of ASCII text with some structure, the same everywhere."""
    words = "the of and to in a is that it was for on are as with his they at be this from have or by one had not but what all were when we there can an your which their said if do will each about how up out them then she many some so these would other into has more her two like him see time could no make than first been its who now people my made over did down only way find use may water long little very after words called just where most know".split()
    state, parts, length = seed, [], 0
    while length < size:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        word = words[(state >> 33) % len(words)]
        parts.append(word + (". " if (state >> 60) == 0 else " "))
        length += len(parts[-1])
    return "".join(parts)[:size].encode()


def philox(counter, key):
    """Philox4x32-10: four random words for a counter of four words and a key of two."""
    x, (k0, k1), mask = counter, key, 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(b >> 32) ^ x[1] ^ k0, b & mask, (a >> 32) ^ x[3] ^ k1, a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return x


def samples(text, seed, count, sequence):
    """The first `count` samples that a program draws from a text, each `sequence` + 1 tokens (runtime/data/SampleOrder.h).

    Sample i begins at the 64-bit random number i of the stream (seed, "text"), modulo the number of possible starts."""
    mask = 2 ** 64 - 1
    key = 0xCBF29CE484222325
    for byte in b"text":
        key = (key ^ byte) * 0x100000001B3 & mask
    key = (key + seed * 0x9E3779B97F4A7C15) & mask
    key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 & mask
    key = (key ^ key >> 27) * 0x94D049BB133111EB & mask
    key ^= key >> 31
    found = []
    for sample in range(count):
        words = philox([sample // 2, 0, 0, 0], (key & 0xFFFFFFFF, key >> 32))
        position = words[sample % 2 * 2] | words[sample % 2 * 2 + 1] << 32
        start = position % (len(text) - sequence)
        found.append(list(text[start:start + sequence + 1]))
    return found
