// Sharding rules of ops that address by index or position.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

// ids [d0, ...], rows [d0, ..., h]
static SmallVector<StringRef> rowNames(RankedTensorType ids) {
  SmallVector<StringRef> names = dimensionNames(ids.getRank());
  names.push_back("h");
  return names;
}

ShardingRule EmbeddingOp::getShardingRule() {
  SmallVector<StringRef> rows = rowNames(tensorType(getIds()));
  return ShardingRuleBuilder(*this)
      .operand(0, {"v", "h"})
      .operand(1, ArrayRef(rows).drop_back())
      .result(0, rows)
      .positional("v")
      .linear(Linearity::Each, {0})
      .build(); // index 0, in the padding of ids, is a row like any other
}

bool EmbeddingOp::setFactorBlock(unsigned factor, Attribute block) {
  if (getShardingRule().operands[0][0].front() != factor)
    return false;
  setRowsAttr(cast<BlockAttr>(block));
  return true;
}

ShardingRule EmbeddingBackwardOp::getShardingRule() {
  SmallVector<StringRef> rows = rowNames(tensorType(getIds()));
  return ShardingRuleBuilder(*this)
      .operand(0, ArrayRef(rows).drop_back())
      .operand(1, rows)
      .result(0, {"v", "h"})
      .positional("v")
      .linear(Linearity::Each, {1})
      .keepsZeroPadding(0) // no id points at padding
      .build();
}

bool EmbeddingBackwardOp::setFactorBlock(unsigned factor, Attribute block) {
  if (getShardingRule().results[0][0].front() != factor)
    return false;
  setRowsAttr(cast<BlockAttr>(block));
  return true;
}

ShardingRule RotaryOp::getShardingRule() {
  SmallVector<StringRef> names = dimensionNames(getType().getRank());
  return ShardingRuleBuilder(*this)
      .pointwise()
      .replicate(names.back())
      .positional(names[1])
      .linear(Linearity::Joint, {0})
      .keepsZeroPadding(0)
      .build();
}

bool RotaryOp::setFactorBlock(unsigned factor, Attribute block) {
  if (factor != 1) // pointwise: loop i walks dimension i
    return false;
  setPositionsAttr(cast<BlockAttr>(block));
  return true;
}

bool RotaryOp::setFactorStart(unsigned factor, int64_t start) {
  if (factor != 1)
    return false;
  setStart(getStart() + uint64_t(start));
  return true;
}
