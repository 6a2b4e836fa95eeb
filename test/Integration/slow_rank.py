#!/usr/bin/env python3
"""A straggler is named in a warning with its current action, and no other rank is.

    slow_rank.py --build BUILD [--repeats N] [--seed N] [--undisturbed]

A small model runs on four ranks, forked and under mpirun. A random rank is stopped at a random moment (SIGSTOP), or
slowed down (stopped and continued, again and again, so that it runs for a twentieth of the time); it must be named, with a routine and
a step, and reported to continue after it does; no other may be named. How long that takes is judged by RankWatchTest, whose clock the test
moves. With --undisturbed, undisturbed runs, next to as many busy processes as the machine has cores, must say nothing for some seconds,
which depends on what else the machine does. Says what it skips where mpirun is not installed.
"""
import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import processes
import programs

HERE = os.path.dirname(os.path.realpath(__file__))
EVEN = os.path.join(HERE, "Inputs", "even.json")
SHAPE = ["--seq-len", "64", "--global-batch", "8", "--micro-batch", "2"]
LAYOUTS = {"dp2-tp2": ["--dp", "2", "--tp", "2"], "tp2-pp2": ["--tp", "2", "--pp", "2"]}
RANKS = 4
# Over MPI only the last report of a stopped rank is known, which may be one from before its first step.
WARNING = re.compile(r"warning: rank (\d+) \(.*\) has not got on for \d+\.\d s (?:[a-z].*, step \d+|before the first step)")


class Run:
    """Trains without end; every rank has reported since its first step."""

    def __init__(self, program, transport, after="2"):
        self.log = f"{program}.{transport}.jsonl"
        if os.path.exists(self.log):
            os.remove(self.log)
        start = ["mpirun", "-n", str(RANKS)] if transport == "mpi" else []
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*start, program, "--synthetic", "--steps", "100000000", "--print-every", "1000000", "--log", self.log,
                                         "--slow-rank-after", after], stdout=subprocess.DEVNULL, stderr=self.errors, start_new_session=True)
        if not self.wait_until(lambda: os.path.exists(self.log) and os.path.getsize(self.log) and len(processes.ranks(self.process.pid)) == RANKS):
            self.end()
            raise programs.Failed("the run did not start:\n" + self.said())
        self.ranks = processes.ranks(self.process.pid)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def wait_until(self, condition):
        return processes.eventually(condition, self.process)

    def named(self):
        return [int(found.group(1)) for found in WARNING.finditer(self.said())]

    def end(self):
        for pid in processes.ranks(self.process.pid).values():
            os.kill(pid, signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(processes.PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def problems_of(run, rank, wants_note):
    problems = []
    if set(run.named()) != {rank}:
        problems.append(f"rank {rank} was delayed, named were {run.named()}")
    if len(re.findall("^warning:", run.said(), re.M)) != len(run.named()):
        problems.append("there is another warning")
    if wants_note and not run.wait_until(lambda: f"note: rank {rank} " in run.said()):
        problems.append("no rank reports that it continues")
    return problems + ([f"it said:\n{run.said()}"] if problems else [])


def stopped(run, rank):
    os.kill(run.ranks[rank], signal.SIGSTOP)
    run.wait_until(run.named)
    os.kill(run.ranks[rank], signal.SIGCONT)
    return problems_of(run, rank, True)


def slowed(run, rank):
    seconds = 3  # length of a stop; on a busy machine, only a long stop is noticed
    while not run.named() and seconds < processes.PATIENCE_S:
        os.kill(run.ranks[rank], signal.SIGSTOP)
        time.sleep(0.95 * seconds)
        os.kill(run.ranks[rank], signal.SIGCONT)
        time.sleep(0.05 * seconds)
        seconds *= 1.5
    return problems_of(run, rank, False)


def undisturbed(run, _):
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count())]
    time.sleep(6)
    for process in busy:
        process.kill()
        process.wait()
    said = run.said()
    return [f"it said:\n{said}"] if said else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each kind and transport (default 1)")
    parser.add_argument("--seed", type=int, default=None, help="random seed; printed")
    parser.add_argument("--undisturbed", action="store_true", help="undisturbed runs, too")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(2**31)
    print(f"seed: {seed}")
    draw = random.Random(seed)
    transports = ["local", "mpi"] if shutil.which("mpirun") else ["local"]
    if len(transports) == 1:
        print("mpi is skipped: mpirun is not installed (Debian: openmpi-bin)")
    os.environ.update(processes.MPI_ENVIRONMENT)
    failed = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        built = {name: programs.compile_model(arguments.build, EVEN, SHAPE + layout, os.path.join(scratch, name)) for name, layout in LAYOUTS.items()}
        for turn in range(arguments.repeats):
            for transport in transports:
                for case in (stopped, slowed, undisturbed)[:3 if arguments.undisturbed else 2]:
                    layout, rank = draw.choice(list(built)), draw.randrange(RANKS)
                    run = Run(built[layout], transport)
                    time.sleep(draw.random())
                    problems = case(run, rank)
                    run.end()
                    count += 1
                    failed += bool(problems)
                    print(f"{'FAILED' if problems else 'ok':6} {transport} {layout} {case.__name__} rank {rank}, turn {turn + 1}", flush=True)
                    for problem in problems:
                        print("    " + problem.replace("\n", "\n    "))
    print(f"{count - failed} of {count} runs named the straggler, and no other rank")
    sys.exit(1 if failed else 0)


main()
