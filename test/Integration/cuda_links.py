#!/usr/bin/env python3
"""Starts programs for GPUs without MPI, on fake GPUs, and kills and stops ranks.

    cuda_links.py --build BUILD [NAME...]

Ranks with a GPU each are started as torchrun, srun and mpirun would start them, by environment variables alone, and as on two machines: in
two network namespaces, or, where those are not allowed, on loopback alone. All must have the losses of ranks that the program forks itself. Then one rank is killed or
stopped in the middle, with graphs and without: all others must end within seconds with one error that names it, and in a collective the call. A
name of a case, or a part of one, selects.
"""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile

import cuda
import processes
import programs

HERE = os.path.dirname(os.path.realpath(__file__))
MODEL = os.path.join(HERE, "Inputs/even.json")
SHAPE = ["--seq-len", "16", "--global-batch", "4", "--micro-batch", "1", "--dp", "2", "--target", "cuda", "--cuda-arch", "sm_80"]
# Ends of processes are noticed at once; where one is stopped, those that live must be heard of in that time.
HANG_TIMEOUTS = {signal.SIGKILL: "600", signal.SIGSTOP: "10"}
FOREVER = ["--steps", "1000000", "--print-every", "1000000"]


def torchrun(rank, port, host="127.0.0.1"):
    return {"MASTER_ADDR": host, "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"}


def srun(rank, port):
    return {"SLURM_JOB_ID": str(port), "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2", "SLURM_NTASKS": "2",
            "SLURM_LOCALID": str(rank), "SLURM_STEP_NODELIST": "localhost"}


def mpirun(rank, port):
    return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}


def pmi(rank, port):
    return {"PMI_RANK": str(rank), "PMI_SIZE": "2"}


class Case:
    """The program, the text that it trains on, and the losses that it must have."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.text = os.path.join(folder, "text")
        with open(self.text, "wb") as file:
            file.write(programs.english(20000))
        self.program = programs.compile_model(build, MODEL, SHAPE, os.path.join(folder, "train"))
        self.expected = cuda.losses(self.program, self.text, 3, env=cuda.standing_in(build, 0, 2))

    def command(self, *options):
        return [self.program, "--data", self.text, "--lr", "3e-3", "--seed", "1", *options]

    def start(self, environment, *options, before=()):
        return subprocess.Popen([*before, *self.command(*options)], env={**cuda.standing_in(self.build, 0, 2), **environment},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def start_two(self, launcher, *options):
        port = processes.free_port()
        return [self.start(launcher(rank, port), "--transport", "tcp", *options) for rank in range(2)]

    def same_losses(self, runs, path):
        """Waits for the ranks; what is wrong."""
        try:
            said = [run.communicate(timeout=programs.PATIENCE_S) for run in runs]
        except subprocess.TimeoutExpired:
            return f"not ended after {programs.PATIENCE_S} s:\n" + "\n".join(processes.describe(run.pid) for run in runs)
        finally:
            for run in runs:
                if run.poll() is None:
                    run.kill()
        if any(run.returncode for run in runs):
            return f"exit statuses {[run.returncode for run in runs]}: {said}"
        with open(path) as file:
            found = [float(line) for line in file]
        return "" if found == self.expected else f"losses {found} in place of {self.expected}"


def environments(case):
    for launcher in (torchrun, srun, mpirun, pmi):
        losses = os.path.join(case.folder, launcher.__name__)
        options = ["--steps", "3", "--quiet", "--save-losses", losses]
        if launcher is pmi:
            options += ["--store", f"127.0.0.1:{processes.free_port()}"]
        if problem := case.same_losses(case.start_two(launcher, *options), losses):
            return f"{launcher.__name__}: {problem}"
    return ""


@contextlib.contextmanager
def two_machines():
    """Commands before those of either machine, and the address of the first."""
    names = [f"ppc-{os.getpid()}-{side}" for side in "ab"]
    ips = [["netns", "add", names[0]], ["netns", "add", names[1]],
           ["link", "add", "ppc-a", "netns", names[0], "type", "veth", "peer", "name", "ppc-b", "netns", names[1]]]
    for side, name in zip("ab", names):
        ips += [["-n", name, "addr", "add", f"10.77.0.{1 + (side == 'b')}/24", "dev", f"ppc-{side}"],
                ["-n", name, "link", "set", f"ppc-{side}", "up"], ["-n", name, "link", "set", "lo", "up"]]
    try:
        allowed = all(subprocess.run(["ip", *words], capture_output=True).returncode == 0 for words in ips)
    except OSError:
        allowed = False
    try:
        yield ([["ip", "netns", "exec", name] for name in names], "10.77.0.1") if allowed else ([[], []], "127.0.0.2")
    finally:
        for name in names if allowed else []:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def namespaces(case):
    losses = os.path.join(case.folder, "namespaces")
    with two_machines() as (before, host):
        port = processes.free_port()
        runs = [case.start({**torchrun(rank, port, host), "LOCAL_WORLD_SIZE": "1"}, "--steps", "3", "--quiet", "--save-losses", losses,
                           before=before[rank]) for rank in range(2)]
        return case.same_losses(runs, losses)


def too_few_devices(case):
    runs = case.start_two(lambda rank, port: {**torchrun(rank, port), "PPC_STANDIN_DEVICES": "1"}, "--steps", "2")
    said = "".join(run.communicate(timeout=programs.PATIENCE_S)[1] for run in runs)
    return "" if len(re.findall("^error: ", said, re.M)) == 1 and "2 ranks are to run on this machine, which has 1 GPU" in said else said


def disturbed(runs, victims, what, expected):
    """Sends a signal to one of the processes and waits for the end of the others; what is wrong."""
    victim = victims()
    os.kill(victim, what)
    others = [run for run in runs if run.pid != victim]
    try:
        said = "".join(run.communicate(timeout=programs.PATIENCE_S)[1] for run in others)
    except subprocess.TimeoutExpired:
        return f"the others go on {programs.PATIENCE_S} s later"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        for run in runs:
            if run.poll() is None:
                run.kill()
    errors = re.findall("^error: .*", said, re.M)
    if len(errors) != 1 or not re.search(expected, said) or not all(run.returncode for run in others):
        return said
    return ""


def wait_for_steps(run):
    for line in run.stdout:
        if line.startswith("step 1 "):
            return
    raise programs.Failed("it did not begin: " + run.stderr.read())


def store(what, expected, *options):
    def check(case):
        runs = case.start_two(torchrun, *FOREVER, "--hang-timeout", HANG_TIMEOUTS[what], *options)
        wait_for_steps(runs[0])
        return disturbed(runs, lambda: runs[1].pid, what, expected)
    return check


def forked(what, expected, *options):
    def check(case):
        run = case.start({}, *FOREVER, "--hang-timeout", HANG_TIMEOUTS[what], *options)
        wait_for_steps(run)
        return disturbed([run], lambda: processes.children(run.pid)[1], what, expected)
    return check


CALL = r"error: rank 0 \(.*\) in step \d+: NCCL's \w+ of .*, group 0 \(ranks 0, 1\), issued in \".*\" has not ended for \d+ s.*; stopped: rank 1"
CASES = {
    "environments": environments,
    "namespaces": namespaces,
    "too-few-devices": too_few_devices,
    "store-killed": store(signal.SIGKILL, "error: (rank 1 on .* has ended|.*NCCL status 6 .a remote process has ended.)"),
    "store-stopped": store(signal.SIGSTOP, "error: (rank 1 on .* has not been heard of|rank 0 .*NCCL's .* has not ended for)"),
    "forked-killed": forked(signal.SIGKILL, r"error: rank 1 .*was killed by signal 9|NCCL status 6"),
    "forked-stopped": forked(signal.SIGSTOP, CALL),
    "forked-stopped-plain": forked(signal.SIGSTOP, CALL, "--launches", "plain"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile and lib/cuda-stand-in")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    chosen = {name: check for name, check in CASES.items() if not arguments.names or any(part in name for part in arguments.names)}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        case = Case(os.path.realpath(arguments.build), folder)
        for name, check in chosen.items():
            problem = check(case)
            failed += bool(problem)
            if problem:
                print(f"{name}: {problem}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} ways to start and to end ranks with GPUs hold, on a stand-in")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
