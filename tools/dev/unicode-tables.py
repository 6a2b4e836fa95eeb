#!/usr/bin/env python3
"""Prints runtime/tokenizer/CanonicalForms.inc: what the normal form NFC needs to know of characters, from Python's Unicode data.

    unicode-tables.py > runtime/tokenizer/CanonicalForms.inc
"""
import sys
import unicodedata


def columns(entries, width=118):
    line = ""
    for entry in entries:
        if line and len(line) + len(entry) > width:
            yield line
            line = ""
        line += entry
    yield line


def main():
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    decompositions, ranges = [], []
    for code in codes:
        mapping = unicodedata.decomposition(chr(code))
        if mapping and not mapping.startswith("<"):
            parts = [int(part, 16) for part in mapping.split()] + [0]
            composes = parts[1] and unicodedata.normalize("NFC", chr(code)) == chr(code)
            decompositions.append(f"{{{code:#x},{parts[0]:#x},{parts[1]:#x},{int(bool(composes))}}},")
        combining = unicodedata.combining(chr(code))
        if combining and ranges and ranges[-1][1:] == [code - 1, combining]:
            ranges[-1][1] = code
        elif combining:
            ranges.append([code, code, combining])
    print(f"// Of Unicode {unicodedata.unidata_version}, printed by tools/dev/unicode-tables.py.")
    print("// Character, what it decomposes into (the second may be 0), whether the two compose again; without Hangul.")
    print("constexpr Decomposition decompositions[] = {")
    print("\n".join(columns(decompositions)))
    print("};\n// First and last character of a range, and their combining class.")
    print("constexpr CombiningRange combiningRanges[] = {")
    print("\n".join(columns(f"{{{first:#x},{last:#x},{combining}}}," for first, last, combining in ranges)))
    print("};")


main()
