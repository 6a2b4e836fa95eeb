#!/usr/bin/env python3
"""Checks titles of commits: imperative, at most 72 characters, in the field's words.

    check-titles.py                commits that the upstream branch lacks, or the last commit
    check-titles.py main..HEAD     commits of a range
    check-titles.py --self-test    checks the checker

Words are checked with the rows of tools/dev/words/terms.tsv for comments. Merges and reverts are skipped. Prints one line per problem; exit status 1 if
there is one.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from words import table  # noqa: E402

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
LIMIT = 72
# Verbs in the imperative that end like other forms.
VERBS = set("embed feed need proceed seed shed speed succeed bring ping ring string swing access address alias assess bias bypass canvas compress "
            "cross discuss dismiss express focus guess miss pass press process progress suppress toss".split())
# Openings that are not verbs.
OTHERS = set("a an the this that these those it its we i you some all no not more new old minor small various several also when if for in on at to of "
             "from with by and or but there now fixes wip todo".split())


def mood(word):
    """Why the first word is not an imperative, or nothing."""
    lower = word.lower()
    if lower in VERBS:
        return ""
    if lower in OTHERS:
        return f"begins with '{word}'; begin with a verb"
    if re.search(r"[a-z]{2}ed$|[a-z]{2}ing$", lower):
        return f"begins with '{word}'; use the imperative"
    if lower.endswith("s") and not lower.endswith("ss"):
        return f"begins with '{word}'; use the imperative"
    return ""


def problems(title, finder):
    """Problems of one title."""
    found = []
    if len(title) > LIMIT:
        found.append(f"{len(title)} characters; {LIMIT} at most")
    first = re.match(r"[A-Za-z-]+", title)
    if not first or re.match(r"[\w()/-]+:", title):
        found.append("begin with a verb, without a tag")
    else:
        why = mood(first.group())
        found += [why] if why else []
        if title[0].islower():
            found.append("begin with a capital letter")
    if title.endswith((".", "!", ",")):
        found.append("ends in punctuation")
    unquoted = re.sub(r"`[^`]*`|\B--?[\w-]+", "``", title)
    for start, end, term in finder.spans("comments", "", unquoted):
        found.append(f"'{unquoted[start:end]}' is a private word: {term.replacement}")
    return found


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)


def commits(scope):
    """(hash, title) of the commits of a range, without merges and reverts."""
    if not scope:
        ahead = git("rev-list", "--count", "@{upstream}..HEAD")
        scope = ["@{upstream}..HEAD"] if ahead.returncode == 0 and int(ahead.stdout) else ["-1", "HEAD"]
    result = git("log", "--no-merges", "--format=%h%x09%s", *scope, "--")
    if result.returncode:
        sys.exit(f"error: git log: {result.stderr.strip()}")
    listed = [line.split("\t", 1) for line in result.stdout.split("\n") if line]
    return [(commit, title) for commit, title in listed if not re.match(r'Revert "|(?:fixup|squash|amend)! ', title)]


CASES = [
    ("Shard the LM head over the tensor-parallel group", 0),
    ("Overlap the all-gather with the matmul of its first chunk", 0),
    ("Pass --gizmo to `gizmo`", 0),
    ("Process each bucket once", 0),
    ("Shard " + "x" * 70, 1),
    ("Sharded the LM head", 1),
    ("Sharding the LM head", 1),
    ("Shards the LM head", 1),
    ("The LM head is sharded", 1),
    ("shard the LM head", 1),
    ("Shard the LM head.", 1),
    ("planner: shard the LM head", 1),
    ("Run each gizmo after the other gizmo", 2),
    ("", 1),
]


def self_test():
    finder = table.Finder(table.parse(["words\tpattern\treplacement\tscopes\texceptions\texcept_paths\n", "gizmo\t\twidget\tcomments\t\t\n"]))
    wrong = [(title, count, problems(title, finder)) for title, count in CASES if len(problems(title, finder)) != count]
    for title, count, found in wrong:
        print(f"self-test: {title!r}: expected {count} problems, got {found}")
    return bool(wrong)


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        sys.exit(self_test())
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        sys.exit("usage: check-titles.py [RANGE | --self-test]")
    finder, failed = table.Finder(table.load()), False
    for commit, title in commits(arguments):
        for problem in problems(title, finder):
            print(f"{commit} '{title}': {problem}")
            failed = True
    sys.exit(failed)


main()
