#!/usr/bin/env python3
"""Kills ranks of a training run at random times and resumes from its checkpoints, again and again: the losses must equal those of an
undisturbed run.

    kill-runs.py --kills 200 [--seed N] [--steps N] [--every N] -- ./train --data text.txt [options]
    kill-runs.py --kills 50 --damage 0.2 --full-disk 0.2 -- mpirun -n 4 ./train --data text.txt

Each round starts the program with --resume, waits a random time, and kills one of its ranks, or sometimes all of it, with SIGKILL.
A checkpoint is written every --every steps, so that many of the kills hit one that is being written; when the run ends before it is
killed, the next round begins anew. --damage is the share of rounds before which the newest checkpoint is truncated, changed in one
byte, or loses a file; --full-disk the share of rounds in which checkpoints find the disk full: files may not grow beyond a random
size, or, with --disk FOLDER (a small file system, made for this), the disk is filled up to a random rest. Checked after every kill:
the run ends, says which rank was killed, leaves no process, has not started from a damaged checkpoint, and each loss so far is the
number of the unbroken run, bit for bit.
"""
import argparse
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "test", "Integration"))
import processes  # noqa: E402



def losses(path):
    """Whole lines; none when there is no file."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().split("\n")[:-1]


class Checkpoints:
    """The folder that the runs write to, and what befalls it."""

    def __init__(self, folder, disk, draw):
        self.folder, self.disk, self.draw = folder, disk, draw
        self.filler = os.path.join(disk, "filler") if disk else None
        self.damaged = set()  # steps, since the last that was written

    def names(self):
        return sorted(os.listdir(self.folder)) if os.path.isdir(self.folder) else []

    def complete(self):
        return [name for name in self.names() if re.fullmatch(r"step-\d+", name)]

    def writing(self):
        return any(name.endswith(".partial") for name in self.names())

    def largest_file(self):
        files = [os.path.join(self.folder, name, file) for name in self.complete() for file in os.listdir(os.path.join(self.folder, name))]
        return max(map(os.path.getsize, files), default=0)

    def damage(self):
        """Damages the newest one when there is another, good one; returns what was done to it."""
        good = [name for name in self.complete() if int(name[5:]) not in self.damaged]
        if len(good) < 2:
            return None
        newest = os.path.join(self.folder, good[-1])
        path = os.path.join(newest, self.draw.choice(sorted(os.listdir(newest))))
        size = os.path.getsize(path)
        what = self.draw.choice(["cut", "changed", "removed"])
        if what == "cut":
            os.truncate(path, self.draw.randrange(size))
        elif what == "changed":
            with open(path, "r+b") as file:
                file.seek(self.draw.randrange(size))
                byte = file.read(1)[0]
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte ^ 1 << self.draw.randrange(8)]))
        else:
            os.remove(path)
        self.damaged.add(int(good[-1][5:]))
        return what

    def take_room(self):
        """Fills the disk; returns what limits the size of files instead where there is no disk of its own."""
        if not self.disk:
            return self.draw.randint(1 << 14, max(1 << 14, self.largest_file()))
        free = os.statvfs(self.disk).f_bavail * os.statvfs(self.disk).f_frsize
        with open(self.filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free - self.draw.randint(0, 2 * self.largest_file())))
        return None

    def give_room(self):
        if self.filler and os.path.exists(self.filler):
            os.remove(self.filler)

    def begin_anew(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.damaged.clear()


class Runs:
    def __init__(self, arguments, command, scratch, draw):
        self.arguments, self.command, self.scratch, self.draw = arguments, command, scratch, draw
        self.found = os.path.join(scratch, "losses")
        self.checkpoints = Checkpoints(os.path.join(arguments.disk or scratch, "checkpoints"), arguments.disk, draw)
        self.problems = []
        self.count = {"training": 0, "checkpoint": 0, "finished": 0, "damaged": 0, "full": 0}

    def unbroken(self):
        """Losses of an undisturbed run without checkpoints; returns the seconds of one that writes them."""
        path = os.path.join(self.scratch, "unbroken")
        subprocess.run([*self.command, "--steps", str(self.arguments.steps), "--quiet", "--save-losses", path], check=True)
        self.expected = losses(path)
        started = time.time()
        self.complete()
        return time.time() - started

    def start(self, file_limit=None):
        def limit():
            if file_limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

        self.output = open(os.path.join(self.scratch, "output"), "w+")
        return subprocess.Popen([*self.command, "--steps", str(self.arguments.steps), "--checkpoint-dir", self.checkpoints.folder,
                                 "--checkpoint-every", str(self.arguments.every), "--resume", "--print-every", "1000000",
                                 "--save-losses", self.found], stdout=self.output, stderr=subprocess.STDOUT, preexec_fn=limit)

    def printed(self):
        self.output.seek(0)
        return self.output.read()

    def check(self):
        """Conditions on a run, however it ended."""
        found = losses(self.found)
        first = next((i for i, pair in enumerate(zip(found, self.expected)) if pair[0] != pair[1]), None)
        if first is not None or len(found) > len(self.expected):
            self.problems.append(f"the losses differ from those of the unbroken run at step {(first or len(self.expected)) + 1}")
        resumed = re.search(r"^resumed after step (\d+)", self.printed(), re.MULTILINE)
        if resumed and int(resumed[1]) in self.checkpoints.damaged:
            self.problems.append(f"the run went on from the damaged checkpoint of step {resumed[1]}")
        if resumed:  # a later one of the same step replaces a damaged one
            self.checkpoints.damaged = {step for step in self.checkpoints.damaged if step > len(found)}

    def finished(self, process, full=False):
        """Checks a run that ended without a kill; the next begins anew. A run that found the disk full for its last checkpoint reports
        that."""
        self.count["finished"] += 1
        self.check()
        if process.returncode != 0 and not (full and "its last checkpoint" in self.printed()):
            self.problems.append(f"exit status {process.returncode}: {self.printed()}")
        elif len(losses(self.found)) != len(self.expected):
            self.problems.append(f"{len(losses(self.found))} losses, not {len(self.expected)}")
        self.checkpoints.begin_anew()
        os.path.exists(self.found) and os.remove(self.found)

    def round(self, delay):
        """One start and one kill."""
        limit = None
        if self.draw.random() < self.arguments.damage and self.checkpoints.damage():
            self.count["damaged"] += 1
        full = self.draw.random() < self.arguments.full_disk and bool(self.checkpoints.complete())
        if full:
            limit = self.checkpoints.take_room()
        process = self.start(limit)
        deadline = time.time() + delay
        while time.time() < deadline and process.poll() is None:
            time.sleep(0.001)
        if process.poll() is not None:
            self.checkpoints.give_room()
            return self.finished(process, full)
        ranks = processes.ranks(process.pid)
        writing = self.checkpoints.writing()
        whole = not ranks or self.draw.random() < 0.1
        victim = None if whole else self.draw.choice(sorted(ranks))
        for pid in [process.pid, *ranks.values()] if whole else [ranks[victim]]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            process.wait(processes.PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.problems.append(f"still running {processes.PATIENCE_S} s after rank {victim} was killed")
            process.kill()
            process.wait()
        self.checkpoints.give_room()
        if process.returncode == 0:  # it was already done
            return self.finished(process)
        processes.eventually(lambda: not any(processes.alive(pid) for pid in ranks.values()))
        self.problems += [f"process {pid} is still alive" for pid in ranks.values() if processes.alive(pid)]
        if not whole and f"rank {victim}" not in self.printed():
            self.problems.append(f"rank {victim} was killed, but the run said: {self.printed()!r}")
        self.check()
        self.count["checkpoint" if writing else "training"] += 1
        self.count["full"] += full

    def complete(self):
        """Goes on to the end without a kill."""
        process = self.start()
        process.wait()
        self.finished(process)

    def kills(self):
        return self.count["training"] + self.count["checkpoint"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how many times to kill (default 200)")
    parser.add_argument("--seed", type=int, help="seed of the random times and victims (default: random)")
    parser.add_argument("--steps", type=int, default=60, help="steps of a run (default 60)")
    parser.add_argument("--every", type=int, default=2, help="steps between checkpoints (default 2)")
    parser.add_argument("--damage", type=float, default=0, help="share of rounds that find the newest checkpoint damaged (default 0)")
    parser.add_argument("--full-disk", type=float, default=0, help="share of rounds in which the disk is full for checkpoints (default 0)")
    parser.add_argument("--disk", help="folder of a small file system, for the checkpoints")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROGRAM [OPTIONS]", help="what to run")
    arguments = parser.parse_args()
    command = [part for part in arguments.program if part != "--"]
    if not command:
        parser.error("no program given")
    if os.path.basename(command[0]) == "mpirun":
        os.environ.update(processes.MPI_ENVIRONMENT)
    seed = arguments.seed if arguments.seed is not None else random.randrange(2 ** 31)
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(arguments, command, scratch, draw)
        seconds = runs.unbroken()
        print(f"seed {seed}, {len(runs.expected)} steps, {seconds:.2f} s without a kill", flush=True)
        while runs.kills() < arguments.kills and not runs.problems:
            runs.round(draw.uniform(0, 0.8 * seconds))
        if not runs.problems:
            runs.complete()
        if arguments.disk:
            runs.checkpoints.begin_anew()
    for problem in runs.problems:
        print("    " + problem)
    count = runs.count
    print(f"{runs.kills()} kills, {count['checkpoint']} of them while a checkpoint was being written, {count['full']} on a full disk; "
          f"{count['damaged']} newest checkpoints damaged; "
          f"{count['finished']} runs came to their end, {'not all' if runs.problems else 'all'} with the losses of the unbroken run")
    sys.exit(1 if runs.problems else 0)


main()
