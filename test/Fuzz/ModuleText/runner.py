"""Runs ppc-opt on mutated modules, many in one process, and says which of them ended it by a signal or took too long."""
import os
import re
import resource
import subprocess

SECONDS = 20        # CPU time for a module alone; the original takes less than one
MEMORY = 3 << 30    # bytes of address space
WALL = 600          # seconds that a process may stand still: other work on a machine does not count
OPTIONS = ["--mlir-disable-threading", "--split-input-file", "-o", os.devnull]


def limits(seconds):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    os.nice(5)


class Bench:
    def __init__(self, build, folder):
        self.tool, self.file = os.path.join(os.path.realpath(build), "bin/ppc-opt"), os.path.join(folder, f"mutants-{os.getpid()}.mlir")
        self.reached = 0  # modules that a process has gone through

    def run(self, texts, arguments, seconds, symbols=False):
        """The status and the errors of one process for these modules."""
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("\n// -----\n".join(texts))
        environment = dict(os.environ, **({} if symbols else {"LLVM_DISABLE_SYMBOLIZATION": "1"}))
        try:
            done = subprocess.run([self.tool, self.file, *arguments, *OPTIONS], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env=environment, timeout=WALL, check=False, preexec_fn=lambda: limits(seconds))
        except subprocess.TimeoutExpired:
            return -24, "stands still"
        return done.returncode, done.stderr.decode(errors="replace")

    def failure(self, text, arguments):
        """The fault of this module alone, as words that stay the same while it is made smaller; None: there is none."""
        status, said = self.run([text], arguments, SECONDS, symbols=True)
        if status >= 0 and status < 128:
            return None
        if status == -24:
            return "takes too long"
        frames = re.findall(r"(?m)^ *#\d+ 0x[0-9a-f]+ (.*)$", said)
        ours = [re.split(r"[(<]| /", frame.replace("(anonymous namespace)::", ""))[0] for frame in frames if "/lib/" in frame and ".cpp" in frame and "/usr/" not in frame or "dialects/" in frame]
        word = re.search(r"LLVM ERROR: [^\n]*|[^\n]*Assertion [^\n]*|terminate called[^\n]*", said)
        return f"signal {-status}: {(re.sub(r'[0-9]+', 'N', word[0])[:120] + ' ') if word else ''}{' < '.join(ours[:3])}"

    def failures(self, texts, arguments, seconds=SECONDS):
        """(index, what is wrong) of those that fail. One that ends the process is found by halves."""
        if not texts:
            return []
        status, _ = self.run(texts, arguments, seconds)
        if 0 <= status < 128:
            self.reached += len(texts)
            return []
        if len(texts) == 1:
            self.reached += 1
            problem = self.failure(texts[0], arguments)
            return [(0, problem)] if problem else []
        half = len(texts) // 2
        return self.failures(texts[:half], arguments, seconds) + [(half + index, problem) for index, problem in self.failures(texts[half:], arguments, seconds)]
