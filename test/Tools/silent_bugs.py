#!/usr/bin/env python3
"""Checks that each row of docs/internals/SilentBugs.md names tests that exist, hold the quoted words, and are run by the suite.

    silent_bugs.py [--self-test]
"""
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
PAGE = os.path.join(ROOT, "docs/internals/SilentBugs.md")
TEST = re.compile(r"`(test/[^`]+)` \"([^\"]+)\"")


def is_run(path):
    """A test of lit, or a driver that a test in the same folder starts."""
    if path.endswith((".test", ".mlir")):
        with open(path) as file:
            return "RUN:" in file.read()
    folder, name = os.path.split(path)
    for other in os.listdir(folder):
        if other.endswith(".test"):
            with open(os.path.join(folder, other)) as file:
                if "/" + name in file.read():
                    return True
    return False


def problems_of(text, root):
    found, rows = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("| ") or line.startswith(("| mistake", "|---")):
            continue
        rows += 1
        tests = TEST.findall(line)
        if not tests or len(line.split(" | ")) != 3:
            found.append(f"{number}: a row of three cells that names a test was expected")
        for path, words in tests:
            full = os.path.join(root, path)
            if not os.path.exists(full):
                found.append(f"{number}: there is no {path}")
                continue
            with open(full) as file:
                if words not in file.read():
                    found.append(f"{number}: {path} does not hold the words \"{words}\"")
            if not is_run(full):
                found.append(f"{number}: no test of the suite runs {path}")
    return found, rows


def main():
    if "--self-test" in sys.argv:
        mistakes = ["| a | b | nothing |", "| a | b | `test/Tools/no-such.test` \"x\" |",
                    "| a | b | `test/Tools/silent-bugs.test` \"words that it does not hold\" |",
                    "| a | b | `test/Tools/sanitize_nothing` \"x\" |"]
        missed = [row for row in mistakes if not problems_of(row, ROOT)[0]]
        sys.exit(f"not noticed: {missed}" if missed else 0)
    with open(PAGE) as file:
        found, rows = problems_of(file.read(), ROOT)
    for problem in found:
        print(f"docs/internals/SilentBugs.md:{problem}")
    print(f"{rows} mistakes have tests" if not found else f"{len(found)} problems")
    sys.exit(1 if found or not rows else 0)


if __name__ == "__main__":
    main()
