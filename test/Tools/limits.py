#!/usr/bin/env python3
"""Holds docs/reference/Limits.md and include/ppc/Support/Limits.h equal: the same names, each with the same number."""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def header_numbers(text):
    numbers = {}
    for name, value in re.findall(r"constexpr (?:int64_t|double) (\w+) =\s*([^;]+);", text):
        value = re.sub(r"int64_t\((\d+)\)", r"\1", value.replace("'", ""))
        if not re.fullmatch(r"[\d.e+-]+(?: << \d+)?", value):
            sys.exit(f"Limits.h: {name} = {value} cannot be read")
        base, _, shift = value.partition(" << ")
        numbers[name] = int(base) << int(shift) if shift else float(base)
    return numbers


def page_numbers(text):
    numbers = {}
    for name, value, unit in re.findall(r"^\| `(\w+)` \| ([\d.,e^+-]+)(?: (\w+))? \|", text, re.M):
        if name in numbers:
            sys.exit(f"Limits.md: {name} is listed twice")
        base, _, exponent = value.replace(",", "").partition("^")
        numbers[name] = (int(base) ** int(exponent) if exponent else float(base)) * UNITS[unit]
    return numbers


def main():
    with open(os.path.join(ROOT, "include/ppc/Support/Limits.h"), encoding="utf-8") as file:
        header = header_numbers(file.read())
    with open(os.path.join(ROOT, "docs/reference/Limits.md"), encoding="utf-8") as file:
        page = page_numbers(file.read())
    wrong = [f"{name}: {header.get(name, 'missing')} in Limits.h, {page.get(name, 'missing')} in Limits.md" for name in sorted({*header, *page})
             if header.get(name) != page.get(name)]
    print("\n".join(wrong) or f"{len(header)} limits agree")
    return 1 if wrong or not header else 0


sys.exit(main())
