#!/usr/bin/env python3
"""Runs programs on emulated links, replays them in the simulator, and compares steps and exposed communication.

    emulate.py --build BUILD [--steps N] [--slowdown K] [--rates R,R,R] [--overlap off,on] [NAME...]

For each layout, without and with communication beside computation: compiles it, measures once how long its bodies take (--save-durations),
and for each rate of the links runs it with these durations and replays the same program with the same two files (ppc-simulate-program).
Prints a row for each: step and exposed communication of the first rank, measured and simulated, and late bodies. Ends with 1 when steps differ
by more than 5 % in the median or 10 % at worst, or more than 1 % of the bodies were late. The more others use the machine, the larger the
slowdown has to be, and the lower the rates with it.
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
SHAPE = ["--seq-len", "64", "--global-batch", "8", "--micro-batch", "1", "--zero", "1"]
LAYOUTS = {"dp4": ["--dp", "4"], "dp2-pp2": ["--dp", "2", "--pp", "2"], "tp2-pp2": ["--tp", "2", "--pp", "2"]}
RATES = [2e5, 1e6, 5e6]
LATENCY = 2e-3
SLOWDOWN = 1500
MEDIAN, WORST, LATE = 0.05, 0.10, 0.01
ATTEMPTS = 6  # of a run that says that too many of its bodies were late


def write_json(path, value):
    with open(path, "w") as file:
        json.dump(value, file)
    return path


def links(rate):
    return [{"name": "fabric", "axes": ["pp", "dp", "tp"], "bytes_per_s": rate, "latency_s": LATENCY}]


def measure(program, network, steps, *options):
    """Means of the steps that are no preparation: step, exposed communication; and how many bodies were late, of how many."""
    log = program + ".jsonl"
    command = [program, "--synthetic", "--steps", steps, "--emulate", network, "--log", log, *options]
    for attempt in range(ATTEMPTS):
        try:
            said = programs.run(command, timeout=600)
            break
        except programs.Failed as failure: # others used the machine: these are not the steps of the emulated one
            if "bodies were late" not in str(failure) or attempt + 1 == ATTEMPTS:
                raise
    with open(log) as file:
        lines = [json.loads(line) for line in file][1:]
    late = re.search(r"(\d+) of (\d+) bodies were late", said)
    mean = [statistics.fmean(line[key] for line in lines) for key in ("step_time_s", "exposed_communication_s")]
    return (*mean, int(late.group(1)), int(late.group(2)))


def simulate(build, form, network, steps):
    """Step and exposed communication of the first rank."""
    said = programs.run([os.path.join(build, "bin/ppc-opt"), form, f"--ppc-simulate-program=emulation={network} steps={steps}", "-o", os.devnull])
    return tuple(map(float, re.search(r"^0,([^,]+),(.+)$", said, re.M).groups()))


def scale(bodies, reference):
    """Lets each routine take in all what it takes in `reference`, however it is cut into pieces: the same work takes the same time."""
    for device, other in zip(bodies["devices"], reference["devices"]):
        totals = {body["entry"]: sum(body["pieces_s"]) for body in other["bodies"]}
        for body in device["bodies"]:
            here = sum(body["pieces_s"])
            body["pieces_s"] = [seconds * totals[body["entry"]] / here for seconds in body["pieces_s"]]


def compare(arguments, scratch, name, overlap, reference):
    """The rows of a layout: (rate, measured, simulated), each of a step and what of it is exposed; and late bodies. `reference` is given
    the durations of the first state of overlap, and taken for the other one."""
    options = [*SHAPE, *LAYOUTS[name], "--overlap=" + overlap]
    program = programs.compile_model(arguments.build, MODEL, options, os.path.join(scratch, "train"))
    form = programs.compile_model(arguments.build, MODEL, [*options, "--emit=device"], os.path.join(scratch, "form.mlir"))
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
    parser.add_argument("--slowdown", type=float, default=SLOWDOWN, help="of bodies against this machine")
    parser.add_argument("--rates", default=",".join(f"{rate:g}" for rate in RATES), help="bytes per second of a port")
    parser.add_argument("--overlap", default="off,on")
    parser.add_argument("names", nargs="*", default=[], help="of " + ", ".join(LAYOUTS))
    arguments = parser.parse_args()
    differences, late, pieces = [], 0, 0
    print("| layout | bytes/s | overlap | step, measured | simulated | differs by | exposed, measured | simulated | late |\n|" + "---|" * 9)
    for name in arguments.names or LAYOUTS:
        reference = {}
        for overlap in arguments.overlap.split(","):
            with tempfile.TemporaryDirectory() as scratch:
                for rate, measured, simulated, late_here, here in compare(arguments, scratch, name, overlap, reference):
                    differences.append(abs(simulated[0] / measured[0] - 1))
                    late, pieces = late + late_here, pieces + here
                    print(f"| {name} | {rate:g} | {overlap} | {measured[0] * 1e3:.1f} ms | {simulated[0] * 1e3:.1f} ms | "
                          f"{100 * (simulated[0] / measured[0] - 1):+.1f} % | {measured[1] * 1e3:.1f} ms | {simulated[1] * 1e3:.1f} ms | "
                          f"{late_here} of {here} |", flush=True)
    median, worst, share = statistics.median(differences), max(differences), late / pieces
    print(f"\nsteps differ by {100 * median:.1f} % in the median, {100 * worst:.1f} % at worst; {100 * share:.2f} % of the bodies were late")
    sys.exit(median > MEDIAN or worst > WORST or share > LATE)


if __name__ == "__main__":
    main()
