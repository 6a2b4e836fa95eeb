"""Text of source files by scope: comments, messages, docs, tests (names of tests) and identifiers.

`units(path, text)` yields tuples (scope, line, text). The lines of one comment are joined, and so are adjacent string literals, so that
a phrase is found across a line break. `code` in backquotes, addresses of links, options and names of files are blank. `identifiers(path, text)` counts the names
of C++, TableGen and Python code.
"""
import os
import re
from collections import Counter

FOLDERS = ("dialects", "docs", "include", "lib", "runtime", "test", "tools")
FILES = ("CMakeLists.txt", "README.md")
# Data of other projects, and files that hold no text of ours.
SKIPPED = re.compile(r"(?:^|/)(?:Corpus|Tokenizers|__pycache__|measured|heldout)/")
CODE = (".cpp", ".h", ".c", ".cc", ".cu", ".inc", ".td", ".in")
HASH = (".py", ".sh", ".cmake", ".yaml", ".yml", ".toml", ".supp", ".txt")

# Tokens of C++ and TableGen; a number comes first, since ' separates its digits.
CXX = re.compile(r"(?P<number>(?<!\w)\d[\w.']*)|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|R\"(?P<end>[^\s()\\]{0,16})\((?P<raw>.*?)\)(?P=end)\"|"
                 r"\"(?P<string>(?:\\.|[^\"\\\n])*)\"|'(?:\\.|[^'\\\n])*'", re.S)
TD_TEXT = re.compile(r"\[\{(.*?)\}\]", re.S)
TD_PROSE = re.compile(r"(?:description\s*=|(?:Static)?InterfaceMethod<(?:\s*/\*\s*desc\w*\s*=?\s*\*/)?)\s*$")
PYTHON = re.compile(r"(?P<comment>#[^\n]*)|[rbfuRBFU]{0,2}(?:\"\"\"(?P<long>.*?)\"\"\"|'''(?P<other>.*?)'''|\"(?P<double>(?:\\.|[^\"\\\n])*)\"|"
                    r"'(?P<single>(?:\\.|[^'\\\n])*)')", re.S)
SHELL = re.compile(r"(?P<comment>(?:(?<=\s)|^)#[^\n]*)|\"(?P<double>(?:\\.|[^\"\\])*)\"|'(?P<single>[^']*)'", re.S | re.M)
QUOTED, LINK = re.compile(r"``[^`]*``|`[^`]*`"), re.compile(r"\]\([^)]*\)|https?://\S+")
# Options and names of files are names, not prose.
SPELLED = re.compile(r"(?<![\w-])--[a-z][\w-]*(?:=[\w|.*-]+)?|\b[\w./*-]+\.(?:h|cpp|c|td|py|sh|md|mlir|test|yaml|yml|json|csv|txt)\b")
NAME = re.compile(r"[A-Za-z_]\w*")
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*\w+\s*,\s*(\w+)")
PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Lines of tests that instruct lit, FileCheck or mlir-opt.
DIRECTIVE = re.compile(r"\s*(?:(?:RUN|REQUIRES|UNSUPPORTED|XFAIL|END|DEFINE|REDEFINE)\b|[A-Z][A-Z0-9_]*(?:-[A-Z0-9_]+)*(?:\{[^}]*\})?:|-{3,}|%|.*expected-(?:error|warning|remark|note))")


def spoken(name):
    """insertReshards, insert-reshards -> 'insert reshards'."""
    return " ".join(part.lower() for part in PARTS.findall(name))


def clean(text):
    return " ".join(SPELLED.sub("``", LINK.sub("]", QUOTED.sub("``", text))).split())


def files(root):
    """Paths of the files of a checkout that hold text, from its root."""
    found = [name for name in FILES if os.path.exists(os.path.join(root, name))]
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(CODE + HASH + (".md", ".mlir", ".test"))]
    return sorted(path for path in found if not SKIPPED.search(path) and (not path.endswith(".txt") or path.endswith("CMakeLists.txt")))


class Comments:
    """Joins comments that stand alone on successive lines; a comment after code is joined with those below it at its column."""

    def __init__(self):
        self.found, self.last, self.column = [], -1, -1

    def add(self, line, column, text):
        if self.found and line == self.last + 1 and column == self.column:
            self.found[-1][1].append(text)
        else:
            self.found.append((line, [text]))
        self.last, self.column = line, column

    def units(self):
        return [("comments", line, clean(" ".join(lines))) for line, lines in self.found]


class Lines:
    """Line and column of ascending offsets in a text."""

    def __init__(self, text, first=1):
        self.text, self.line, self.offset = text, first, 0

    def at(self, offset):
        self.line += self.text.count("\n", self.offset, offset)
        self.offset = offset
        return self.line, offset - self.text.rfind("\n", 0, offset)


def message(text):
    """The unit's text of a string literal without values of f-strings, or nothing if it holds no two words."""
    text = re.sub(r"\{[^{}]*\}", "{}", text)
    text = re.sub(r"\\[nt]", " ", text).replace('\\"', '"')
    return clean(text) if " " in text.strip() else ""


def cxx(text, first=1):
    comments, lines, strings, found = Comments(), Lines(text, first), None, []
    included = {match.start(1) for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+(")', text, re.M)}
    end = 0
    for match in CXX.finditer(text):
        kind = match.lastgroup
        if kind == "number" or match.start() in included:
            continue
        line, column = lines.at(match.start())
        if match["line"] is not None:
            comments.add(line, column, match["line"].lstrip("/!<"))
        elif match["block"] is not None:
            found.append(("comments", line, clean(re.sub(r"^\s*\*+", "", match["block"][2:-2].strip("*!"), flags=re.M))))
        else:
            part = match["raw"] if match["raw"] is not None else match["string"]
            if part is None:
                continue
            if strings and not text[end:match.start()].strip():
                strings[1] += part
            else:
                strings and found.append(("messages", strings[0], message(strings[1])))
                strings = [line, part]
            end = match.end()
    strings and found.append(("messages", strings[0], message(strings[1])))
    return found + comments.units()


def tablegen(text):
    """Descriptions are docs; other [{...}] hold C++."""
    found, position, lines = [], 0, Lines(text)
    rest = []
    for match in TD_TEXT.finditer(text):
        line, _ = lines.at(match.start())
        rest.append(text[position:match.start()])
        position = match.end()
        if TD_PROSE.search(rest[-1]):
            found += markdown(match.group(1), line)
            rest.append("\n" * match.group().count("\n"))
        else:
            rest.append(match.group(1))
    return found + cxx("".join(rest) + text[position:])


def python(text):
    comments, lines, found = Comments(), Lines(text), []
    strings, end = None, 0
    for match in PYTHON.finditer(text):
        line, column = lines.at(match.start())
        if match["comment"] is not None:
            comments.add(line, column, match["comment"].lstrip("#! "))
            continue
        long = match["long"] if match["long"] is not None else match["other"]
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if long is not None and not before.strip() and not re.search(r"[(,=+]\s*$", text[max(0, match.start() - 200):match.start()]):
            found.append(("comments", line, clean(long)))
            continue
        part = long if long is not None else match["double"] if match["double"] is not None else match["single"]
        if strings and not text[end:match.start()].strip():
            strings[1] += part
        else:
            strings and found.append(("messages", strings[0], message(strings[1])))
            strings = [line, part]
        end = match.end()
    strings and found.append(("messages", strings[0], message(strings[1])))
    return found + comments.units()


def hashed(text, strings):
    comments, lines, found = Comments(), Lines(text), []
    for match in SHELL.finditer(text) if strings else re.finditer(r"(?P<comment>(?:(?<=\s)|^)#[^\n]*)", text, re.M):
        line, column = lines.at(match.start())
        if match["comment"] is not None:
            comments.add(line, column, match["comment"].lstrip("#! "))
        else:
            found.append(("messages", line, message(match["double"] if match["double"] is not None else match["single"])))
    return found + comments.units()


def markdown(text, first=1):
    """Paragraphs, headings, list items and rows of tables, without fenced blocks."""
    found, paragraph, start, fence = [], [], first, False
    indented = text.startswith("\n")
    for number, line in enumerate(text.split("\n") + [""], first):
        stripped = line.strip()
        opens = stripped.startswith("```")
        if opens:
            fence = not fence
        alone = re.match(r"#+ |[-*] |\d+\. |\||<!--", stripped)
        if fence or opens or not stripped or alone or (line.startswith("    ") and not indented):
            if paragraph:
                found.append(("docs", start, clean(" ".join(paragraph))))
            paragraph = []
        if fence or opens or not stripped:
            continue
        if not paragraph:
            start = number
        paragraph.append(stripped.lstrip("#-*| "))
        if re.match(r"#+ |\|", stripped):
            found.append(("docs", start, clean(paragraph.pop())))
    return found


def lit(text):
    comments = Comments()
    for number, line in enumerate(text.split("\n"), 1):
        match = re.search(r"//(.*)$|^#(.*)$", line)
        if match and not DIRECTIVE.match(match.group(1) or match.group(2) or ""):
            comments.add(number, match.start(), (match.group(1) or match.group(2) or "").strip())
    return comments.units()


def units(path, text):
    """Yields (scope, line, text) of a file."""
    kind = os.path.splitext(path)[1]
    found = []
    if path.startswith("test/") and kind not in (".md", ".yaml"):
        found.append(("tests", 1, spoken(os.path.splitext(os.path.basename(path))[0])))
    if kind == ".td":
        found += tablegen(text)
    elif kind in CODE:
        found += cxx(text)
        if path.startswith("test/"):
            found += [("tests", text.count("\n", 0, match.start()) + 1, spoken(match.group(1))) for match in TEST.finditer(text)]
    elif kind == ".py":
        found += python(text)
    elif kind == ".md":
        found += markdown(text)
    elif kind in (".mlir", ".test"):
        found += lit(text)
    else:
        found += hashed(text, kind in (".sh", ".cmake") or path.endswith("CMakeLists.txt"))
    return [unit for unit in found if unit[2]]


def identifiers(path, text):
    """Names in the code of a file, each with its number of occurrences; names of tests are not among them."""
    kind = os.path.splitext(path)[1]
    if kind not in CODE and kind != ".py":
        return Counter()
    if kind == ".td":
        text = TD_TEXT.sub(lambda match: " " if TD_PROSE.search(text[:match.start()]) else match.group(), text)
    names = Counter(NAME.findall((PYTHON if kind == ".py" else CXX).sub(" ", text)))
    for name in TEST.findall(text):
        del names[name]
    return names
