#!/usr/bin/env python3
"""Holds the numbered constraints of ops (C1, C2, ... in their descriptions) against the tests of invalid IR.

    check-constraints.py [--list]
    check-constraints.py --self-test

Each constraint of each op must have a test that is labelled `// OP_cN` or called `@OP_cN` (ppcrt.buffer, C3: `// buffer_c3: what of it`):
a part of a file of test/Dialect/DIALECT/*invalid*.mlir or test/Transforms/Contracts, between lines of `// -----`, that has the op in it
and an error that is expected after the label. A label that no op has is wrong too. Prints one line for each of both and exits with
1. llvm-tblgen reads the descriptions, so an op has the constraints of the classes that it is made from.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
DIALECTS = {"ppc": "dialects/ppc/IR/PpcOps.td", "ppcrt": "dialects/ppcrt/IR/PpcRtOps.td"}
# Checked where the whole module is known.
CONTRACTS = sorted(glob.glob(os.path.join(ROOT, "test/Transforms/Contracts/verify-program*.mlir")))


def numbers_of(description):
    """`C1: ... C2 to C4 as there.` -> {1, 2, 3, 4}"""
    numbers = set()
    for first, last in re.findall(r"\bC(\d+)\b(?: to C(\d+)\b)?", description):
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def read_constraints():
    """{(dialect, op): numbers}"""
    tblgen = shutil.which("llvm-tblgen") or shutil.which("llvm-tblgen-22") or sys.exit("llvm-tblgen is not installed")
    headers = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(tblgen))), "include")
    constraints = {}
    for dialect, path in DIALECTS.items():
        command = [tblgen, "--dump-json", path, "-I.", "-Iinclude", f"-I{headers}"]
        records = json.loads(subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout)
        for name in records["!instanceof"]["Op"]:
            op = records[name]
            if records[op["opDialect"]["def"]]["name"] == dialect:
                constraints[dialect, op["opName"]] = numbers_of(op["description"])
    return constraints


def read_labels(text):
    """(op, number, line, the rest of its part of the file) of each label."""
    line = 1
    for part in re.split(r"(?<=\n)(?=// -----)", text):
        for label in re.finditer(r"(?://\s|@)(\w+)_c(\d+)(?![0-9])", part):
            yield label[1], int(label[2]), line + part.count("\n", 0, label.start()), part[label.end():], part
        line += part.count("\n")


def check(constraints, files):
    """`files`: {(path, dialect): text}; the dialect of a contract is None: it may test any."""
    problems, tested = [], set()
    for (path, dialect), text in files.items():
        for op, number, line, after, part in read_labels(text):
            where = f"{path}:{line}: {op}_c{number}"
            owners = [own for own in constraints if own[1] == op and dialect in (own[0], None)]
            if not any(number in constraints[own] for own in owners):
                problems.append(f"{where}: no op has this constraint")
            elif "expected-error" not in after and "CHECK" not in after:
                problems.append(f"{where}: no error is expected after it")
            else:
                names = [own for own in owners if re.search(rf"\b{own[0]}\.{op}\b", part)]
                tested.update((own, number) for own in names)
                if not names:
                    problems.append(f"{where}: there is no such op in this part of the file")
    for own, numbers in sorted(constraints.items()):
        for number in sorted(numbers):
            if (own, number) not in tested:
                problems.append(f"{own[0]}.{own[1]}: C{number} has no test of invalid IR: label one // {own[1]}_c{number}")
    return problems


def self_test():
    constraints = {("ppc", "pick"): {1, 2}}
    part = "// pick_c1\n// expected-error @below {{x}}\nppc.pick\n"
    cases = [
        (part + "// -----\n" + part.replace("c1", "c2: b"), 0),
        (part, 1),                                                   # C2
        (part + part.replace("c1", "c3"), 2),                        # C2, and no C3
        (part + "// -----\n// pick_c2\nppc.pick\n", 2),              # no error
        (part + "// -----\n" + part.replace("c1", "c2").replace("ppc.pick", "ppc.add"), 2),
    ]
    wrong = [(text, count) for text, count in cases if len(check(constraints, {("a.mlir", "ppc"): text})) != count]
    wrong += [] if numbers_of("C1: a. C2 to C4 as there. C12: b") == {1, 2, 3, 4, 12} else [("numbers", 0)]
    for text, count in wrong:
        print(f"self-test: expected {count} problems: {text!r}: {check(constraints, {('a.mlir', 'ppc'): text})}")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:] not in ([], ["--list"]):
        sys.exit("usage: check-constraints.py [--list] | --self-test")
    constraints, files = read_constraints(), {}
    for dialect in DIALECTS:
        for path in sorted(glob.glob(os.path.join(ROOT, "test/Dialect", dialect, "*invalid*.mlir"))):
            with open(path, encoding="utf-8") as file:
                files[os.path.relpath(path, ROOT), dialect] = file.read()
    for path in CONTRACTS:
        with open(path, encoding="utf-8") as file:
            files[os.path.relpath(path, ROOT), None] = file.read()
    problems = check(constraints, files)
    print("\n".join(problems), end="\n" if problems else "")
    if sys.argv[1:]:
        print(f"{sum(map(len, constraints.values()))} constraints of {sum(map(bool, constraints.values()))} ops")
    sys.exit(bool(problems))


main()
