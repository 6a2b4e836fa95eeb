#!/usr/bin/env python3
"""Kills ranks of a training run at random moments and goes on from its checkpoints, again and again: the losses must be
those of a run that nobody has killed.

    kill-runs.py --kills 200 [--seed N] [--steps N] [--every N] -- ./train --data text.txt [options]

Each round starts the program with --resume, waits a random time, and kills one of its ranks, or sometimes all of it, with
SIGKILL. A checkpoint is written every --every steps, so that many of the kills hit one that is being written; when the run
ends by itself before it is killed, the next round begins anew. Checked after every kill: the run ends within seconds, says
which rank was killed, leaves no process; and after every finished run: each loss is the same number, bit for bit.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "test", "Integration"))
import processes  # noqa: E402

SECONDS_TO_STOP = 30


def losses(path):
    with open(path) as file:
        return file.read().split("\n")[:-1]


class Runs:
    def __init__(self, command, scratch, steps, every):
        self.command, self.scratch, self.steps, self.every = command, scratch, steps, every
        self.folder, self.found = os.path.join(scratch, "checkpoints"), os.path.join(scratch, "losses")
        self.problems = []

    def unbroken(self):
        """Losses of a run that nobody kills, and its seconds."""
        path = os.path.join(self.scratch, "unbroken")
        started = time.time()
        subprocess.run([*self.command, "--steps", str(self.steps), "--quiet", "--save-losses", path], check=True)
        self.expected = losses(path)
        return time.time() - started

    def start(self):
        self.errors = open(os.path.join(self.scratch, "errors"), "w+")
        return subprocess.Popen([*self.command, "--steps", str(self.steps), "--checkpoint-dir", self.folder, "--checkpoint-every",
                                 str(self.every), "--resume", "--quiet", "--save-losses", self.found],
                                stdout=subprocess.DEVNULL, stderr=self.errors)

    def finished(self, process):
        """Checks a run that ended by itself; the next begins anew."""
        self.errors.seek(0)
        text = self.errors.read()
        if process.returncode != 0:
            self.problems.append(f"exit status {process.returncode}: {text}")
        elif losses(self.found) != self.expected:
            first = next((i for i, pair in enumerate(zip(losses(self.found), self.expected)) if pair[0] != pair[1]), "length")
            self.problems.append(f"the losses differ from those of the unbroken run at line {first}")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.path.exists(self.found) and os.remove(self.found)

    def round(self, delay, draw):
        """One start and one kill; returns what happened."""
        process = self.start()
        deadline = time.time() + delay
        while time.time() < deadline and process.poll() is None:
            time.sleep(0.001)
        if process.poll() is not None:
            self.finished(process)
            return "finished"
        ranks = processes.children(process.pid)
        writing = any(name.endswith(".partial") for name in os.listdir(self.folder)) if os.path.isdir(self.folder) else False
        whole = not ranks or draw.random() < 0.1
        victim = process.pid if whole else draw.choice(ranks)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            process.wait(SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            self.problems.append(f"still running {SECONDS_TO_STOP} s after rank {ranks.index(victim)} was killed")
            process.kill()
            process.wait()
        if process.returncode == 0:  # it was already done
            self.finished(process)
            return "finished"
        until = time.time() + SECONDS_TO_STOP
        while any(processes.alive(pid) for pid in ranks) and time.time() < until:
            time.sleep(0.005)
        self.problems += [f"process {pid} is still alive" for pid in ranks if processes.alive(pid)]
        self.errors.seek(0)
        text = self.errors.read()
        if not whole and f"rank {ranks.index(victim)}" not in text:
            self.problems.append(f"rank {ranks.index(victim)} was killed, but the run said: {text!r}")
        return "checkpoint" if writing else "training"

    def complete(self):
        """Goes on to the end without a kill."""
        process = self.start()
        process.wait()
        self.finished(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how many times to kill (default 200)")
    parser.add_argument("--seed", type=int, help="draws moments and victims (default: drawn)")
    parser.add_argument("--steps", type=int, default=60, help="steps of a run (default 60)")
    parser.add_argument("--every", type=int, default=2, help="steps between checkpoints (default 2)")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM [OPTIONS]", help="what to run")
    arguments = parser.parse_args()
    command = [part for part in arguments.program if part != "--"]
    if not command:
        parser.error("no program given")
    seed = arguments.seed if arguments.seed is not None else random.randrange(2 ** 31)
    draw = random.Random(seed)
    count = {"training": 0, "checkpoint": 0, "finished": 0}
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(command, scratch, arguments.steps, arguments.every)
        seconds = runs.unbroken()
        print(f"seed {seed}, {len(runs.expected)} steps, {seconds:.2f} s without a kill", flush=True)
        while count["training"] + count["checkpoint"] < arguments.kills and not runs.problems:
            count[runs.round(draw.uniform(0, 0.8 * seconds), draw)] += 1
        if not runs.problems:
            runs.complete()
            count["finished"] += 1
    for problem in runs.problems:
        print("    " + problem)
    print(f"{count['training'] + count['checkpoint']} kills, {count['checkpoint']} of them while a checkpoint was being written; "
          f"{count['finished']} runs came to their end, {'not all' if runs.problems else 'all'} with the losses of the unbroken run")
    sys.exit(1 if runs.problems else 0)


main()
