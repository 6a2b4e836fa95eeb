"""Shared by warp_kernels.py and warpgroup_kernels.py: kernels in C, compiled to PTX by Clang, executed by ppc-ptx.

Kernels that are right must give what is computed for them, for several orders of warps and blocks; those that are wrong,
whose names begin with a kind of fault, must be reported with that kind.
"""
import argparse
import os
import struct
import subprocess
import sys
import tempfile


def pack(values, kind):
    return struct.pack(f"<{len(values)}{kind}", *values)


def bfloat(value):
    """Bits of a value that bf16 holds exactly."""
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


class Runner:
    def __init__(self, program, folder, source, target):
        """`target`: what Clang is told of the chip."""
        self.program, self.folder = program, folder
        self.ptx = os.path.join(folder, "kernels.ptx")
        subprocess.run(["clang-22", "-x", "c", os.path.join(os.path.dirname(os.path.abspath(__file__)), source), "--target=nvptx64-nvidia-cuda", *target,
                        "-O2", "-nogpulib", "-w", "-ffreestanding", "-S", "-o", self.ptx], check=True)

    def run(self, kernel, grid, block, inputs, out_bytes, seed=1):
        """The bytes of the output, or what was reported. Inputs are bytes of a buffer, or an argument of ppc-ptx."""
        arguments = []
        for i, given in enumerate(inputs):
            if isinstance(given, bytes):
                path = os.path.join(self.folder, f"in{i}")
                with open(path, "wb") as file:
                    file.write(given)
                given = "in:" + path
            arguments.append(given)
        out = os.path.join(self.folder, "out")
        run = subprocess.run([self.program, self.ptx, kernel, "--grid", str(grid), "--block", str(block), "--seed", str(seed), "--limit", "3000000",
                              *arguments, f"out:{out_bytes}:{out}"], capture_output=True, text=True)
        if run.returncode:
            return run.stderr
        with open(out, "rb") as file:
            return file.read()

    def names(self):
        """Names of all kernels of the file."""
        listed = subprocess.run([self.program, self.ptx], capture_output=True, text=True, check=True).stdout
        return [line.split(" ")[0] for line in listed.split("\n") if line]


def main(description, source, target, right, wrong, kinds):
    """right(runner, seed): (name, got, expected) of each kernel that is right. wrong(runner, name, seed): what running a
    wrong kernel gave. kinds: what reports of those may say, by the word that their names begin with."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--runner", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    failed = done = reported = 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(arguments.runner, folder, source, target)
        for seed in range(1, arguments.seeds + 1):
            for name, got, expected in right(runner, seed):
                done += 1
                if got != expected:
                    failed += 1
                    print(f"{name}, seed {seed}: {got.strip() if isinstance(got, str) else 'other values'}")
        for name in runner.names():
            kind = name.split("_")[0]
            if kind not in kinds:
                continue
            for seed in range(1, arguments.seeds + 1):
                got = wrong(runner, name, seed)
                text = got if isinstance(got, str) else "nothing"
                reported += 1
                if not any(f": {wanted}: " in text for wanted in kinds[kind]):
                    failed += 1
                    print(f"{name}, seed {seed}: reported {text.strip()}")
    print(f"{done} runs right, {reported} faults reported, {failed} failed")
    sys.exit(failed > 0 or reported == 0)
