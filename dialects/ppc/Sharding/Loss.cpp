// Sharding rules of losses.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

// [d0, ..., v] for the classes.
static SmallVector<StringRef> classNames(Value classes) {
  SmallVector<StringRef> names = dimensionNames(tensorType(classes).getRank());
  names.back() = "v";
  return names;
}

// As one op the classes cannot be sharded; `ppc-expand-cross-entropy` turns it into ops that allow it.
ShardingRule CrossEntropyOp::getShardingRule() {
  SmallVector<StringRef> names = classNames(getLogits());
  ArrayRef<StringRef> rows = ArrayRef(names).drop_back();
  return ShardingRuleBuilder(*this)
      .operand(0, names)
      .operand(1, rows)
      .result(0, rows)
      .result(1, rows)
      .replicate("v")
      .build();
}

ShardingRule PickOp::getShardingRule() {
  SmallVector<StringRef> names = classNames(getX());
  ArrayRef<StringRef> rows = ArrayRef(names).drop_back();
  return ShardingRuleBuilder(*this)
      .operand(0, names)
      .operand(1, rows)
      .result(0, rows)
      .positional("v")
      .linear(Linearity::Each, {0})
      .build();
}

bool PickOp::setFactorBlock(unsigned factor, Attribute block) {
  if (getShardingRule().operands[0].back().front() != factor)
    return false;
  setClassesAttr(cast<BlockAttr>(block));
  return true;
}

ShardingRule CrossEntropyBackwardOp::getShardingRule() {
  SmallVector<StringRef> names = classNames(getLogits());
  ArrayRef<StringRef> rows = ArrayRef(names).drop_back();
  return ShardingRuleBuilder(*this)
      .operand(0, names)
      .operand(1, rows)
      .operand(2, rows)
      .operand(3, rows)
      .result(0, names)
      .positional("v")
      .linear(Linearity::Each, {3})
      .keepsZeroPadding(0)
      .build();
}

bool CrossEntropyBackwardOp::setFactorBlock(unsigned factor, Attribute block) {
  if (getShardingRule().operands[0].back().front() != factor)
    return false;
  setClassesAttr(cast<BlockAttr>(block));
  return true;
}
