#!/usr/bin/env python3
"""Checks the directories of lib/, include/, dialects/, runtime/ and tools/: at most 40 files each, and no cycles of includes.

lib/X and include/ppc/X count as one directory for cycles. An include of a file in a parent directory is no edge: a directory
and its children are one subject. `--table` prints files, lines, functions and the share of comment lines by top directory.
`--self-test` checks the checker.
"""
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
TOPS = ("lib", "include", "dialects", "runtime", "tools")
MOST_FILES = 40
SOURCES = (".h", ".cpp", ".td", ".inc")
INCLUDE = re.compile(r'^\s*#?\s*include "([^"]+)"', re.MULTILINE)
FUNCTION = re.compile(r"^[A-Za-z][^;{}=]*\)[^;{}=]*\{", re.MULTILINE)  # definitions at the left margin


def subject(path):
    """The directory of a file, with lib/X for include/ppc/X."""
    return re.sub(r"^include/ppc(?=/|$)", "lib", os.path.dirname(path))


def included(path, include):
    """The file of the tree that an include line of the file `path` names; None for a foreign or generated header."""
    if include.endswith(".h.inc") or include.endswith(".cpp.inc"):
        return None
    if include.startswith("ppc/"):
        return "include/" + include
    if include.split("/")[0] in TOPS:
        return include
    near = os.path.normpath(os.path.join(os.path.dirname(path), include))
    return near if os.path.exists(os.path.join(ROOT, near)) else None


def edges(texts):
    """Pairs of subjects (user, used) -> the first file and line that makes the pair."""
    found = {}
    for path, text in sorted(texts.items()):
        user = subject(path)
        for match in INCLUDE.finditer(text):
            target = included(path, match.group(1))
            used = subject(target) if target else user
            if used != user and not user.startswith(used + "/"):
                found.setdefault((user, used), f"{path}: \"{match.group(1)}\"")
    return found


def cycles(pairs):
    """The strongly connected components of more than one subject."""
    after = {}
    for user, used in pairs:
        after.setdefault(user, set()).add(used)

    def reach(start):
        seen, todo = set(), [start]
        while todo:
            for next_one in after.get(todo.pop(), ()):
                if next_one not in seen:
                    seen.add(next_one)
                    todo.append(next_one)
        return seen

    reached = {user: reach(user) for user in after}
    components = set()
    for user in after:
        if user in reached[user]:
            components.add(tuple(sorted(other for other in reached[user] if user in reached.get(other, ()))))
    return sorted(components)


def problems(texts, files_of):
    result = [f"{folder}: {count} files, at most {MOST_FILES}: split it by subject" for folder, count in sorted(files_of.items()) if count > MOST_FILES]
    pairs = edges(texts)
    for component in cycles(pairs):
        result.append("cycle of directories: " + ", ".join(component))
        result += [f"  {user} uses {used} ({where})" for (user, used), where in sorted(pairs.items()) if user in component and used in component]
    return result


def read_tree():
    texts, files_of = {}, {}
    for top in TOPS:
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [name for name in folders if name != "__pycache__"]
            where = os.path.relpath(folder, ROOT)
            files_of[where] = len([name for name in names if not name.endswith(".pyc")])
            for name in names:
                if name.endswith(SOURCES):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        texts[f"{where}/{name}"] = file.read()
    return texts, files_of


def table(texts):
    print("directory,files,lines,functions,comment_lines_percent")
    for top in TOPS:
        mine = [text for path, text in texts.items() if path.startswith(top + "/")]
        lines = [line.strip() for text in mine for line in text.split("\n") if line.strip()]
        comments = sum(line.startswith("//") for line in lines)
        print(f"{top},{len(mine)},{len(lines)},{sum(len(FUNCTION.findall(text)) for text in mine)},{100 * comments / max(1, len(lines)):.1f}")


def self_test():
    include = '#include "%s"\n'
    cycle = {"lib/A/x.cpp": include % "ppc/B/y.h", "include/ppc/B/y.h": include % "ppc/A/x.h"}
    child = {"lib/A/x.cpp": include % "lib/A/C/z.h", "lib/A/C/z.h": include % "ppc/A/x.h"}
    chain = {"lib/A/x.cpp": include % "ppc/B/y.h", "lib/B/y.cpp": include % "ppc/C/z.h"}
    cases = [(cycle, {}, 3), (child, {}, 0), (chain, {}, 0), ({}, {"lib/A": 41, "lib/B": 40}, 1)]
    wrong = [(texts, files, expected) for texts, files, expected in cases if len(problems(texts, files)) != expected]
    for texts, files, expected in wrong:
        print(f"self-test: {texts} {files}: expected {expected} lines, got {problems(texts, files)}")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:] not in ([], ["--table"]):
        sys.exit("usage: check-directories.py [--table | --self-test]")
    texts, files_of = read_tree()
    if sys.argv[1:]:
        table(texts)
        return
    found = problems(texts, files_of)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
