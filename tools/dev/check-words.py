#!/usr/bin/env python3
"""Lists words that only this project uses, with the field's word for each: `cut` for shard, `product` for matmul.

    check-words.py [PREFIX...]           hits in files whose path starts with a prefix, with file and line
    check-words.py --count [PREFIX...]   counts by term and by directory
    check-words.py --check               fails if a directory has more hits than tools/dev/words/baseline.csv
    check-words.py --update              lowers the baseline to today's counts; never raises it
    check-words.py --moved               for moved files: gives hits to other directories; no scope's total rises
    check-words.py --self-test           checks the checker

Terms are in tools/dev/words/terms.tsv (table.py there describes its columns). Scopes are comments, messages (with help), docs, tests
(names of tests) and identifiers. The baseline may only shrink. An identifier counts once, and is held to the total of all directories:
code may use the names that exist.
"""
import argparse
import collections
import csv
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from words import extraction, table  # noqa: E402

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
BASELINE = os.path.join(ROOT, "tools/dev/words/baseline.csv")
SCOPES = ("comments", "messages", "docs", "tests", "identifiers")
SHOWN = 20


def tally(hits):
    """Hits by (scope, directory)."""
    return collections.Counter((hit.scope, os.path.dirname(hit.path) or ".") for hit in hits)


def totals(counts):
    found = collections.Counter()
    for (scope, _), count in counts.items():
        found[scope] += count
    return found


def read_baseline(path=BASELINE):
    with open(path, encoding="utf-8", newline="") as file:
        return collections.Counter({(row["scope"], row["directory"]): int(row["hits"]) for row in csv.DictReader(file)})


def write_baseline(counts, path=BASELINE):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("scope,directory,hits\n")
        for (scope, directory), count in sorted(counts.items()):
            if count:
                file.write(f"{scope},{directory},{count}\n")


def exceeded(counts, baseline):
    """Keys with more hits than the baseline allows; identifiers count by their total."""
    more = [key for key in counts if counts[key] > baseline[key]]
    if totals(counts)["identifiers"] <= totals(baseline)["identifiers"]:
        more = [key for key in more if key[0] != "identifiers"]
    return sorted(more)


def changed_files():
    """Files that differ from the last commit or that it changed; empty outside of a git checkout."""
    found = set()
    for command in (["diff", "--name-only", "HEAD"], ["diff", "--name-only", "HEAD~1", "HEAD"]):
        result = subprocess.run(["git", "-C", ROOT] + command, capture_output=True, text=True)
        found.update(result.stdout.split("\n") if result.returncode == 0 else [])
    return found


def shown(hit):
    return f"{hit.path}:{hit.line}: {hit.scope}: {hit.text}: {hit.term.replacement}"


def check(hits, baseline):
    """Problems, as lines of text, and whether the baseline can be lowered."""
    counts, problems = tally(hits), []
    changed = changed_files() if exceeded(counts, baseline) else set()
    for key in exceeded(counts, baseline):
        here = [hit for hit in hits if (hit.scope, os.path.dirname(hit.path) or ".") == key]
        here.sort(key=lambda hit: (hit.path not in changed, hit.path, hit.line))
        problems.append(f"{key[1]}: {counts[key]} private words in {key[0]}, the baseline allows {baseline[key]}; of these:")
        problems += ["  " + shown(hit) for hit in here[:SHOWN]] + ([f"  and {len(here) - SHOWN} more"] if len(here) > SHOWN else [])
    return problems, any(counts[key] < baseline[key] for key in baseline)


def lowered(counts, baseline):
    return {key: min(counts[key], baseline[key]) for key in baseline}


def print_counts(hits):
    """Two tables: terms by scope, directories by scope. Identifiers are counted as names; their occurrences follow."""
    for title, key in (("term", lambda hit: f"{hit.term.name[:50]} -> {hit.term.replacement[:40]}"), ("directory", lambda hit: os.path.dirname(hit.path) or ".")):
        rows = collections.defaultdict(collections.Counter)
        for hit in hits:
            rows[key(hit)][hit.scope] += 1
            rows[key(hit)]["occurrences"] += hit.count if hit.scope == "identifiers" else 0
        rows["total"] = sum(rows.values(), collections.Counter())
        print(*(f"{scope:>11}" for scope in SCOPES + ("occurrences",)), title)
        for name, row in sorted(rows.items(), key=lambda item: -sum(item[1][scope] for scope in SCOPES)):
            print(*(f"{row[scope]:11}" for scope in SCOPES + ("occurrences",)), name)
        print()


CASES = [
    ("lib/A.cpp", '// A gizmo\n// spins.\nint gizmoCount; // no hit: `gizmo`\n', {"comments": 1, "identifiers": 1}),
    ("lib/A.cpp", "// turns\n// round\n", {"comments": 1}),
    ("lib/A.cpp", 'f("it turns "\n  "round", \'"\', "gizmo", 1\'000, "the gizmo");', {"messages": 2}),
    ("lib/A.cpp", 'R"(the " gizmo)" /* a\n * gizmo */', {"messages": 1, "comments": 1}),
    ("lib/A.cpp", '#include "the gizmo.h"\n', {}),
    ("lib/A.cpp", "// a fine gizmo of steel\n", {}),
    ("runtime/A.cpp", "// a gizmo\n", {}),
    ("include/A.td", 'let summary = "a gizmo";\nlet description = [{\n  A gizmo.\n}];\nlet code = [{ // a gizmo\n }];', {"messages": 1, "docs": 1, "comments": 1}),
    ("tools/a.py", '"""A gizmo."""\nx = "a gizmo"  # the gizmo\ngizmo = 1\n', {"comments": 2, "messages": 1, "identifiers": 1}),
    ("tools/a.sh", '# the gizmo\necho "a # gizmo"\n', {"comments": 1, "messages": 1}),
    ("lib/CMakeLists.txt", '# a gizmo\nmessage("a gizmo")\n', {"comments": 1, "messages": 1}),
    ("README.md", "# A gizmo\n\nIt turns\nround.\n\n```sh\ngizmo\n```\n\n- a gizmo\n\n| gizmo | `gizmo` |\n", {"docs": 4}),
    ("test/a.mlir", "// RUN: gizmo\n// A gizmo.\n// CHECK-NOT: gizmo\n", {"comments": 1}),
    ("test/turns-gizmo.test", "# RUN: gizmo\n# A gizmo.\n", {"comments": 1, "tests": 1}),
    ("test/Unit/A.cpp", "TEST(A, FindsGizmo) { gizmo(); }\n", {"tests": 1, "identifiers": 1}),
]
TERMS = ("words\tpattern\treplacement\tscopes\texceptions\texcept_paths\n"
         "gizmo\t\twidget\tcomments,messages,docs,tests\tfine gizmo\t^runtime/\n"
         "round\t\\bturns round\\b\trotates\tcomments,messages,docs,tests\t\t\n"
         "gizmo\t\twidget\tidentifiers\t\t\n")


def self_test():
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "terms.tsv")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TERMS)
        terms = table.load(path)
        for name, text, expected in CASES:
            os.makedirs(os.path.join(scratch, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(scratch, name), "w", encoding="utf-8") as file:
                file.write(text)
            found = collections.Counter(hit.scope for hit in table.find(scratch, terms, [name]))
            if found != expected:
                wrong.append(f"{name} with {text!r}: {dict(found)}, expected {expected}")
        hits = table.find(scratch, terms, ["lib/A.cpp", "tools/a.py", "README.md"])
        write_baseline(tally(hits), path)
        baseline = read_baseline(path)
    comments, names = ("comments", "tools"), ("identifiers", "tools")
    wrong += ["a second hit passes" for _ in [0] if not check(hits + [hits[0]], baseline)[0]]
    wrong += ["the baseline itself fails" for _ in [0] if check(hits, baseline) != ([], False)]
    wrong += ["fewer hits do not lower" for _ in [0] if not check(hits[1:], baseline)[1]]
    wrong += ["a baseline was raised" for _ in [0] if lowered({comments: 5}, {comments: 2}) != {comments: 2}]
    wrong += ["a name may not be used elsewhere" for _ in [0] if exceeded({("identifiers", "lib"): 1}, collections.Counter({names: 1}))]
    wrong += ["a new name passes" for _ in [0] if not exceeded({names: 2}, collections.Counter({names: 1}))]
    wrong += [f"tools/dev/words/terms.tsv: '{term.name}' has no scope of {SCOPES}" for term in table.load() if not term.scopes <= set(SCOPES)]
    print("\n".join("self-test: " + problem for problem in wrong), end="\n" if wrong else "")
    return bool(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    for name in ("count", "check", "update", "moved", "self-test"):
        mode.add_argument("--" + name, action="store_true")
    parser.add_argument("prefixes", nargs="*", metavar="PREFIX", help="paths from the project's root; default: all files")
    arguments = parser.parse_args()
    if arguments.self_test:
        sys.exit(self_test())
    complete = arguments.check or arguments.update or arguments.moved
    if complete and arguments.prefixes:
        parser.error("--check, --update and --moved take no prefixes")
    paths = None if complete or not arguments.prefixes else [path for path in extraction.files(ROOT) if path.startswith(tuple(arguments.prefixes))]
    hits = table.find(ROOT, table.load(), paths) if paths != [] else []
    if not complete:
        hits.sort(key=lambda hit: (hit.path, hit.line))
        print_counts(hits) if arguments.count else print(*map(shown, hits), f"{len(hits)} hits", sep="\n")
        return
    counts = tally(hits)
    if arguments.moved:
        old, new = totals(read_baseline()), totals(counts)
        risen = [scope for scope in SCOPES if new[scope] > old[scope]]
        if risen:
            sys.exit(f"error: more hits in all: {', '.join(f'{scope} {old[scope]} -> {new[scope]}' for scope in risen)}")
        write_baseline(counts)
        return
    baseline = read_baseline()
    if arguments.update:
        write_baseline(lowered(counts, baseline))
        return
    problems, fewer = check(hits, baseline)
    print("\n".join(problems), end="\n" if problems else "")
    if fewer:
        print("note: fewer private words than the baseline: run tools/dev/check-words.py --update")
    sys.exit(1 if problems else 0)


main()
