#!/usr/bin/env python3
"""Starts two runs at a time for one folder of checkpoints, again and again: one continues, the other is refused, and no checkpoint is
lost.

    race-runs.py --pairs 50 [--seed N] [--every N] -- ./train --data text.txt [options]

Both runs of a pair start with --resume within a few hundredths of a second. Checked: exactly one of them ends, with status 1 and
the name of the other; the one that stays has started from the newest checkpoint, and writes newer ones. Then it is ended at a
random time: all of it or one of its ranks by SIGKILL, or politely. Checked after that: the newest checkpoint is at least as new as
before, and only the lock of the run is left that the next pair must recognise as stale.
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "test", "Integration"))
import processes  # noqa: E402


def steps(folder):
    """The complete checkpoints, ascending."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(int(match[1]) for name in names if (match := re.fullmatch(r"step-(\d+)", name)))


def until(done):
    return processes.eventually(done)


class Run:
    def __init__(self, command, folder, every):
        self.output, self.errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*command, "--steps", "1000000", "--print-every", "1000000", "--checkpoint-dir", folder, "--checkpoint-every", str(every), "--resume"],
                                        stdout=self.output, stderr=self.errors, start_new_session=True)

    @staticmethod
    def text(file):
        file.seek(0)
        return file.read()

    def ended(self):
        return self.process.poll() is not None

    def stop(self, draw):
        """Ends it in one of three ways; returns which."""
        ranks = list(processes.ranks(self.process.pid).values())
        way = draw.choice(["all", "rank", "politely"])
        if way == "all":
            os.killpg(self.process.pid, signal.SIGKILL)
        elif way == "rank" and ranks:
            os.kill(draw.choice(ranks), signal.SIGKILL)
        else:
            self.process.terminate()
        self.process.wait(processes.PATIENCE_S)
        until(lambda: not any(processes.alive(rank) for rank in ranks))
        return way


def race(command, folder, every, draw, pauses):
    """Problems of one pair."""
    before = steps(folder)
    first = Run(command, folder, every)
    time.sleep(draw.random() * pauses)
    second = Run(command, folder, every)
    runs = [first, second]
    problems = []
    if not until(lambda: any(run.ended() for run in runs)):
        problems.append("both go on")
    going = [run for run in runs if not run.ended()]
    for run in runs:
        text = run.text(run.errors)
        if run.ended() and (run.process.returncode != 1 or "is used by another run (process " not in text):
            problems.append(f"one ended with status {run.process.returncode}: {text}")
    if not going:
        return problems + ["none goes on"], "none"
    winner = going[0]
    if not until(lambda: winner.ended() or max(steps(folder), default=0) > max(before, default=0)):
        problems.append("no newer checkpoint")
    if winner.ended():
        problems.append(f"the one that stayed ended: {winner.text(winner.errors)}")
    said = re.search(r"resumed after step (\d+)", winner.text(winner.output))
    if (int(said[1]) if said else 0) != max(before, default=0):
        problems.append(f"it began from {said and said[0]}, the newest is of step {max(before, default=0)}")
    time.sleep(draw.random() * 0.1)
    way = winner.stop(draw)
    for run in going[1:]:
        run.stop(draw)
    if max(steps(folder), default=0) < max(before, default=0) or not steps(folder):
        problems.append(f"checkpoints were {before}, now {steps(folder)}")
    if "a checkpoint is refused" in winner.text(winner.errors):
        problems.append(winner.text(winner.errors))
    return problems, way


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="steps between two checkpoints")
    parser.add_argument("--pause", type=float, default=0.05, help="longest time between the two starts, in seconds")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    draw, failed, ways = random.Random(arguments.seed), 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "run")
        for pair in range(arguments.pairs):
            problems, way = race(command, folder, arguments.every, draw, arguments.pause)
            ways[way] = ways.get(way, 0) + 1
            failed += bool(problems)
            for problem in problems:
                print(f"FAILED pair {pair}: {problem}", flush=True)
        print(f"seed {arguments.seed}: {arguments.pairs} pairs, {failed} failed; the one that went on was ended: " +
              ", ".join(f"{count} {way}" for way, count in sorted(ways.items())) + f"; the last checkpoint is of step {max(steps(folder), default=0)}")
    sys.exit(1 if failed else 0)


main()
