#!/usr/bin/env python3
"""Compares how parameters begin with initial.json, which make_initial.py has drawn with transformers.

    check_initial.py --build BUILD

Each parameter of each model of Cases/ must be of the reference, and its distribution one that gives such values: zeros, ones, or a
normal one whose mean and deviation are at most SIGMAS errors of so many draws away. A row that the reference leaves zero is zero.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys

from check_goldens import case_options

HERE = os.path.dirname(os.path.realpath(__file__))
SIGMAS = 5


def distributions(build, config):
    """{parameter: (kind, deviation, row of zeros)} of the imported model."""
    options = ["--emit=model", "--seq-len", "16", "--global-batch", "4", *case_options(config)]
    text = subprocess.run([os.path.join(build, "bin", "ppc-compile"), config, *options], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for attributes in re.findall(r"%\w+: tensor<[^>]*> \{([^}]*)\}", text):
        name = re.search(r'ppc\.parameter = "([^"]*)"', attributes)
        begins = re.search(r"ppc\.init = #ppc\.init<([^>]*)>", attributes)
        if name and begins:
            parts = begins.group(1).split(", ")
            found[name.group(1)] = (parts[0], float(parts[1]) if len(parts) > 1 else 0.0, int(parts[2].removeprefix("zero_row ")) if len(parts) > 2 else -1)
    return found


def problem(found, wanted):
    """Why values of the distribution are none of the reference; empty: they may be."""
    kind, deviation, row = found
    mean = float(kind == "ones")
    errors = (deviation / math.sqrt(wanted["count"]), deviation / math.sqrt(2 * wanted["count"]))
    if any(abs(a - b) > SIGMAS * error + 1e-6 for a, b, error in ((mean, wanted["mean"], errors[0]), (deviation, wanted["deviation"], errors[1]))):
        return f"begins with mean {mean:g} and deviation {deviation:g}, in the reference {wanted['mean']:g} and {wanted['deviation']:g}"
    if [row] * (row >= 0) != wanted["zero_rows"]:
        return f"begins with row {row} zero, in the reference {wanted['zero_rows']}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    arguments = parser.parse_args()
    with open(os.path.join(HERE, "initial.json")) as file:
        reference = json.load(file)
    problems, count = [], 0
    for name, wanted in reference.items():
        found = distributions(arguments.build, os.path.join(HERE, "Cases", name + ".json"))
        problems += [f"{name}: {parameter} is only in one of them" for parameter in set(found) ^ set(wanted)]
        for parameter in set(found) & set(wanted):
            count += 1
            if text := problem(found[parameter], wanted[parameter]):
                problems.append(f"{name}: {parameter} {text}")
    cases = {name[:-len(".json")] for name in os.listdir(os.path.join(HERE, "Cases")) if name.endswith(".json")}
    problems += [f"initial.json lacks {name}: run make_initial.py" for name in cases - set(reference)]
    print("\n".join(problems + [f"{count} parameters of {len(reference)} models"]))
    sys.exit(1 if problems or not count else 0)


main()
