#!/usr/bin/env python3
"""Renames words within identifiers and file names over a checkout, so that a branch can follow a rename of main.

    rename-words.py [--dry-run] TABLE [ROOT]     (TABLE: tools/dev/words/renames/NN-subject.tsv)

A line of the table is: old words, new words, scope, paths, other paths (tab-separated; # begins a comment).
  words        lower-case, separated by spaces: `stage cutter` finds StageCutter, stageCutter, stage_cutter, STAGE_CUTTER,
               ppc-stage-cutter and StageCutterTest; the new words take the form of the old ones. `=` before the old words
               asks for the whole identifier.
  scope        code: identifiers of C++ and TableGen outside of comments and strings, CMake files, includes, file names;
               text: everything, prose and strings too.
  paths        a regular expression that the file's path must match (empty: all); other paths: one that it must not match.
Files whose names hold the old words move, and every mention of such a file follows. Prints what changed by rule.
"""
import os
import re
import subprocess
import sys
from collections import Counter

CODE = (".h", ".cpp", ".td", ".inc", ".c")
TEXT = CODE + (".py", ".sh", ".test", ".mlir", ".md", ".csv", ".tsv", ".cfg", ".in", ".cmake", ".txt", ".yaml", ".yml", ".json", ".ref")
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*_?")
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[_-]+")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\[\{.*?\}\]', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#?[ \t]*include [<"][^>"\n]*[>"]', re.MULTILINE)


def shaped(words, first, joint):
    """New words in the form of the first old one: UPPER, Upper or lower; `joint` stood between words (empty: camel case)."""
    if first.isupper() and (len(first) > 1 or joint):
        return joint.join(word.upper() for word in words)
    if first[0].isupper():
        return joint.join(word.capitalize() for word in words)
    return joint.join(words) if joint else words[0] + "".join(word.capitalize() for word in words[1:])


def renamed(identifier, old, new, whole):
    tokens = WORD.findall(identifier)
    if "".join(tokens) != identifier:
        return identifier
    places = [i for i, token in enumerate(tokens) if token[0] not in "_-"]
    words = [tokens[i].lower() for i in places]
    if whole and words != old:
        return identifier
    result, at = list(tokens), 0
    while at + len(old) <= len(words):
        if words[at:at + len(old)] != old:
            at += 1
            continue
        begin, end = places[at], places[at + len(old) - 1]
        joints = [t for t in tokens[begin:end + 1] if t[0] in "_-"] or [t for t in tokens if t[0] in "_-" and tokens[begin].islower()]
        result[begin:end + 1] = [shaped(new, tokens[begin], joints[0] if joints else "")] + [""] * (end - begin)
        at += len(old)
    return "".join(result)


class Rule:
    def __init__(self, line):
        cells = line.rstrip("\n").split("\t") + [""] * 4
        self.whole = cells[0].startswith("=")
        self.old, self.new = cells[0].lstrip("=").split(), cells[1].split()
        self.scope = cells[2]
        self.paths, self.others = re.compile(cells[3]), re.compile(cells[4]) if cells[4] else None
        if self.scope not in ("code", "text") or not self.old or not self.new:
            sys.exit(f"rename-words.py: not a rule: {line!r}")
        self.quick = re.compile("[_-]?".join(map(re.escape, self.old)), re.IGNORECASE)
        self.count = Counter()

    def occurs(self, text):
        """Whether the old words may occur: a quick look that spares most files the rest."""
        return self.quick.search(text) is not None

    def applies(self, path):
        return self.paths.search(path) and not (self.others and self.others.search(path))

    def rename(self, text):
        if not self.occurs(text):
            return text

        def each(match):
            name = renamed(match.group(0), self.old, self.new, self.whole)
            if name != match.group(0):
                self.count[match.group(0)] += 1
            return name
        return IDENTIFIER.sub(each, text)

    def rename_code(self, text, is_cxx):
        if not is_cxx:
            return self.rename(text)
        parts, at = [], 0
        kept = [match.span() for match in INCLUDE.finditer(text)]
        for match in NOT_CODE.finditer(text):
            if match.start() < at or any(a <= match.start() < b for a, b in kept):
                continue
            parts += [self.rename(text[at:match.start()]), match.group(0)]
            at = match.end()
        return "".join(parts) + self.rename(text[at:])


def tracked(root):
    names = subprocess.check_output(["git", "-C", root, "ls-files", "-z"], text=True).split("\0")
    return [name for name in names if name and os.path.isfile(os.path.join(root, name)) and not os.path.islink(os.path.join(root, name))]


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        return None


def is_own(path):
    return path.startswith("tools/dev/words/") or path.endswith("rename-words.py")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--dry-run"]
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    root = arguments[1] if len(arguments) > 1 else "."
    rules = [Rule(line) for line in read(arguments[0]).splitlines() if line.strip() and not line.startswith("#")]
    moved, changed = {}, 0
    for path in tracked(root):
        new_path = path
        for rule in rules:
            if rule.applies(path) and path.endswith(TEXT) and not is_own(path):
                new_path = "/".join(rule.rename(part) for part in new_path.split("/"))
        if new_path != path:
            moved[path] = new_path
    if "--dry-run" not in sys.argv:
        for path, new_path in moved.items():
            os.makedirs(os.path.join(root, os.path.dirname(new_path)), exist_ok=True)
            subprocess.check_call(["git", "-C", root, "mv", path, new_path])
    ends = {"/".join(old.split("/")[-2:]): "/".join(new.split("/")[-2:]) for old, new in moved.items()}
    mention = re.compile("|".join(sorted(map(re.escape, ends), key=len, reverse=True))) if ends else None
    before = {new: old for old, new in moved.items()}
    for path in tracked(root):
        text = read(os.path.join(root, path)) if path.endswith(TEXT) and not is_own(path) else None
        if text is None:
            continue
        new_text = mention.sub(lambda match: ends[match.group(0)], text) if mention else text
        for rule in rules:
            if not rule.applies(before.get(path, path)) or not rule.occurs(new_text):
                continue
            if rule.scope == "text":
                new_text = rule.rename(new_text)
            elif path.endswith(CODE) or path.endswith("CMakeLists.txt"):
                new_text = rule.rename_code(new_text, path.endswith(CODE))
        if new_text != text:
            changed += 1
            if "--dry-run" not in sys.argv:
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(new_text)
    for rule in rules:
        print(f"{' '.join(rule.old)} -> {' '.join(rule.new)}: {sum(rule.count.values())} of {len(rule.count)} names: "
              + ", ".join(f"{name} {count}" for name, count in rule.count.most_common(12)))
    print(f"{changed} files changed, {len(moved)} moved")


main()
