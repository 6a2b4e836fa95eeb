"""The table of private words (terms.tsv) and where they occur.

A row of the table has `words`, one of which a text must contain before `pattern` is tried (no pattern: the words themselves are hits), the
field's words that replace them, the scopes in which they count (extraction.py), `exceptions` (spans that are fine) and `except_paths`
(files in which the row does not count). The first row that matches a span of text counts.
"""
import collections
import csv
import os
import re

from words import extraction

HERE = os.path.dirname(os.path.realpath(__file__))
WORD = re.compile(r"[a-z]+")

Term = collections.namedtuple("Term", "name words pattern replacement scopes exceptions paths")
Hit = collections.namedtuple("Hit", "path line scope text term count")


def load(path=os.path.join(HERE, "terms.tsv")):
    """Rows of a table in order."""
    with open(path, encoding="utf-8", newline="") as file:
        return parse(file)


def parse(lines):
    rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    compiled = lambda text: re.compile(text, re.I) if text else None  # noqa: E731
    return [Term(row["pattern"] or row["words"], frozenset(row["words"].split("|")), compiled(row["pattern"] or rf"\b(?:{row['words']})\b"),
                 row["replacement"], frozenset(row["scopes"].split(",")), compiled(row["exceptions"]),
                 re.compile(row["except_paths"]) if row["except_paths"] else None) for row in rows]


class Finder:
    """Finds the terms of one table in texts."""

    def __init__(self, terms):
        self.by_scope = collections.defaultdict(dict)
        for index, term in enumerate(terms):
            for scope in term.scopes:
                for word in term.words:
                    self.by_scope[scope].setdefault(word, []).append((index, term))

    def spans(self, scope, path, text):
        """(start, end, term) of each hit in a text."""
        table = self.by_scope[scope]
        rows = {row for word in WORD.findall(text.lower()) if word in table for row in table[word]}
        taken = []
        for _, term in sorted(rows, key=lambda row: row[0]):
            if term.paths and term.paths.search(path):
                continue
            fine = [match.span() for match in term.exceptions.finditer(text)] if term.exceptions else []
            for match in term.pattern.finditer(text):
                if not any(start < match.end() and match.start() < end for start, end, *_ in fine + taken):
                    taken.append((*match.span(), term))
        return taken


def find(root, terms, paths=None):
    """Hits in the files of a checkout. A name counts once, in the first of the files that declare or use it, headers before others."""
    finder, hits, names, spans = Finder(terms), [], {}, {}
    for path in sorted(paths or extraction.files(root), key=lambda path: (not path.endswith((".h", ".td")), path)):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        for scope, line, unit in extraction.units(path, text):
            for start, end, term in finder.spans(scope, path, unit):
                around = unit[max(0, start - 40):end + 40]
                hits.append(Hit(path, line, scope, f'"{unit[start:end]}" in "{around}"', term, 1))
        for name, count in extraction.identifiers(path, text).items():
            if name not in spans:
                spans[name] = finder.spans("identifiers", path, extraction.spoken(name))
            if spans[name]:
                first = names.setdefault(name, [path, text, 0])
                first[2] += count
    for name, (path, text, count) in names.items():
        line = text.count("\n", 0, re.search(rf"(?<!\w){name}(?!\w)", text).start()) + 1
        hits += [Hit(path, line, "identifiers", name, term, count) for _, _, term in spans[name]]
    return hits
