#!/usr/bin/env python3
"""Ranks that mpirun starts compute what forked ranks compute, bit for bit.

A small LLaMA over data, tensor, sequence and pipeline parallelism, with a sharded optimizer and bf16 matmuls, so that
ranks exchange both f32 and bf16, is trained with forked
ranks, under mpirun on this machine, under mpirun over TCP, and, where network namespaces can be made, on two hosts of
their own: namespaces with a link between them and other host names, so that only TCP connects their ranks. Losses and
parameters must be equal to the last bit; so must those of the program with overlapped communication (--overlap=on), which is
run with forked ranks, under mpirun and over TCP.
Says what it skips when mpirun is not installed, or when this user may not make namespaces.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import processes
import programs

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "Inputs/even.json")
SHAPE = ["--global-batch", "8", "--seq-len", "16", "--micro-batch", "1"]
LAYOUT = ["--dp", "2", "--tp", "2", "--pp", "2", "--sp", "--zero", "1", "--precision", "bf16"]
RANKS, STEPS = 8, 10
NETWORK = "10.213.87"


def outputs(base):
    return ["--save-losses", base + ".losses", "--save-parameters", base + ".parameters"]


def differences(found, expected):
    problems = []
    for kind in (".losses", ".parameters"):
        with open(found + kind, "rb") as one, open(expected + kind, "rb") as other:
            if one.read() != other.read():
                problems.append(f"{found + kind} differs from {expected + kind}")
    return problems


class Hosts:
    """Two network namespaces with a link between them; `agent` starts a command on a host, as ssh would."""

    def __init__(self, scratch):
        self.names = [f"ppc{os.getpid()}{letter}" for letter in "ab"]
        self.agent = os.path.join(scratch, "agent")
        self.ip = shutil.which("ip", path=os.environ["PATH"] + ":/usr/sbin:/sbin") or "ip"
        cases = "\n".join(f"  {NETWORK}.{i + 1}) name={name} ;;" for i, name in enumerate(self.names))
        with open(self.agent, "w") as file:
            file.write(f"#!/bin/sh\nhost=$1; shift\ncase $host in\n{cases}\nesac\n"
                       f"exec {self.ip} netns exec $name unshare --uts sh -c 'hostname \"$1\"; eval \"$2\"' sh $name \"$*\"\n")
        os.chmod(self.agent, 0o755)

    def __enter__(self):
        """Raises CalledProcessError if that is not allowed."""
        try:
            self.connect()
        except subprocess.CalledProcessError:
            self.__exit__()
            raise
        return self

    def connect(self):
        for name in self.names:
            self.run("netns", "add", name)
        ends = [name + "v" for name in self.names]
        self.run("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for i, (name, end) in enumerate(zip(self.names, ends)):
            self.run("link", "set", end, "netns", name)
            self.run("-n", name, "addr", "add", f"{NETWORK}.{i + 1}/24", "dev", end)
            self.run("-n", name, "link", "set", end, "up")
            self.run("-n", name, "link", "set", "lo", "up")

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run([self.ip, "netns", "del", name], stderr=subprocess.DEVNULL)

    def run(self, *arguments):
        subprocess.run([self.ip, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def mpirun(self):
        # mpirun itself runs on the first host.
        hosts = ",".join(f"{NETWORK}.{i + 1}:{RANKS // 2}" for i in range(2))
        options = ["--mca", "plm_rsh_agent", self.agent, "--host", hosts]
        for layer in ("oob_tcp_if_include", "btl_tcp_if_include"):
            options += ["--mca", layer, NETWORK + ".0/24"]
        return [self.agent, NETWORK + ".1", "mpirun", *options]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    arguments = parser.parse_args()
    if not shutil.which("mpirun"):
        print("skipped: mpirun is not installed (Debian: openmpi-bin)")
        return 0
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        path = lambda name: os.path.join(scratch, name)
        with open(path("text"), "wb") as file:
            file.write(programs.english(20000))
        train, beside = [[programs.compile_model(arguments.build, MODEL, [*SHAPE, *LAYOUT, "--overlap=" + state], path("train." + state)),
                          "--data", path("text"), "--steps", str(STEPS), "--quiet"] for state in ("off", "on")]
        programs.run([*train, *outputs(path("forked"))])

        def compare(name, command, train=train):
            try:
                programs.run([*command, *train, *outputs(path(name))])
                found = differences(path(name), path("forked"))
            except programs.Failed as failure:
                found = [str(failure)]
            print(f"{'FAILED' if found else 'ok':6} {name}: {STEPS} steps on {RANKS} ranks")
            problems.extend(found)

        compare("forked-overlap", [], beside)
        os.environ.update(processes.MPI_ENVIRONMENT)
        tcp = ["mpirun", "--mca", "btl", "tcp,self", "-n", str(RANKS)]
        compare("mpirun", ["mpirun", "-n", str(RANKS)])
        compare("tcp", tcp)
        compare("mpirun-overlap", ["mpirun", "-n", str(RANKS)], beside)
        compare("tcp-overlap", tcp, beside)
        hosts = Hosts(scratch)
        try:
            with hosts:
                compare("hosts", [*hosts.mpirun(), "-n", str(RANKS)])
        except (OSError, subprocess.CalledProcessError) as failure:
            print(f"skipped: network namespaces cannot be made here ({failure})")
    for problem in problems:
        print("    " + problem.replace("\n", "\n    "))
    return 1 if problems else 0


sys.exit(main())
