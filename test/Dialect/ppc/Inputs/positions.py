#!/usr/bin/env python3
"""Adds up what --test-ppc-sharding-rules reports of the files given: ops, loops and numbers of blocks."""
import re
import subprocess
import sys

opt, files = sys.argv[1], sys.argv[2:]
ops, blocks, faults = 0, 0, 0
for name in files:
    result = subprocess.run([opt, name, "--test-ppc-sharding-rules", "-o", "/dev/null"], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{name}: {result.stderr}")
    for number, noticed in re.findall(r"(\d+) numbers of blocks, (\d+) planted faults noticed", result.stderr):
        ops, blocks, faults = ops + 1, blocks + int(number), faults + int(noticed)
print(f"{ops} ops, {faults} loops, each with the opposite planted and noticed, {blocks} loops in blocks")
sys.exit(0 if ops and faults and blocks else 1)
