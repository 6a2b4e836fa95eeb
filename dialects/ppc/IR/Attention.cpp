// Attention: verification and type inference.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Attention.cpp.inc"

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value q, Value k, Value v, double scale, bool causal,
                        Value slopes, int64_t window) {
  RankedTensorType type = tensorType(q);
  SmallVector<int64_t> row(type.getShape().drop_back()), out(row);
  out.push_back(tensorType(v).getShape().back());
  build(builder, state, withShape(type, out), RankedTensorType::get(row, sumType(type.getElementType())), q, k, v,
        slopes, builder.getF64FloatAttr(scale), causal ? builder.getUnitAttr() : UnitAttr(),
        window ? builder.getI64IntegerAttr(window) : IntegerAttr(), AttentionStrategyAttr(), BlockAttr());
}

template <typename OpTy> static LogicalResult verifyAttention(OpTy op) {
  RankedTensorType q = tensorType(op.getQ()), k = tensorType(op.getK()), v = tensorType(op.getV());
  if (q.getRank() != 5 || k.getRank() != 4 || v.getRank() != 4) // attention_c1
    return op.emitOpError()
           << "'q' must be [batch, query, kv head, group, head dim], 'k' and 'v' [batch, key, kv head, dim], found "
           << q << ", " << k << " and " << v;
  if (q.getDimSize(0) != k.getDimSize(0) || q.getDimSize(2) != k.getDimSize(2) || q.getDimSize(4) != k.getDimSize(3))
    return op.emitOpError() << "batch, kv heads and head dim of 'q' and 'k' must agree, found " << q << " and " << k;
  if (k.getShape().drop_back() != v.getShape().drop_back())
    return op.emitOpError() << "batch, keys and kv heads of 'k' and 'v' must agree, found " << k << " and " << v;
  SmallVector<int64_t> row(q.getShape().drop_back()), out(row);
  out.push_back(v.getDimSize(3));
  if (op.getOut().getType() != withShape(q, out)) // attention_c2
    return op.emitOpError() << "'out' must be " << withShape(q, out) << ", found " << op.getOut().getType();
  Type sum = sumType(q.getElementType());
  if (op.getLse().getType() != withShape(q, row) && op.getLse().getType() != RankedTensorType::get(row, sum))
    return op.emitOpError() << "'lse' must be " << withShape(q, row) << ", found " << op.getLse().getType();
  if (q.getElementType() != k.getElementType() || q.getElementType() != v.getElementType()) // attention_c3
    return op.emitOpError() << "element types differ: " << q << ", " << k << " and " << v;
  std::optional<BlockAttr> block = op.getQueries();
  int64_t queries = block ? block->getExtent() : q.getDimSize(1);
  if (op.getCausal() && k.getDimSize(1) < queries) // attention_c4
    return op.emitOpError() << "causal attention needs at least as many keys as queries, found " << k.getDimSize(1)
                            << " keys and " << queries << " queries";
  if (std::optional<int64_t> window = op.getWindow()) // attention_c5
    if (!op.getCausal() || *window < 1)
      return op.emitOpError() << "window is " << *window << (op.getCausal() ? "" : " without 'causal'")
                              << "; a query sees at least one key, and none after it";
  auto slopes = withShape(q, {q.getDimSize(2), q.getDimSize(3)});
  if (op.getSlopes() && op.getSlopes().getType() != slopes && // attention_c6
      op.getSlopes().getType() != RankedTensorType::get(slopes.getShape(), sum))
    return op.emitOpError() << "'slopes' must be " << slopes << ", found " << op.getSlopes().getType();
  if (block && queries < q.getDimSize(1)) // attention_c7
    return op.emitOpError() << "holds " << q.getDimSize(1) << " queries as a block of " << queries;
  if (block && op.getStrategy())
    return op.emitOpError() << "holds a block of the queries and still has strategy " << op.getStrategyAttr()
                            << "; partitioning must remove the strategy";
  return success();
}

template <typename OpTy> static LogicalResult choose(OpTy op, StringRef name) {
  std::optional<AttentionStrategy> strategy = symbolizeAttentionStrategy(name);
  if (!strategy)
    return failure();
  if (*strategy == AttentionStrategy::Whole)
    op.removeStrategyAttr();
  else
    op.setStrategy(*strategy);
  return success();
}

static SmallVector<StringRef> attentionStrategies() {
  SmallVector<StringRef> names;
  for (AttentionStrategy strategy :
       {AttentionStrategy::Whole, AttentionStrategy::Gather, AttentionStrategy::KvHeads, AttentionStrategy::HeadGroup})
    names.push_back(stringifyAttentionStrategy(strategy));
  return names;
}

template <typename OpTy> static StringRef chosen(OpTy op) {
  return stringifyAttentionStrategy(op.getStrategy().value_or(AttentionStrategy::Whole));
}

SmallVector<StringRef> AttentionOp::getStrategies() { return attentionStrategies(); }
StringRef AttentionOp::getChosenStrategy() { return chosen(*this); }
LogicalResult AttentionOp::chooseStrategy(StringRef name) { return choose(*this, name); }
SmallVector<StringRef> AttentionBackwardOp::getStrategies() { return attentionStrategies(); }
StringRef AttentionBackwardOp::getChosenStrategy() { return chosen(*this); }
LogicalResult AttentionBackwardOp::chooseStrategy(StringRef name) { return choose(*this, name); }

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }
LogicalResult AttentionBackwardOp::verify() { return verifyAttention(*this); }
