#!/usr/bin/env python3
"""Reads every example that the reference pages show.

    examples.py --docs build/dev/docs

An example of an op is code after the word Example in the page of its dialect: ppc-opt must read it, with operands of the types that
the op asks for. Every op must have one, or stand in WITHOUT. A block of MLIR in a page of passes follows the name of a test in
parentheses: each of its lines must be printed by a command of that test, `...` standing for anything and values having any names;
layer, stage and part of an op may be left out.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
WITHOUT = {"ppc.accumulate": "has a region: test/Transforms/Autodiff/split-microbatches.mlir shows one"}
# Parts of a program have no meaning outside of one; test/Dialect/ppcrt/program.mlir has an example of each.
PARTS = ["buffer", "check_finite", "collective", "copy", "device", "evaluate", "exchange", "load", "message", "program", "receive",
         "routine", "run", "send", "start", "step", "stream", "wait"]
WITHOUT.update({f"ppcrt.{part}": "is part of a program, or of a pair" for part in PARTS})
PASS_EXAMPLE = r"Example \((test/[^)]+)\)[^`]*?(?:`[^`\n]+`[^`]*?)*```mlir\n(.*?)```"
INSIDE = {"ppc.yield": "expects parent op 'ppc.accumulate'", "ppcrt.reach": "is in no block of the code of a routine"}  # the only error of an example alone


def parse(text):
    done = subprocess.run(["ppc-opt", "--allow-unregistered-dialect", "-"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def check(example):
    """Output of ppc-opt for the example; empty if it is right."""
    results = {name for left in re.findall(r"^\s*(%[\w, %]+?) = ", example, re.MULTILINE) for name in re.findall(r"%\w+", left)}
    operands = sorted({name for name in re.findall(r"%\w+", example)} - results)
    types = {name: "none" for name in operands}
    symbols = set(re.findall(r"@(\w+)", example))
    for _ in range(2 * len(operands) + 1):
        lines = [f'{name} = "example.operand"() : () -> {type}' for name, type in types.items()]
        groups = set(re.findall(r"[^.]group @(\w+)", example))
        symbols -= set(re.findall(r"ppcrt\.group @(\w+)", example))
        lines += [f'ppcrt.group @{name} axes ["{name}"]' for name in groups]
        taken = re.split(" : ", example)[-1]
        nested = re.findall(r"@(\w+)::@(\w+)", example)
        symbols -= {name for pair in nested for name in pair}
        lines += [f"module @{outer} {{ func.func private @{inner}({taken}) }}" for outer, inner in nested]
        lines += [f"func.func private @{name}({taken})" for name in symbols - groups]
        status, printed = parse("\n".join(lines) + "\n" + example + "\n")
        if status == 0 or INSIDE.get(example.split()[0], "\0") in printed:
            return None
        wanted = re.search(r"use of value '(%\w+)' expects different type than prior uses: '(.*)' vs 'none'", printed)
        if not wanted:
            return printed
        types[wanted[1]] = wanted[2]
    return printed


def sections(page):
    """(op or pass, its text) of a page."""
    with open(page) as file:
        parts = re.split(r"^#+ `-?([\w.-]+)`.*$", file.read(), flags=re.MULTILINE)
    return zip(parts[1::2], parts[2::2])


def printed_by(test):
    """Output of the commands of a test, without FileCheck."""
    path, output = os.path.join(ROOT, test), ""
    with tempfile.TemporaryDirectory() as scratch, open(path) as file:
        for command in re.findall(r"^// RUN: (.*)$", file.read(), re.MULTILINE):
            command = command.split("|")[0].replace("%s", path).replace("%t", os.path.join(scratch, "t"))
            command = command.replace("%inputs", os.path.join(ROOT, "test/Inputs"))
            output += subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    output = re.sub(r"ppc\.(layer|stage) = \d+ : i64(, )?|ppc\.part = #ppc\.part<\w+>(, )?", "", output)
    return output.replace(", }", "}").replace(" {} :", " :").replace(" {}\n", "\n")


def missing_line(block, output):
    """The first line of a block that `output` does not have; None when it has all."""
    joined = re.sub(r",\s*\n\s+", ", ", block)  # a line that is too long for the page continues with its attributes
    for line in filter(None, map(str.strip, joined.replace("} ]", "}]").split("\n"))):
        pattern = r"%[\w#:]+".join(".*".join(map(re.escape, re.split(r"\.\.\.", part))) for part in re.split(r"%\w+", line))
        if not re.search(pattern, output):
            return line
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", required=True)
    arguments = parser.parse_args()
    problems, ops, blocks = [], 0, 0
    for name, text in sections_of(arguments.docs, "Dialects"):
        found = re.findall(r"Example[^`]*?:?\s*`([^`]+)`", text)
        if "." in name and not found and name not in WITHOUT:
            problems.append(f"{name} has no example")
        for example in () if name in WITHOUT else found:
            ops += 1
            problem = check(example)
            problems += [f"{name}: {example}\n{problem}"] if problem else []
    for name, text in sections_of(arguments.docs, "Passes"):
        for test, block in re.findall(PASS_EXAMPLE, text, re.DOTALL):
            blocks += 1
            line = missing_line(block, printed_by(test))
            problems += [f"{name}: {test} does not print: {line}"] if line else []
        if text.count("```mlir") != len(re.findall(PASS_EXAMPLE, text, re.DOTALL)):
            problems.append(f"{name}: a block of MLIR names no test")
    for problem in problems:
        print("FAILED " + problem)
    print(f"{ops} examples of ops and {blocks} of passes, {len(problems)} problems")
    return 1 if problems or not ops or not blocks else 0


def sections_of(docs, folder):
    pages = sorted(name for name in os.listdir(os.path.join(docs, folder)) if name.endswith(".md"))
    return [section for page in pages for section in sections(os.path.join(docs, folder, page))]


sys.exit(main())
