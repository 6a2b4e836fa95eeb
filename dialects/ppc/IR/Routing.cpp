// Mixtures of experts: verification.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Routing.cpp.inc"

LogicalResult TopKOp::verify() {
  RankedTensorType scores = tensorType(getScores()), values = tensorType(getValues()), ids = tensorType(getIds());
  if (scores.getRank() < 1 || values.getShape() != ids.getShape() || values.getRank() != scores.getRank() ||
      values.getShape().drop_back() != scores.getShape().drop_back() ||
      values.getShape().back() > scores.getShape().back()) // top_k_c1
    return emitOpError() << "'values' and 'ids' must be rows of at most " << scores << ", found " << values << " and "
                         << ids;
  if (values.getElementType() != scores.getElementType()) // top_k_c2
    return emitOpError() << "element types differ: " << scores << " and " << values;
  int64_t length = scores.getShape().back(), k = values.getShape().back();
  if (getBias() && getBias().getType() != withShape(scores, {length})) // top_k_c3
    return emitOpError() << "'bias' must be " << withShape(scores, {length}) << ", found " << getBias().getType();
  int64_t groups = getGroups(), chosen = getGroupsPerRow();
  if (groups < 1 || length % groups || chosen < 1 || chosen > groups || k > chosen * (length / groups)) // top_k_c4
    return emitOpError() << chosen << " of " << groups << " groups of a row of " << length << " cannot hold " << k
                         << " elements";
  return success();
}

LogicalResult TopKBackwardOp::verify() {
  RankedTensorType ids = tensorType(getIds()), dvalues = tensorType(getDvalues());
  if (ids.getRank() < 1 || ids.getShape() != dvalues.getShape() || getType().getRank() != ids.getRank() ||
      getType().getShape().drop_back() != ids.getShape().drop_back() ||
      getType().getElementType() != dvalues.getElementType()) // top_k_backward_c1
    return emitOpError() << "'ids', 'dvalues' and the result must have the same rows, found " << ids << ", " << dvalues
                         << " and " << getType();
  return success();
}

// `tokens` is [batch, token, hidden], `weights` may be null.
static LogicalResult verifyRouting(Operation *op, RankedTensorType tokens, RankedTensorType ids, Value weights,
                                   RankedTensorType slots) {
  if (tokens.getRank() != 3 || ids.getRank() != 3 || slots.getRank() != 4) // dispatch_c1, combine_c1
    return op->emitOpError()
           << "tokens must be [batch, token, hidden], 'ids' [batch, token, k] and slots [batch, expert, slot, "
              "hidden], found "
           << tokens << ", " << ids << " and " << slots;
  if (tokens.getShape().drop_back() != ids.getShape().drop_back() || slots.getDimSize(0) != tokens.getDimSize(0) ||
      slots.getDimSize(3) != tokens.getDimSize(2))
    return op->emitOpError() << "batch, tokens and hidden must agree, found " << tokens << ", " << ids << " and "
                             << slots;
  if (weights && tensorType(weights).getShape() != ids.getShape())
    return op->emitOpError() << "weights must be shaped like 'ids', found " << weights.getType() << " and " << ids;
  Type element = tokens.getElementType();
  if (slots.getElementType() != element ||
      (weights && tensorType(weights).getElementType() != element)) // dispatch_c2, combine_c2
    return op->emitOpError() << "element types differ: " << tokens << " and "
                             << (slots.getElementType() != element ? slots : tensorType(weights));
  return success();
}

LogicalResult DispatchOp::verify() {
  return verifyRouting(*this, tensorType(getX()), tensorType(getIds()), getWeights(), getType());
}
LogicalResult CombineOp::verify() {
  return verifyRouting(*this, getType(), tensorType(getIds()), getWeights(), tensorType(getSlots()));
}
LogicalResult RoutingWeightsGradientOp::verify() { // routing_weights_gradient_c1, routing_weights_gradient_c2
  return verifyRouting(*this, tensorType(getX()), tensorType(getIds()), getDweights(), tensorType(getSlots()));
}
