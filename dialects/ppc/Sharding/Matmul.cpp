// The sharding rule of a matmul is its notation.
#include "dialects/ppc/Ppc.h"
#include "ppc/Interfaces/ShardingRuleBuilder.h"

using namespace mlir;
using namespace mlir::ppc;

static SmallVector<StringRef> letters(StringRef text) {
  SmallVector<StringRef> names;
  for (size_t i = 0; i < text.size(); ++i)
    names.push_back(text.substr(i, 1));
  return names;
}

ShardingRule MatmulOp::getShardingRule() {
  return ShardingRuleBuilder(*this)
      .operand(0, letters(lhsLetters()))
      .operand(1, letters(rhsLetters()))
      .result(0, letters(resultLetters()))
      .linear(Linearity::Each, {0, 1})
      .keepsZeroPadding(0)
      .build();
}
