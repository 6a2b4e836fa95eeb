"""Every op of the dialect stands in the tests of its family, and every numbered constraint in invalid*.mlir.

Reads dialects/ppc/IR/*.td; prints one line per gap and exits with 1.
"""
import os
import re
import sys

SOURCE = sys.argv[1]
IR = os.path.join(SOURCE, "dialects/ppc/IR")
TESTS = os.path.join(SOURCE, "test/Dialect/ppc")
INVALID = ("invalid.mlir", "invalid-extents.mlir", "invalid-routing.mlir", "invalid-parallel.mlir")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def ops(family):
    """Pairs of mnemonic and text of the op's definition."""
    text = read(IR, family + ".td")
    starts = [match for match in re.finditer(r'^def \w+Op : Ppc_\w*Op<"(\w+)"', text, re.MULTILINE)]
    ends = [match.start() for match in starts[1:]] + [len(text)]
    return [(match.group(1), text[match.start():end]) for match, end in zip(starts, ends)]


def main():
    gaps = []
    count = 0
    shown, invalid = read(TESTS, "ops.mlir"), "".join(read(TESTS, name) for name in INVALID)
    for family in re.findall(r'IR/(\w+)\.td"', read(IR, "PpcOps.td")):
        files = {f"{folder}/{family.lower()}.mlir": "" for folder in ("Sharding", "Cost", "Gradient")}
        for name in files:
            if os.path.exists(os.path.join(TESTS, name)):
                files[name] = read(TESTS, name)
        for mnemonic, definition in ops(family):
            count += 1
            uses = re.compile(rf"ppc\.{mnemonic}\b")
            gaps += [f"{name} does not show ppc.{mnemonic}"
                     for name, text in [("ops.mlir", shown), *files.items()] if not uses.search(text)]
            for number in sorted(set(re.findall(r"\bC(\d)\b", definition))):
                if not re.search(rf"@{mnemonic}_c{number}(_\w+)?\(", invalid):
                    gaps.append(f"invalid*.mlir has no @{mnemonic}_c{number}")
    print("\n".join(gaps + [f"{count} ops, {len(gaps)} gaps"]))
    sys.exit(bool(gaps))


main()
