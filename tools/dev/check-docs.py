#!/usr/bin/env python3
"""Runs every command that the documentation shows.

A fenced block that starts with ```sh holds commands, one per line (a line may end in a backslash). All blocks of one page
run in order in one bash, in a scratch folder that holds links to the project's files, with the programs of BUILD on
PATH. A block after the comment <!-- not run: REASON --> is skipped; REASON must be one of NOT_RUN below. A fenced
```text block right after a run block is what the block prints: `...` in it stands for anything, a number for any number. A block after the comment
<!-- from: PATH --> quotes a file: its lines must be in the file, in this order; `...` skips lines.

Links must lead to files and headings that exist, and so must the pages that sources and tests name. No page holds more words
than docs/budget.csv gives it, and each question of docs/questions.csv has its heading.

With --times, the seconds of the processor that each block takes are listed.

usage: check-docs.py --build BUILD [--list] [--times] [PAGE...]
       check-docs.py --links [PAGE...]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))

# Reasons why a command is shown and not run here; the page names one of them.
NOT_RUN = {
    "installs packages": "setup.sh itself is run by check.sh",
    "builds everything": "check.sh has just done so",
    "takes minutes": "run by hand before a release",
    "needs a machine that does nothing else": "compiled functions that are late end the run; test/Runtime emulates",
    "needs a GPU": "test/Target/Cuda/gpu-check.test runs such commands on the stand-in",
    "needs mpirun": "test/Integration/mpi.test runs such commands where mpirun is installed",
    "downloads a framework": "the golden files in the tree are its result",
    "needs a file of configurations": "what others publish is not in the tree; small ones of each case are in test/Integration/Reference",
}

BLOCK = re.compile(r"(?:<!--\s*(?:not run:\s*(?P<reason>.*?)|from:\s*(?P<source>.*?))\s*-->\s*\n)?^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```$", re.M | re.S)


class Block:
    def __init__(self, match, text):
        self.reason, self.body = match["reason"], match["body"]
        self.line = text.count("\n", 0, match.start("language")) + 1
        self.expected = None


def blocks(page):
    """The command blocks of a page, each with the output block that follows it."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    found, end = [], 0
    for match in BLOCK.finditer(text):
        if match["language"] == "sh":
            found.append(Block(match, text))
        elif match["language"] == "text" and found and not text[end:match.start()].strip() and not found[-1].reason:
            found[-1].expected = match["body"]
        end = match.end()
    return found


def quotes(page):
    """Problems of the blocks that quote files."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    problems = []
    for match in BLOCK.finditer(text):
        if match["source"] is None:
            continue
        where = f"{os.path.relpath(page, ROOT)}:{text.count(chr(10), 0, match.start('language')) + 1}"
        path = os.path.join(ROOT, match["source"])
        if not os.path.exists(path):
            problems.append(f"{where}: there is no file {match['source']}")
            continue
        with open(path, encoding="utf-8") as file:
            lines = iter([line.strip() for line in file])
        for line in match["body"].splitlines():
            if line.strip() not in ("", "...") and line.strip() not in lines:
                problems.append(f"{where}: {match['source']} does not have here the line\n{line}")
                break
    return problems


def prose(page):
    """A page without its fenced blocks."""
    with open(page, encoding="utf-8") as file:
        return re.sub(r"^```.*?^```$", "", file.read(), flags=re.S | re.M)


def anchors(page):
    """The anchors that a page's headings make, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", prose(page), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        again = sum(bool(re.fullmatch(re.escape(anchor) + r"(-\d+)?", each)) for each in found)
        found.add(f"{anchor}-{again}" if again else anchor)
    return found


def links(page):
    """Problems of links to files of the project and to headings in them."""
    folder, name, problems = os.path.dirname(page), os.path.relpath(page, ROOT), []
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", prose(page)):
        path = os.path.join(folder, target) if target else page
        if not os.path.exists(path):
            problems.append(f"{name}: the link to {target} leads nowhere")
        elif anchor and path.endswith(".md") and anchor not in anchors(path):
            problems.append(f"{name}: {target or 'the page'} has no heading #{anchor}")
    return problems


PAGE_NAME = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md\b")
# Files that quote the pages of other projects.
OTHERS_PAGES = ("test/Accuracy/measured/", "test/Accuracy/heldout/")


def sources():
    """Problems of the pages that sources, tests and scripts name."""
    problems = []
    for top in ("dialects", "docs", "include", "lib", "runtime", "test", "tools", "README.md", "CMakeLists.txt"):
        top = os.path.join(ROOT, top)
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names] if os.path.isdir(top) else [top]
        for path in paths:
            name = os.path.relpath(path, ROOT)
            if name.startswith(OTHERS_PAGES) or not name.endswith((".md", ".h", ".cpp", ".td", ".py", ".sh", ".test", ".mlir", ".yaml", ".txt")):
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            problems += [f"{name}: there is no page {page}" for page in sorted(set(PAGE_NAME.findall(text)))
                         if not os.path.exists(os.path.join(ROOT, page))]
    return problems


def budgets(pages):
    """Problems of pages that hold more words than docs/budget.csv gives them, as `wc -w` counts."""
    with open(os.path.join(ROOT, "docs/budget.csv"), encoding="utf-8") as file:
        budget = {name: int(words) for name, words in (line.split(",") for line in file.read().split()[1:])}
    problems, found = [], set()
    for page in pages:
        name = os.path.relpath(page, ROOT)
        found.add(name)
        with open(page, encoding="utf-8") as file:
            words = len(file.read().split())
        if name not in budget:
            problems.append(f"{name}: docs/budget.csv has no words for it")
        elif words > budget[name]:
            problems.append(f"{name}: {words} words, docs/budget.csv gives it {budget[name]}: shorten it, or move facts to their page")
    return problems + [f"docs/budget.csv: there is no page {name}" for name in sorted(set(budget) - found)]


def questions():
    """Problems of the questions of docs/questions.csv, each of which a heading answers."""
    problems = []
    with open(os.path.join(ROOT, "docs/questions.csv"), encoding="utf-8") as file:
        for line in file.read().splitlines()[1:]:
            _, question, heading = line.split(",")
            page, anchor = heading.split("#")
            path = os.path.join(ROOT, "docs", page)
            if not os.path.exists(path) or anchor not in anchors(path):
                problems.append(f"docs/questions.csv: '{question}' has no heading {heading}")
    return problems


NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def matches(expected, printed):
    """Is `printed` what the page shows? `...` matches anything, numbers match numbers, blanks match blanks."""
    def word(text):
        parts = NUMBER.split(text)
        return NUMBER.pattern.join(re.escape(part) for part in parts)
    pieces = [r"\s+".join(word(text) for text in piece.split()) for piece in expected.split("...")]
    return re.fullmatch(r"\s*" + r"[\s\S]*".join(pieces) + r"\s*", printed) is not None


def run_page(page, page_blocks, build, times):
    """Runs a page's blocks; returns problems, and adds to `times` the seconds of each."""
    name = os.path.relpath(page, ROOT)
    problems, running = [], []
    for block in page_blocks:
        if block.reason is None:
            running.append(block)
        elif block.reason not in NOT_RUN:
            problems.append(f"{name}:{block.line}: 'not run: {block.reason}' is not a reason of tools/dev/check-docs.py")
    if not running:
        return problems
    with tempfile.TemporaryDirectory() as scratch:
        for entry in os.listdir(ROOT):
            if entry not in ("build", ".git"):
                os.symlink(os.path.join(ROOT, entry), os.path.join(scratch, entry))
        os.mkdir(os.path.join(scratch, "build"))
        for preset in ("dev", "release"):
            os.symlink(build, os.path.join(scratch, "build", preset))
        script = "set -e\n"
        for index, block in enumerate(running):
            script += f"{{\n{block.body}}} > block{index}.out 2> block{index}.err\necho {index} >> done\ntimes > block{index}.times\n"
        environment = dict(os.environ, PATH=f"{build}/bin:/usr/lib/llvm-22/bin:" + os.environ["PATH"])
        status = subprocess.run(["bash", "-c", script], cwd=scratch, env=environment).returncode

        def output(index, kind):
            path = os.path.join(scratch, f"block{index}.{kind}")
            return open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""

        finished = len(output_lines(os.path.join(scratch, "done")))
        before = 0
        for index, block in enumerate(running):
            where = f"{name}:{block.line}"
            if index >= finished:
                problems.append(f"{where}: exit status {status}\n{block.body}{output(index, 'out')}{output(index, 'err')}")
                break
            seconds = sum(60 * int(minutes) + float(rest) for minutes, rest in re.findall(r"(\d+)m([\d.]+)s", output(index, "times")))
            times.append((seconds - before, where))
            before = seconds
            if block.expected is not None and not matches(block.expected, output(index, "out")):
                problems.append(f"{where}: prints\n{output(index, 'out')}and not\n{block.expected}")
    return problems


def output_lines(path):
    return open(path).read().split() if os.path.exists(path) else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="build folder; its bin/ is put on PATH")
    parser.add_argument("--list", action="store_true", help="only list the command blocks")
    parser.add_argument("--links", action="store_true", help="run no command: check links, quotes, words and the pages that sources name")
    parser.add_argument("--times", action="store_true", help="list the seconds of the processor that each block takes")
    parser.add_argument("pages", nargs="*", help="pages; all of docs/ and README.md when none is given")
    arguments = parser.parse_args()
    pages = arguments.pages or [os.path.join(ROOT, "README.md")] + sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(ROOT, "docs")) for name in names if name.endswith(".md"))
    problems, count, times = [], 0, []
    if not arguments.pages:
        problems += sources() + budgets(pages) + questions()
    for page in pages:
        page_blocks = blocks(page)
        problems += quotes(page) + links(page)
        count += sum(block.reason is None for block in page_blocks)
        if arguments.list:
            for block in page_blocks:
                print(f"{os.path.relpath(page, ROOT)}:{block.line}: {'run' if block.reason is None else 'not run: ' + block.reason}")
        elif not arguments.links:
            if not arguments.build:
                parser.error("--build is needed to run commands")
            problems += run_page(page, page_blocks, os.path.realpath(arguments.build), times)
    if arguments.times:
        print(*(f"{seconds:8.2f} s  {where}" for seconds, where in sorted(times, reverse=True)), sep="\n")
    print("\n".join(problems) if problems else f"{count} command blocks in {len(pages)} pages")
    sys.exit(1 if problems else 0)


main()
