#!/usr/bin/env python3
"""Checks that names can be guessed and files stay short.

A pass has four names and one derivation: `def SearchShardingsPass` -> SearchShardings.cpp -> ppc-search-shardings ->
search-shardings.mlir, in the folder of its Passes.td mirrored under lib/ and test/. No file or folder is called
Utils, Helpers, Common or Misc. No source file is longer than LINE_LIMIT. Prints one line per problem; exit status 1
when there is one. No Passes.td has a Statistic: the packaged LLVM, built without them, would leave its fields unset. `--self-test` checks the checker.
"""
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
LINE_LIMIT = 600
EMPTY_WORDS = {"util", "utils", "utilities", "helper", "helpers", "common", "misc"}
STATISTIC = re.compile(r"\bStatistic<")
PASS = re.compile(r'^def\s+(\w+)\s*:\s*Pass<\s*"([^"]+)"', re.MULTILINE)
SOURCES = (".h", ".cpp", ".td", ".c", ".py", ".sh", ".mlir", ".test", ".md", ".cmake")

# Each exception with its reason.
EXEMPT = {}


def kebab(name):
    """SearchShardings -> search-shardings, PpcToLLVM -> ppc-to-llvm."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def check_pass(definition, argument, td, exists):
    """Problems of one pass declared in the file `td`; `exists` answers for paths from the project's root."""
    if not definition.endswith("Pass"):
        return [f"{td}: 'def {definition}' should end in 'Pass'"]
    name = definition[: -len("Pass")]
    problems = []
    words = kebab(name)
    # "ppc" is a prefix of every argument and not repeated: VerifyModel -> ppc-verify-model, PpcToLinalg -> ppc-to-linalg.
    wanted = {"ppc-" + words, words if words.startswith("ppc-") else "ppc-" + words}
    conversion = "/Conversion/" in td
    if conversion:
        wanted.add("convert-" + words)
        wanted.add("ppc-convert-" + words)
    if argument not in wanted:
        problems.append(f"{td}: {definition} should be called {' or '.join(sorted(wanted))}, not '{argument}'")
    folder = os.path.dirname(td).replace("include/ppc/", "")
    sources = [f"lib/{folder}/{name}.cpp", f"lib/{folder}/{name}/{name}.cpp"]
    if not any(exists(path) for path in sources):
        problems.append(f"{td}: {definition} should be in {sources[0]}")
    tests = [f"test/{folder}/{words}.mlir"] + ([f"test/{folder}/{name}"] if conversion else [])
    if not any(exists(path) for path in tests):
        problems.append(f"{td}: {definition} should be tested by {tests[0]}")
    return problems


def check_path(path):
    parts = [os.path.splitext(part)[0] for part in path.split("/")]
    empty = [part for part in parts if EMPTY_WORDS & set(re.split(r"[-_.]", kebab(part)))]
    return [f"{path}: '{part}' says nothing about what is inside" for part in empty]


def check_length(path, lines):
    return [f"{path}: {lines} lines; split it below {LINE_LIMIT}"] if lines > LINE_LIMIT else []


def check_statistics(path, text):
    return [f"{path}: no Statistic, the packaged LLVM leaves it unset; emit a remark"] if STATISTIC.search(text) else []


def files():
    for top in ("dialects", "include", "lib", "runtime", "tools", "test", "docs"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith(SOURCES):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def self_test():
    complete = {"lib/Transforms/Sharding/InsertReshards.cpp", "test/Transforms/Sharding/insert-reshards.mlir"}
    td = "include/ppc/Transforms/Sharding/Passes.td"
    checks = [
        (check_pass("InsertReshardsPass", "ppc-insert-reshards", td, complete.__contains__), 0),
        (check_pass("InsertReshardsPass", "ppc-reshard", td, complete.__contains__), 1),
        (check_pass("InsertReshardsPass", "ppc-insert-reshards", td, set().__contains__), 2),
        (check_pass("InsertReshards", "ppc-insert-reshards", td, complete.__contains__), 1),
        (check_path("lib/Support/StringUtils.cpp"), 1),
        (check_path("lib/Analysis/CollectiveCost.cpp"), 0),
        (check_path("lib/Common/Commonality.cpp"), 1),
        (check_length("lib/A.cpp", LINE_LIMIT + 1), 1),
        (check_statistics(td, 'let statistics = [Statistic<"ops", "ops", "Ops">];'), 1),
        (check_statistics(td, "no Statistic here"), 0),
    ]
    wrong = [(problems, count) for problems, count in checks if len(problems) != count]
    for problems, count in wrong:
        print(f"self-test: expected {count} problems, got {problems}")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:]:
        sys.exit("usage: check-naming.py [--self-test]")
    problems = []
    for path in sorted(files()):
        if path in EXEMPT:
            continue
        problems += check_path(path)
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        problems += check_length(path, text.count("\n"))
        if os.path.basename(path) == "Passes.td":
            problems += check_statistics(path, text)
            for definition, argument in PASS.findall(text):
                if definition not in EXEMPT:
                    problems += check_pass(definition, argument, path, lambda p: os.path.exists(os.path.join(ROOT, p)))
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(1 if problems else 0)


main()
