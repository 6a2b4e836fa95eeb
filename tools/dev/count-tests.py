#!/usr/bin/env python3
"""Counts the tests of a lit result file (lit -o FILE) and prints `N passed, N failed` as its last line.

Exit status 1 when a test failed or none ran. An expected failure counts as passed; a test whose feature is off
(CUDA, MPI) is listed apart and counts as neither.
"""
import collections
import json
import sys

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
NOT_RUN = {"UNSUPPORTED", "EXCLUDED", "SKIPPED"}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: count-tests.py RESULTS.json")
    with open(sys.argv[1]) as file:
        tests = json.load(file)["tests"]
    codes = collections.Counter(test["code"] for test in tests)
    passed = sum(codes[code] for code in PASSED)
    failed = sum(count for code, count in codes.items() if code not in PASSED | NOT_RUN)
    for test in tests:
        if test["code"] not in PASSED | NOT_RUN:
            print(f"{test['code'].lower()}: {test['name']}")
    not_run = sum(codes[code] for code in NOT_RUN)
    if not_run:
        print(f"{not_run} not run: their feature is off")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
