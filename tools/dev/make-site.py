#!/usr/bin/env python3
"""Builds the documentation as a site with a search, by Debian's mkdocs and python3-lunr (tools/dev/setup.sh installs both).

usage: make-site.py [FOLDER] [--questions]

The site is written to FOLDER (build/site by default); `python3 -m http.server --directory build/site` shows it. With --questions each
question of docs/questions.csv is asked of the site's search index: its heading must be among the first three results.
"""
import argparse
import json
import logging
import os
import re
import shutil
import sys
import tempfile

from lunr import lunr
from lunr.index import Index
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
GROUPS = [("Guide", "guide"), ("Reference", "reference"), ("Figures", "performance"), ("Internals", "internals"), ("Why", "Rationale")]
LINK = re.compile(r"\[([^\]\n]*)\]\(([^)#:\s]*)(#[^)\s]+)?\)")
TITLE_BOOST = 10  # a word of a heading counts as many of the text
FIRST = 3
# Characters of questions that lunr would take as operators, or as a part of words.
PUNCTUATION = r"[^\w\s']"


def slug(text, _separator):
    """The anchor that GitHub makes of a heading, and check-docs.py expects."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def staged_name(path):
    """The page's path in the site's sources; None for files that are not part of it."""
    if path == "README.md":
        return "index.md"
    if path == "docs/README.md":
        return "documentation.md"
    return path[len("docs/"):] if path.startswith("docs/") else None


def stage(folder):
    """Copies pages and pictures; links to sources of the project become plain text, as the site does not hold them."""
    sources = ["README.md"] + [os.path.relpath(os.path.join(place, name), ROOT) for place, _, names in os.walk(os.path.join(ROOT, "docs")) for name in names
                               if name.endswith((".md", ".svg", ".txt")) and name != "CMakeLists.txt"]
    for source in sources:
        target = os.path.join(folder, staged_name(source))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not source.endswith(".md"):
            shutil.copy(os.path.join(ROOT, source), target)
            continue

        def link(match):
            words, path, anchor = match[1], match[2], match[3] or ""
            if not path:
                return match[0]
            name = staged_name(os.path.normpath(os.path.join(os.path.dirname(source), path)))
            if name is None or not os.path.exists(os.path.join(ROOT, os.path.dirname(source), path)):
                return words
            return f"[{words}]({os.path.relpath(os.path.join(folder, name), os.path.dirname(target))}{anchor})"

        with open(os.path.join(ROOT, source), encoding="utf-8") as file:
            parts = re.split(r"(^```.*?^```$)", file.read(), flags=re.M | re.S)
        with open(target, "w", encoding="utf-8") as file:
            file.write("".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts))


def navigation(folder):
    pages = [{"PPC": "index.md"}, {"Three paths": "documentation.md"}]
    for title, group in GROUPS:
        names = sorted(name for name in os.listdir(os.path.join(folder, group)) if name.endswith(".md"))
        names.sort(key=lambda name: name != "README.md")
        pages.append({title: [{("Overview" if name == "README.md" else name[:-3]): f"{group}/{name}"} for name in names]})
    return pages


def replace_once(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        sys.exit(f"error: {path} does not hold '{old}' once: another version of mkdocs?")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def make(site):
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as scratch:
        pages, settings = os.path.join(scratch, "docs"), os.path.join(scratch, "mkdocs.yml")
        stage(pages)
        with open(settings, "w", encoding="utf-8") as file:
            file.write("site_name: PPC\n")
        config = load_config(config_file=settings, docs_dir=pages, site_dir=site, nav=navigation(pages), theme={"name": "readthedocs", "highlightjs": False},
                             strict=True,
                             plugins=[{"search": {}}], markdown_extensions=["tables", "fenced_code", {"toc": {"slugify": slug}}])
        build(config)
    path = os.path.join(site, "search/search_index.json")
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    fields = [{"field_name": "title", "boost": TITLE_BOOST}, "text"]
    data["index"] = lunr(ref="location", fields=fields, documents=data["docs"]).serialize()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, sort_keys=True, separators=(",", ":"))
    replace_once(os.path.join(site, "search/worker.js"), "index.search(query)", f'index.search(query.replace(/{PUNCTUATION}/g, " "))')
    return data


def location(heading, titles):
    """Where the site has the heading PAGE.md#ANCHOR; a page's title is also the page."""
    page, anchor = heading.split("#")
    url = page[:-len(".md")] + "/"
    return {f"{url}#{anchor}"} | ({url} if slug(titles.get(url, ""), "-") == anchor else set())


def ask(data):
    """Problems of the questions, asked of the index that the site loads."""
    index, problems, count = Index.load(data["index"]), [], 0
    titles = {each["location"]: each["title"] for each in data["docs"]}
    with open(os.path.join(ROOT, "docs/questions.csv"), encoding="utf-8") as file:
        for line in file.read().splitlines()[1:]:
            _, question, heading = line.split(",")
            found = [result["ref"] for result in index.search(re.sub(PUNCTUATION, " ", question))]
            wanted = location(heading, titles)
            count += 1
            if not wanted & set(found[:FIRST]):
                rank = next((number for number, each in enumerate(found, 1) if each in wanted), 0)
                problems.append(f"'{question}' finds {', '.join(found[:FIRST])}; {heading} is number {rank or 'none'}")
    return problems, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.path.join(ROOT, "build/site"))
    parser.add_argument("--questions", action="store_true", help="ask the questions of docs/questions.csv")
    options = parser.parse_args()
    data = make(os.path.abspath(options.folder))
    print(f"{sum('#' not in each['location'] for each in data['docs'])} pages, {len(data['docs'])} entries of the search in {options.folder}")
    if options.questions:
        problems, count = ask(data)
        print("\n".join(problems) or f"{count} questions have their heading among the first {FIRST} results")
        sys.exit(1 if problems else 0)


main()
