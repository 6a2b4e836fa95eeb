#!/usr/bin/env python3
"""Prints the outcome of demo.sh: the loss on 4 ranks and on 1 rank side by side, against the entropy of the text.

usage: demo-table.py TEXT TRAIN-4.jsonl TRAIN-1.jsonl
Exit status 1 when the two runs do not agree, or the loss does not fall below the entropy.
"""
import collections
import json
import math
import statistics
import sys

# The first steps agree to rounding. Training then amplifies rounding, whatever the program: two runs of hundreds of steps
# drift apart in single losses and agree in where they end (test/Integration compares whole runs of 20 steps).
FIRST_STEPS, FIRST_TOLERANCE = 20, 1e-5
LAST_STEPS, LAST_TOLERANCE = 50, 2e-2


def entropy(path):
    """Entropy of single bytes in nats: the loss of a model that only knows how frequent each byte is."""
    with open(path, "rb") as file:
        text = file.read()
    return -sum(count / len(text) * math.log(count / len(text)) for count in collections.Counter(text).values()), len(text)


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def summary(run):
    """Tokens/s over all steps but the first, and the memory figures of the last one, in MiB."""
    speed = statistics.harmonic_mean([line["tokens_per_s"] for line in run[1:] or run])
    arena = max(line.get("arena_memory_bytes", 0) for line in run)
    return speed, arena / 2 ** 20, run[-1].get("predicted_peak_memory_bytes", 0) / 2 ** 20


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: demo-table.py TEXT TRAIN-4.jsonl TRAIN-1.jsonl")
    unigram, size = entropy(sys.argv[1])
    four, one = read(sys.argv[2]), read(sys.argv[3])
    print(f"\ntext: {sys.argv[1]}, {size} bytes, unigram entropy {unigram:.3f} nats per byte")
    print(f"\n{'step':>6} {'loss, 4 ranks':>15} {'loss, 1 rank':>15} {'difference':>12}")
    shown = sorted({1, *(round(len(four) * i / 8) for i in range(1, 9))} - {0})
    for step in shown:
        a, b = four[step - 1]["loss"], one[step - 1]["loss"]
        print(f"{step:6} {a:15.6f} {b:15.6f} {abs(a - b) / b:12.1e}")
    print(f"\n{'':16} {'tokens/s':>10} {'memory per rank':>16} {'predicted':>12}")
    for name, run in (("4 ranks", four), ("1 rank", one)):
        speed, arena, predicted = summary(run)
        print(f"{name:16} {speed:10.0f} {arena:12.1f} MiB {predicted:8.1f} MiB")
    difference = [abs(a["loss"] - b["loss"]) / b["loss"] for a, b in zip(four, one)]
    last, last_one = (statistics.fmean(line["loss"] for line in run[-LAST_STEPS:]) for run in (four, one))
    print(f"\nlargest relative difference of the first {FIRST_STEPS} losses: {max(difference[:FIRST_STEPS]):.1e}")
    print(f"mean of the last {LAST_STEPS} losses: {last:.3f} on 4 ranks, {last_one:.3f} on 1 rank; "
          f"{unigram - last:.3f} below the unigram entropy")
    if not (max(difference[:FIRST_STEPS]) <= FIRST_TOLERANCE and abs(last - last_one) / last_one <= LAST_TOLERANCE and last < unigram):
        sys.exit("error: the demo did not show what it should")


main()
