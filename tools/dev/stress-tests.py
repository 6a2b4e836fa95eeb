#!/usr/bin/env python3
"""Runs tests again and again on a busy machine, and lists failures: a test may not depend on its speed.

    stress-tests.py --build build/dev [--times 50] [--avx2] [--draw] [TEST...]

Every test runs --times times with the lowest priority, concurrently with two processes that compute and one that writes a file to
the same disk, over and over, and has it synced each time. A TEST is a file or folder of test/, or a filter of ppc-runtime-tests
("FailureTest*"); without one, the tests that start processes are taken. With --avx2 programs are compiled for processors without
AVX-512, and oneDNN and our own matmuls use AVX2. With --draw, tests with random cases (PPC_TEST_SEED) get other cases each time.
Prints each run, the output of each failure, and counts.
"""
import argparse
import contextlib
import glob
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
BUSY = "while True: pass"
SLOW_DISK = """
import os, sys
block = os.urandom(1 << 20)
while True:
    with open(sys.argv[1], "wb") as file:
        for _ in range(64):
            file.write(block)
            os.fsync(file.fileno())
"""
STARTS_PROCESSES = ["test/Integration/*.test", "test/CudaStandIn/planted-faults.test", "test/Fuzz/command-lines.test", "test/Tools/interrupt.test",
                    "test/Tools/options.test", "test/Tools/outputs.test"]
SUITES = ["AsynchronousTest", "CheckpointTest", "CollectiveTest", "EmulationRunTest", "EmulatedLinksTest", "FailureTest", "FolderLockTest", "LaunchTest",
          "MpiLaunchTest", "PointToPointTest", "RunFilesTest", "StoppedRankTest", "StoreLaunchTest", "ThreadRanksTest", "TorchrunTest"]
# Programs for this machine are compiled for one with AVX2, unless the command says for which.
COMPILER = """#!/bin/sh
for word; do
  case $word in --host-cpu* | --target=cuda | --help) exec {compiler} "$@" ;; esac
done
exec {compiler} "$@" --host-cpu=x86-64-v3
"""


class Load:
    """Processes that compute and write while this is entered."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []

    def __enter__(self):
        for script in (BUSY, BUSY, SLOW_DISK):
            self.processes.append(subprocess.Popen([sys.executable, "-c", script, os.path.join(self.folder, "written")]))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def for_avx2(build, folder):
    """A build folder whose ppc-compile compiles for processors with AVX2."""
    os.makedirs(os.path.join(folder, "bin"))
    for name in os.listdir(build):
        if name not in ("bin", "test"):
            os.symlink(os.path.join(build, name), os.path.join(folder, name))
    for name in os.listdir(os.path.join(build, "bin")):
        if name not in ("ppc-compile", "ppc-lit"):
            os.symlink(os.path.join(build, "bin", name), os.path.join(folder, "bin", name))
    compiler = os.path.join(folder, "bin/ppc-compile")
    with open(compiler, "w", encoding="utf-8") as file:
        file.write(COMPILER.format(compiler=os.path.join(build, "bin/ppc-compile")))
    os.chmod(compiler, 0o755)
    return folder


def lit_of(build, view, folder):
    """The command of lit on the programs of `view`, with its own folder for outputs."""
    site = os.path.join(build, "test/lit.site.cfg.py")
    with open(site, encoding="utf-8") as file:
        text = file.read().replace(f'r"{build}"', f'r"{view}"')
    os.makedirs(os.path.join(folder, "lit"))
    own = os.path.join(folder, "lit/lit.site.cfg.py")
    with open(own, "w", encoding="utf-8") as file:
        file.write(text + f'config.test_exec_root = r"{folder}/lit"\nconfig.environment["HOME"] = config.test_exec_root\n')
    with open(os.path.join(build, "bin/ppc-lit"), encoding="utf-8") as file:
        runner = file.read().replace(site, own)
    path = os.path.join(folder, "lit/run.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(runner)
    return [sys.executable, path, "-v", "-j1"]


def commands(arguments, build, view, folder):
    """(name, command) of each test that is named, or of those that start processes."""
    named = arguments.tests
    files = [name for name in named if os.path.exists(name)]
    filters = [name for name in named if name not in files]
    if not named:
        files = sorted(path for pattern in STARTS_PROCESSES for path in glob.glob(os.path.join(ROOT, pattern)))
        filters = [f"*{suite}.*" for suite in SUITES]
    lit = lit_of(build, view, folder)
    found = [(os.path.relpath(path, ROOT), [*lit, os.path.realpath(path)]) for path in files]
    return found + [(name, [os.path.join(view, "bin/ppc-runtime-tests"), f"--gtest_filter={name}"]) for name in filters]


def run(command, environment):
    """The exit status, what it printed, and the seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.STDOUT, env=environment, start_new_session=True,
                                   preexec_fn=lambda: os.nice(19))
        try:
            status = process.wait()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
        printed.seek(0)
        text = printed.read()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, text, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--times", type=int, default=50, help="runs of each test (default 50)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no more runs after this time")
    parser.add_argument("--avx2", action="store_true", help="without AVX-512")
    parser.add_argument("--draw", action="store_true", help="random cases, other ones each time")
    parser.add_argument("--no-load", action="store_true", help="start no load besides the tests")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    arguments = parser.parse_args()
    if arguments.times < 1:
        parser.error("--times: expected at least 1")
    build = os.path.realpath(arguments.build)
    if not os.path.exists(os.path.join(build, "bin/ppc-lit")):
        parser.error(f"--build {arguments.build}: there is no bin/ppc-lit in it")
    environment, begun, total, failures, used = dict(os.environ), time.monotonic(), {}, {}, {}
    with tempfile.TemporaryDirectory(prefix="stress-", dir=build) as folder:
        view = for_avx2(build, os.path.join(folder, "avx2")) if arguments.avx2 else build
        if arguments.avx2:
            environment["ONEDNN_MAX_CPU_ISA"] = "AVX2"
        tests = commands(arguments, build, view, folder)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # runs so far are counted
        with contextlib.suppress(KeyboardInterrupt), contextlib.nullcontext() if arguments.no_load else Load(folder):
            for turn in range(arguments.times):
                for name, command in tests:
                    if time.monotonic() - begun > arguments.seconds:
                        continue
                    if arguments.draw:
                        environment["PPC_TEST_SEED"] = str(random.SystemRandom().randrange(1 << 31))
                    status, text, seconds = run(command, environment)
                    total[name], used[name] = total.get(name, 0) + 1, used.get(name, 0) + seconds
                    print(f"run {turn + 1}: status {status}, {seconds:.1f} s of the processor: {name}", flush=True)
                    if status:
                        failures[name] = failures.get(name, 0) + 1
                        print(f"FAILED {name}, run {turn + 1}:\n    " + text.replace("\n", "\n    "), flush=True)
    for name, _ in tests:
        if count := total.get(name):
            print(f"{failures.get(name, 0)} of {count} runs failed, {used[name] / count:.1f} s of the processor each: {name}")
    print(f"{sum(total.values())} runs of {len(total)} of {len(tests)} tests, {sum(failures.values())} failed, {time.monotonic() - begun:.0f} s")
    sys.exit(1 if failures or not total else 0)


if __name__ == "__main__":
    main()
