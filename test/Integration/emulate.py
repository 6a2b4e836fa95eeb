#!/usr/bin/env python3
"""Runs programs on emulated links, replays them in the simulator, and compares steps and exposed communication.

    emulate.py --build BUILD [--steps N] [--slowdown K] [--rates R,R,R] [--overlap off,on] [NAME...]

For each layout, without and with overlap of communication: compiles it, measures once how long its routines take (--save-durations),
and for each rate of the links runs it with these durations and replays the same program with the same two files (ppc-simulate-program).
Layouts are ZeRO 1 to 3 and tensor parallelism; `schedules` stands for every pipeline schedule over 4 devices with 16 micro-batches,
where there is nothing but messages. Prints a row for each: step and exposed communication of the first rank, measured and simulated, and late
routines; for each layout that has both, by how much overlap shortens the step and what is exposed. Ends with 1 when steps differ
by more than 5 % in the median or 10 % at worst, more than 1 % of the routines were late, or an arena is not what was predicted. The more others
use the machine, the larger the slowdown has to be, and the lower the rates with it.
"""
import argparse
import json
import os
import re
import statistics
import sys
import tempfile

import programs

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "Inputs", "even.json")
SHAPE = ["--seq-len", "64", "--micro-batch", "1"]
LAYOUTS = {"dp4-zero1": "--dp 4 --zero 1", "dp4-zero2": "--dp 4 --zero 2", "dp4-zero3": "--dp 4 --zero 3",
           "dp2-pp2-zero1": "--dp 2 --pp 2 --zero 1", "dp2-pp2-zero2": "--dp 2 --pp 2 --zero 2", "dp2-pp2-zero3": "--dp 2 --pp 2 --zero 3",
           "tp2-pp2": "--tp 2 --pp 2"}
SCHEDULES = ["gpipe", "1f1b", "interleaved", "breadth-first", "zb1p", "zb2p", "zbv", "v-half", "v-min", "wave", "dualpipev", "chimera", "dualpipe",
             "seq1f1b"]
SCHEDULE_LAYERS = 8  # a layer for each of the virtual stages that schedules have on 4 devices
RATES = [2e5, 1e6, 5e6]
LATENCY = 2e-3
SLOWDOWN = 1500
MEDIAN, WORST, LATE = 0.05, 0.10, 0.01
ATTEMPTS = 6  # attempts of a run that reports that too many of its routines were late


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file)
    return path


def links(rate):
    return [{"name": "fabric", "axes": ["pp", "dp", "tp"], "bytes_per_s": rate, "latency_s": LATENCY}]


class Layout:
    """The compiled layout: `name` of LAYOUTS, or pp4- and a schedule."""

    def __init__(self, name, scratch):
        self.model = MODEL
        if name in LAYOUTS:
            self.options = [*SHAPE, "--global-batch", "8", *LAYOUTS[name].split()]
            return
        with open(MODEL) as file:
            self.model = write_json(os.path.join(scratch, "deep.json"), {**json.load(file), "num_hidden_layers": SCHEDULE_LAYERS})
        self.options = [*SHAPE, "--global-batch", "16", "--pp", "4", "--schedule", name.removeprefix("pp4-")]


def measure(program, network, steps, *options):
    """Means of the measured steps: step, exposed communication; and how many routines were late, of how many."""
    log = program + ".jsonl"
    command = [program, "--synthetic", "--steps", steps, "--emulate", network, "--log", log, *options]
    for attempt in range(ATTEMPTS):
        try:
            said = programs.run(command)
            break
        except programs.Failed as failure: # others used the machine: these are not the steps of the emulated one
            if failure.status is None or "bodies were late" not in str(failure) or attempt + 1 == ATTEMPTS:
                raise
    with open(log) as file:
        lines = [json.loads(line) for line in file][1:]
    late = re.search(r"(\d+) of (\d+) bodies were late", said)
    arenas = re.search(r"equal in (\d+) of (\d+) ranks", said)
    if not arenas or arenas.group(1) != arenas.group(2):
        sys.exit(f"{program}: arenas are not what was predicted\n{said}")
    mean = [statistics.fmean(line[key] for line in lines) for key in ("step_time_s", "exposed_communication_s")]
    return (*mean, int(late.group(1)), int(late.group(2)))


def simulate(build, form, network, steps):
    """Step and exposed communication of the first rank."""
    said = programs.run([os.path.join(build, "bin/ppc-opt"), form, f"--ppc-simulate-program=emulation={network} steps={steps}", "-o", os.devnull])
    return tuple(map(float, re.search(r"^0,([^,]+),(.+)$", said, re.M).groups()))


def scale(bodies, reference):
    """Gives each routine its total time in `reference`, however it is split into segments: the same work takes the same time."""
    for device, other in zip(bodies["devices"], reference["devices"]):
        totals = {body["entry"]: sum(body["pieces_s"]) for body in other["bodies"]}
        for body in device["bodies"]:
            here = sum(body["pieces_s"])
            body["pieces_s"] = [seconds * totals[body["entry"]] / here for seconds in body["pieces_s"]]


def compare(arguments, scratch, layout, overlap, reference):
    """The rows of a layout: (rate, measured, simulated), each of a step and its exposed communication; and late routines. `reference` is given
    the durations of the first state of overlap, and taken for the other one."""
    options = [*layout.options, "--overlap=" + overlap]
    program = programs.compile_model(arguments.build, layout.model, options, os.path.join(scratch, "train"), optimize=None)
    form = programs.compile_model(arguments.build, layout.model, [*options, "--emit=device"], os.path.join(scratch, "form.mlir"))
    durations = os.path.join(scratch, "durations.json")
    measure(program, write_json(os.path.join(scratch, "fast.json"), {"links": links(min(RATES)), "slowdown": arguments.slowdown}), 6, "--save-durations", durations)
    with open(durations) as file:
        bodies = json.load(file)
    if reference:
        scale(bodies, reference)
    else:
        reference.update(bodies)
    for rate in map(float, arguments.rates.split(",")):
        network = write_json(os.path.join(scratch, "network.json"), {"links": links(rate), "durations": bodies})
        *measured, late, pieces = measure(program, network, arguments.steps + 1)
        yield rate, measured, simulate(arguments.build, form, network, arguments.steps), late, pieces


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile and bin/ppc-opt")
    parser.add_argument("--steps", type=int, default=6, help="that are measured and replayed")
    parser.add_argument("--slowdown", type=float, default=SLOWDOWN, help="slowdown of routines against this machine")
    parser.add_argument("--rates", default=",".join(f"{rate:g}" for rate in RATES), help="bytes per second of a port")
    parser.add_argument("--overlap", default="off,on")
    parser.add_argument("names", nargs="*", default=[], help="schedules, or of " + ", ".join([*LAYOUTS, *("pp4-" + name for name in SCHEDULES)]))
    arguments = parser.parse_args()
    names = [name for given in arguments.names or LAYOUTS for name in (["pp4-" + each for each in SCHEDULES] if given == "schedules" else [given])]
    unknown = [name for name in names if name not in LAYOUTS and name.removeprefix("pp4-") not in SCHEDULES]
    if unknown:
        parser.error(f"no layout {unknown[0]}; see --help")
    differences, saved, late, pieces = [], [], 0, 0
    print("| layout | bytes/s | overlap | step, measured | simulated | differs by | exposed, measured | simulated | late |\n|" + "---|" * 9)
    for name in names:
        reference, found = {}, {}
        for overlap in arguments.overlap.split(",") if name in LAYOUTS else ["on"]:
            with tempfile.TemporaryDirectory() as scratch:
                for rate, measured, simulated, late_here, here in compare(arguments, scratch, Layout(name, scratch), overlap, reference):
                    found[rate, overlap] = measured, simulated
                    differences.append(abs(simulated[0] / measured[0] - 1))
                    late, pieces = late + late_here, pieces + here
                    print(f"| {name} | {rate:g} | {overlap} | {measured[0] * 1e3:.1f} ms | {simulated[0] * 1e3:.1f} ms | "
                          f"{100 * (simulated[0] / measured[0] - 1):+.1f} % | {measured[1] * 1e3:.1f} ms | {simulated[1] * 1e3:.1f} ms | "
                          f"{late_here} of {here} |", flush=True)
        saved += [(name, rate, found[rate, "off"], found[rate, "on"]) for rate, overlap in found if overlap == "off" and (rate, "on") in found]
    if saved:
        print("\n| layout | bytes/s | step with overlap, measured | simulated | exposed, measured | simulated |\n|" + "---|" * 6)
    for name, rate, off, on in saved:
        change = [f"{100 * (on[kind][what] / off[kind][what] - 1):+.1f} %" for what in (0, 1) for kind in (0, 1)]
        print(f"| {name} | {rate:g} | {' | '.join(change)} |")
    median, worst, share = statistics.median(differences), max(differences), late / pieces
    print(f"\nsteps differ by {100 * median:.1f} % in the median, {100 * worst:.1f} % at worst; {100 * share:.2f} % of the routines were late")
    sys.exit(median > MEDIAN or worst > WORST or share > LATE)


if __name__ == "__main__":
    main()
