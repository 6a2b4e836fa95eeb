#!/usr/bin/env python3
"""Writes the skeleton of an op with one operand and one result of the same type: definition, the answer to every interface, and the
tests. The answers are stubs that compile and are marked as such; docs/internals/AddingAnOp.md explains each.

    tools/dev/new-op.py Elementwise/softplus "ln(1 + e^x)"

The family is a file of dialects/ppc/IR. `--dry-run` prints what would be written.
"""
import argparse
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))

TD = '''def Ppc_{name}Op : Ppc_DifferentiableOp<"{mnemonic}", [SameOperandsAndResultType]> {{
  let summary = "{formula}";
  let description = [{{
    Computes `{formula}`.

    Example: `%y = ppc.{mnemonic} %x : tensor<4x8xf32>`
  }}];
  let arguments = (ins Ppc_FloatTensor:$x);
  let results = (outs Ppc_FloatTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}}
'''
ANSWERS = {
    "Sharding": '''
ShardingRule {name}Op::getShardingRule() {{ return ShardingRule::none("the rule of {mnemonic} is not written yet"); }}
''',
    "Cost": '''
OpCost {name}Op::getCost() {{ return perElement(*this, 1); }}
''',
    "Gradient": '''
// y = {formula}: dx =
FailureOr<Value> {name}Op::buildGradient(OpBuilder &, unsigned, ArrayRef<Value>) {{
  return emitOpError("the gradient is not written yet");
}}
Kept {name}Op::keptForGradient(unsigned) {{ return {{}}; }}
''',
    "Reference": '''
LogicalResult {name}Op::evaluate(Operands, Context, Results) {{ return emitOpError("the value is not written yet"); }}
''',
}
TEST_HEADER = "// RUN: ppc-opt %s | ppc-opt | FileCheck %s\n"
TEST = '''
// CHECK-LABEL: func.func @{mnemonic}
func.func @{mnemonic}(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {{
  // CHECK: ppc.{mnemonic} %{{{{.*}}}} : tensor<4x8xf32>
  %y = ppc.{mnemonic} %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}}
'''


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("op_name", metavar="FAMILY/MNEMONIC")
    parser.add_argument("formula", help="what it computes, in one line")
    parser.add_argument("--dry-run", action="store_true")
    arguments = parser.parse_args()
    match = re.fullmatch(r"([A-Z]\w*)/([a-z][a-z0-9_]*)", arguments.op_name)
    if not match:
        parser.error(f"'{arguments.op_name}' is not FAMILY/MNEMONIC, such as Elementwise/softplus")
    family, mnemonic = match.groups()
    facts = dict(name="".join(word.title() for word in mnemonic.split("_")), mnemonic=mnemonic, formula=arguments.formula)
    additions = {f"dialects/ppc/IR/{family}.td": TD}
    additions.update({f"dialects/ppc/{folder}/{family}.cpp": text for folder, text in ANSWERS.items()})
    additions["test/Dialect/ppc/ops.mlir"] = TEST
    for path in additions:
        if path.startswith("dialects/") and not os.path.exists(os.path.join(ROOT, path)):
            families = sorted(name[:-3] for name in os.listdir(os.path.join(ROOT, "dialects/ppc/IR")) if name.endswith(".td"))
            sys.exit(f"error: {path} does not exist; files of dialects/ppc/IR: {', '.join(families)}")
    for path, template in additions.items():
        text = TEST_HEADER
        if os.path.exists(os.path.join(ROOT, path)):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text = file.read()
        if path.endswith(".td") and f'"{mnemonic}"' in text:
            sys.exit(f"error: {path} has '{mnemonic}' already")
        addition = template.format(**facts)
        end = text.rfind("\n#endif")
        text = text[:end + 1] + addition + text[end:] if path.endswith(".td") and end >= 0 else text + addition
        print(("would add to " if arguments.dry_run else "adding to ") + path)
        if not arguments.dry_run:
            os.makedirs(os.path.dirname(os.path.join(ROOT, path)), exist_ok=True)
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write(text)
    print("now: write the rule, cost, gradient and value; add an example to the tests that walk all ops")


main()
