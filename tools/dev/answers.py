#!/usr/bin/env python3
"""Renews what the commands of docs/guide/Recipes.md print there.

Each block of commands is run, and of each command's output the heading, the table of plans, phases of fine-tuning and errors are
kept. Without --write prints them with the seconds that each command took.

usage: answers.py --plan-tool build/release/bin/ppc-plan [--write] [--only N]...
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
PAGE = os.path.join(ROOT, "docs/guide/Recipes.md")
BLOCKS = re.compile(r"```sh\n(?P<commands>.*?)```\n\n```text\n(?P<output>.*?)```\n", re.S)
# Lines of the output that are shown: all but what the numbers count and where the time goes.
DROPPED = ("MFU: ", "HFU: ", "stack ppc models", "where the time goes", "no layout of the space", "ppc-compile 1:", "plans: ", "no option names", "~ no step", "note: by closed formulas", "ranges: ")


def shown(text):
    lines, skips = [], False
    for line in text.splitlines():
        if line.startswith("where the time goes"):
            skips = True
        elif not line.startswith("  "):
            skips = False
        lines.append("..." if skips or line.startswith(DROPPED) else line)
    return re.sub(r"\s*(?:^\.\.\.$\s*)+", "\n...\n", "\n".join(lines), flags=re.M).strip()


def answer(commands, tool, folder):
    """Output shown for each command, and the seconds it took."""
    texts, seconds = [], []
    # A here-document belongs to the command that it precedes; a backslash continues a line.
    for command in re.findall(r"(?:cat > .*?^YAML\n)|(?:.*?[^\\]\n)", commands, re.S | re.M):
        started = time.time()
        environment = dict(os.environ, PATH=os.path.dirname(os.path.abspath(tool)) + ":" + os.environ["PATH"])
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{command}{done.stdout}{done.stderr}")
        seconds.append(time.time() - started)
        if text := shown(done.stdout):
            texts.append(text)
    return "\n".join(texts) + "\n", seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan-tool", required=True)
    parser.add_argument("--write", action="store_true", help="into the page")
    parser.add_argument("--only", type=int, action="append", help="number of a question")
    options = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(ROOT, "test"), os.path.join(folder, "test"))
        number = 0

        def renew(match):
            nonlocal number
            number += 1
            if options.only and number not in options.only:
                return match[0]
            output, seconds = answer(match["commands"], options.plan_tool, folder)
            print(f"{number}: {' + '.join(f'{each:.1f}' for each in seconds)} s\n{output}", flush=True)
            return f"```sh\n{match['commands']}```\n\n```text\n{output}```\n"

        page = BLOCKS.sub(renew, page)
    if options.write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
