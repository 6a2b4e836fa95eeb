#!/usr/bin/env python3
"""Reports the times of a build, and of a run of the tests.

    build-profile.py BUILD [--top N] [--tests RESULTS.json]

From BUILD/.ninja_log: seconds that the jobs took, by kind and folder, and the longest ones. Jobs that ran side by side count each.
Where objects were compiled with -ftime-trace (cmake --preset dev -DCMAKE_CXX_FLAGS="-O1 -g1 -UNDEBUG -ftime-trace"), from the
traces next to them: the share of the front end, and the headers and templates that took most of it, over all objects. From the
results of lit (check.sh leaves BUILD/check.json): the longest tests.
"""
import argparse
import collections
import json
import os
import sys


def jobs(build):
    """{output: seconds} of the last time that each was made."""
    found = {}
    with open(os.path.join(build, ".ninja_log"), encoding="utf-8") as log:
        for line in log:
            if not line.startswith("#"):
                start, end, _, output, command = line.rstrip("\n").split("\t")
                found[command, start, end] = (output, (int(end) - int(start)) / 1000)  # outputs of one command count once
    return dict(found.values())


def kind_of(output):
    if output.endswith((".pch", ".gch")):
        return "precompiled headers"
    if output.endswith(".o"):
        return "objects of " + output.split("/CMakeFiles/")[0]
    return "generated" if output.endswith(".inc") or "docs/" in output else "linked and other"


def table(title, rows, top):
    print(title)
    for seconds, count, name in sorted(rows, reverse=True)[:top]:
        print(f"  {seconds:9.1f} s {count:6d}  {name}")


def totals(pairs):
    """(seconds, count, name) of the names of pairs (name, seconds)."""
    sums = collections.defaultdict(lambda: [0.0, 0])
    for name, seconds in pairs:
        sums[name][0] += seconds
        sums[name][1] += 1
    return [(seconds, count, name) for name, (seconds, count) in sums.items()]


def traces(build):
    """Events (name, detail, seconds) of all -ftime-trace files."""
    for folder, _, names in os.walk(build):
        for name in names:
            if name.endswith(".json") and "CMakeFiles" in folder:
                try:
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                        events = json.load(file).get("traceEvents", [])
                except (ValueError, AttributeError):
                    continue
                for event in events:
                    if event.get("ph") == "X":
                        yield event["name"], event.get("args", {}).get("detail", ""), event["dur"] / 1e6


def show_traces(build, top):
    found = list(traces(build))
    whole = {name: sum(seconds for each, _, seconds in found if each == name) for name in ("Frontend", "Backend")}
    if not any(whole.values()):
        return
    print(f"front end {whole['Frontend']:.0f} s, back end {whole['Backend']:.0f} s")
    for title, names in (("headers, with what they include", ("Source",)),
                         ("templates", ("InstantiateClass", "InstantiateFunction"))):
        table(title, totals((detail, seconds) for name, detail, seconds in found if name in names), top)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder, made with Ninja")
    parser.add_argument("--top", type=int, default=15, help="rows of each table (15)")
    parser.add_argument("--tests", metavar="RESULTS.json", help="results of lit -o")
    arguments = parser.parse_args()
    if not os.path.exists(os.path.join(arguments.build, ".ninja_log")):
        sys.exit(f"error: {arguments.build} holds no .ninja_log: no build of Ninja")
    made = jobs(arguments.build)
    print(f"{sum(made.values()):.0f} s in {len(made)} jobs")
    table("by kind", totals((kind_of(output), seconds) for output, seconds in made.items()), arguments.top)
    table("longest", [(seconds, 1, output) for output, seconds in made.items()], arguments.top)
    show_traces(arguments.build, arguments.top)
    if arguments.tests:
        with open(arguments.tests, encoding="utf-8") as file:
            tests = json.load(file)["tests"]
        print(f"{sum(test['elapsed'] for test in tests):.0f} s in {len(tests)} tests")
        table("longest tests", [(test["elapsed"], 1, test["name"]) for test in tests], arguments.top)


main()
