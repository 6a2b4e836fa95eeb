#!/usr/bin/env python3
"""Writes the skeleton of a pass: its entry in Passes.td, its .cpp, and its tests; names follow from the first.

    tools/dev/new-pass.py Sharding/InsertReshards "Insert the reshards that make every use see the sharding it needs"

The subject is a folder of lib/Transforms. Add the new .cpp to the subject's CMakeLists.txt and the pass, with the reason for its
position, to the phase that runs it. `--dry-run` prints what would be written.
"""
import argparse
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))

TD = '''
def {name}Pass : Pass<"{argument}", "mlir::ModuleOp"> {{
  let summary = "{summary}";
  let description = [{{
    What it does, what it requires of its input, what it guarantees, the options that matter.
  }}];
  let dependentDialects = ["ppc::PpcDialect"];
}}
'''
CPP = '''// {argument}: {summary}.

#include "ppc/Transforms/{subject}/Passes.h"

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {{
#define GEN_PASS_DEF_{upper}PASS
#include "ppc/Transforms/{subject}/Passes.h.inc"

namespace {{
struct {name}Pass : impl::{name}PassBase<{name}Pass> {{
  void runOnOperation() override {{}}
}};
}} // namespace
}} // namespace mlir::ppc
'''
TEST = '''// RUN: ppc-opt %s --{argument} | FileCheck %s

// CHECK-LABEL: func.func @case
func.func @case() {{
  return
}}
'''
INVALID = '''// RUN: ppc-opt %s --{argument} --split-input-file --verify-diagnostics

func.func @invalid() {{
  return
}}
'''


def kebab(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pass_name", metavar="SUBJECT/NAME")
    parser.add_argument("summary")
    parser.add_argument("--dry-run", action="store_true")
    arguments = parser.parse_args()
    match = re.fullmatch(r"([A-Z]\w*)/([A-Z]\w*?)(Pass)?", arguments.pass_name)
    if not match:
        parser.error(f"'{arguments.pass_name}' is not SUBJECT/NAME in CamelCase, such as Sharding/InsertReshards")
    subject, name = match[1], match[2]
    words = kebab(name)
    facts = dict(subject=subject, name=name, upper=name.upper(), argument="ppc-" + words, summary=arguments.summary.rstrip("."))
    td = f"include/ppc/Transforms/{subject}/Passes.td"
    if not os.path.exists(os.path.join(ROOT, td)):
        sys.exit(f"error: {td} does not exist: the subject needs its Passes.td, Passes.h and CMakeLists.txt first "
                 f"(copy those of another subject)")
    files = {
        f"lib/Transforms/{subject}/{name}.cpp": CPP,
        f"test/Transforms/{subject}/{words}.mlir": TEST,
        f"test/Transforms/{subject}/{words}-invalid.mlir": INVALID,
    }
    present = [path for path in files if os.path.exists(os.path.join(ROOT, path))]
    if present:
        sys.exit(f"error: {', '.join(present)} exists already")
    with open(os.path.join(ROOT, td), encoding="utf-8") as file:
        text = file.read()
    guard = text.rfind("\n#endif")
    entry = TD.format(**facts)
    text = text[:guard] + entry + text[guard:] if guard >= 0 else text + entry
    for path, content in {td: text, **{path: template.format(**facts) for path, template in files.items()}}.items():
        print(("would write " if arguments.dry_run else "writing ") + path)
        if not arguments.dry_run:
            os.makedirs(os.path.dirname(os.path.join(ROOT, path)), exist_ok=True)
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write(content)
    print(f"now: add {name}.cpp to lib/Transforms/{subject}/CMakeLists.txt and the pass to its phase in lib/Phases")


main()
