// Attention: verification and type inference.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Attention.cpp.inc"

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value q, Value k, Value v, double scale, bool causal) {
  RankedTensorType type = tensorType(q);
  build(builder, state, type, withShape(type, type.getShape().drop_back()), q, k, v, builder.getF64FloatAttr(scale),
        causal ? builder.getUnitAttr() : UnitAttr());
}

static LogicalResult verifyAttention(Operation *op, RankedTensorType q, RankedTensorType k, RankedTensorType lse, bool causal) {
  if (q.getRank() != 5 || k.getRank() != 4) // attention_c1
    return op->emitOpError() << "'q' must be [batch, query, kv head, group, head dim] and 'k' [batch, key, kv head, head dim], found "
                             << q << " and " << k;
  if (q.getDimSize(0) != k.getDimSize(0) || q.getDimSize(2) != k.getDimSize(2) || q.getDimSize(4) != k.getDimSize(3))
    return op->emitOpError() << "batch, kv heads and head dim of 'q' and 'k' must agree, found " << q << " and " << k;
  if (lse != withShape(q, q.getShape().drop_back())) // attention_c2
    return op->emitOpError() << "'lse' must be " << withShape(q, q.getShape().drop_back()) << ", found " << lse;
  if (q.getElementType() != k.getElementType()) // attention_c3
    return op->emitOpError() << "element types differ: " << q << " and " << k;
  if (causal && k.getDimSize(1) < q.getDimSize(1)) // attention_c4
    return op->emitOpError() << "causal attention needs at least as many keys as queries, found " << k.getDimSize(1)
                             << " keys and " << q.getDimSize(1) << " queries";
  return success();
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this, tensorType(getQ()), tensorType(getK()), tensorType(getLse()), getCausal());
}

LogicalResult AttentionBackwardOp::verify() {
  return verifyAttention(*this, tensorType(getQ()), tensorType(getK()), tensorType(getLse()), getCausal());
}
