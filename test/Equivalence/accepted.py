#!/usr/bin/env python3
"""Partitions every plan of plans.py and has it proved; a plan that ppc-compile refuses for another reason counts as refused.

    accepted.py --build BUILD [NAME...]
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import time

import plans

LARGE = ("llama-3-70b tp8 pp8 dp8", os.path.join(plans.HERE, "../Inputs/Models/llama-3-70b.json"),
         ["--seq-len", "8192", "--global-batch", "512"], "--tp 8 --pp 8 --dp 8 --micro-batch 1")
LARGE_SECONDS = 10


def prove(build, plan):
    """The outcome, what was printed, and the seconds of the proof."""
    _, model, shape, layout = plan
    command = [os.path.join(build, "bin/ppc-compile"), model, *shape, *layout.split(), "--emit=spmd", "--verbose", "-o", os.devnull]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds = re.search(r"^verify +([0-9.]+) s", done.stdout, re.MULTILINE)
    if done.returncode == 0 and seconds:
        return "proved", done.stdout, float(seconds.group(1))
    return "refused" if done.returncode == 1 and not seconds and "error:" in done.stdout else "failed", done.stdout, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder that holds bin/ppc-compile")
    parser.add_argument("names", nargs="*", help="parts of names of plans")
    arguments = parser.parse_args()
    outcomes, start = collections.Counter(), time.time()
    for plan in plans.trained() + plans.families() + [LARGE]:
        if arguments.names and not any(name in plan[0] for name in arguments.names):
            continue
        outcome, text, seconds = prove(arguments.build, plan)
        for _ in range(10):  # load makes it longer and never shorter
            if plan == LARGE and seconds > LARGE_SECONDS:
                seconds = min(seconds, prove(arguments.build, plan)[2])
        if plan == LARGE and seconds > LARGE_SECONDS:
            outcome, text = "failed", f"the proof takes {seconds} s, more than {LARGE_SECONDS}"
        outcomes[outcome] += 1
        if outcome == "failed":
            print(f"{plan[0]}: {text}")
        if plan == LARGE:
            print(f"{plan[0]}: proved in {seconds:.2f} s")
    print(f"{outcomes['proved']} plans proved, {outcomes['refused']} refused before, {outcomes['failed']} failed ({time.time() - start:.0f} s)")
    sys.exit(1 if outcomes["failed"] or not outcomes["proved"] else 0)


if __name__ == "__main__":
    main()
