// Derivatives of routing; the choice of experts has none.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

using Kept = SmallVector<Value>;

// values[j] = scores[ids[j]]: dscores[e] = sum of dvalues[j] over j with ids[j] = e; the bias only selects, so that one
// that is a parameter stays as it is: zero times what a bias that is added to the values would have, which is a sum
// over the batch like every gradient of a parameter
FailureOr<Value> TopKOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  if (!dy[0])
    return Value();
  Value scores = TopKBackwardOp::create(builder, getLoc(), getScores().getType(), getIds(), dy[0]);
  if (operand == 0)
    return scores;
  RankedTensorType type = tensorType(scores), sumType = withShape(type, type.getShape().take_back());
  auto combiner = CombinerAttr::get(builder.getContext(), Combiner::Sum);
  auto rows = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  Value sum = ReduceOp::create(builder, getLoc(), sumType, combiner, scores, builder.getDenseI64ArrayAttr(rows));
  return ScaleOp::create(builder, getLoc(), sumType, sum, builder.getF64FloatAttr(0)).getResult();
}
Kept TopKOp::keptForGradient(unsigned operand) { return {getIds()}; }

static Value weightsGradient(OpBuilder &builder, Location loc, Value slots, Value ids, Value tokens,
                             BlockAttr experts) {
  auto type = withShape(tensorType(tokens), tensorType(ids).getShape());
  return RoutingWeightsGradientOp::create(builder, loc, type, slots, ids, tokens, experts);
}

// slots[e, p] = w * x: dx = sum of w * dslots[e, p] over the slots of a token, dw = dslots[e, p] . x
FailureOr<Value> DispatchOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  if (operand == 1)
    return Value();
  if (operand == 2)
    return weightsGradient(builder, getLoc(), dy[0], getIds(), getX(), getExpertsAttr());
  return CombineOp::create(builder, getLoc(), getX().getType(), dy[0], getIds(), getWeights(), getExpertsAttr())
      .getResult();
}
Kept DispatchOp::keptForGradient(unsigned operand) {
  if (operand == 1)
    return {};
  if (operand == 2)
    return {getIds(), getX()};
  return getWeights() ? Kept{getIds(), getWeights()} : Kept{getIds()};
}

// y = sum of w * slots[e, p]: dslots[e, p] = w * dy, dw = slots[e, p] . dy
FailureOr<Value> CombineOp::buildGradient(OpBuilder &builder, unsigned operand, ArrayRef<Value> dy) {
  if (operand == 1)
    return Value();
  if (operand == 2)
    return weightsGradient(builder, getLoc(), getSlots(), getIds(), dy[0], getExpertsAttr());
  return DispatchOp::create(builder, getLoc(), getSlots().getType(), dy[0], getIds(), getWeights(), getExpertsAttr())
      .getResult();
}
Kept CombineOp::keptForGradient(unsigned operand) {
  if (operand == 1)
    return {};
  if (operand == 2)
    return {getSlots(), getIds()};
  return getWeights() ? Kept{getIds(), getWeights()} : Kept{getIds()};
}
