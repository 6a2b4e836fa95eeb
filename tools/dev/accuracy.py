#!/usr/bin/env python3
"""Converts measured training steps to rows of `ppc-plan --evaluate`."""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from accuracy import row, tables

parser = argparse.ArgumentParser()
parser.add_argument("--measured", required=True)
parser.add_argument("--emit-rows")
options = parser.parse_args()
for name, rows in tables.read_tables(options.measured, os.path.join(os.path.abspath(options.emit_rows), "models")).items():
    path = row.write_rows(options.emit_rows, name, rows)
    excluded = sum(1 for r in rows if r.excluded)
    print(f"{path}: {len(rows)} rows, {excluded} excluded")
