// Mixtures of experts: a router chooses the experts of each token, tokens go to the slots of their experts and come
// back.
#include "ModelBuilder.h"

namespace mlir::ppc {

Value ModelBuilder::experts(Value x, const std::string &name) {
  const ExpertShape &moe = shape.moe;
  const RoutingNumbers &routing = config.routing;
  Dimension hidden{"hidden", shape.hidden}, expert{"experts", moe.experts}, ffn{"expert_ffn", moe.ffn};
  Value router = matrix(name + ".gate.weight", {{"router", moe.experts}, hidden});
  Value bias;
  if (moe.scoreBias) { // its gradient is zero, and it is not decayed: it stays as it is loaded
    std::string biasName = name + ".gate.e_score_correction_bias";
    bias = vector(biasName, {{"router", moe.experts}}, InitKind::Zeros);
    unrounded.push_back(builder.getStringAttr(biasName));
  }
  Value gateUp = matrix(name + ".experts.gate_up_proj", {expert, {"gate_up", 2}, ffn, hidden}, /*rowDims=*/0);
  Value down = matrix(name + ".experts.down_proj", {expert, hidden, ffn}, /*rowDims=*/0);
  storeExperts(name);

  at(name + ".gate");
  Value logits = matmul("bsh,eh->bse", x, router);
  Value scores = routing.sigmoid ? create<SigmoidOp>(logits.getType(), logits).getResult()
                                 : create<SoftmaxOp>(logits.getType(), logits).getResult();
  SmallVector<int64_t> choices = {batch, sequence, moe.topK};
  auto topK = create<TopKOp>(tensorOf(choices), RankedTensorType::get(choices, builder.getI32Type()), scores, bias,
                             builder.getI64IntegerAttr(moe.groups), builder.getI64IntegerAttr(moe.groupsPerToken));
  Value weights = topK.getValues();
  if (moe.normalizesTopK) {
    auto combiner = CombinerAttr::get(builder.getContext(), Combiner::Sum);
    Value sum = create<ReduceOp>(tensorOf({batch, sequence}), combiner, weights, builder.getDenseI64ArrayAttr({2}));
    weights = create<DivOp>(weights.getType(), weights, repeat(sum, choices, {2}));
  }
  if (routing.scale != 1)
    weights = create<ScaleOp>(weights.getType(), weights, builder.getF64FloatAttr(routing.scale));

  at(name + ".experts");
  Value slots = create<DispatchOp>(tensorOf({batch, moe.experts, capacity, shape.hidden}), x, topK.getIds(), Value(),
                                   BlockAttr());
  Value both = matmul("bech,eufh->becuf", slots, gateUp);
  SmallVector<Value> parts = split(both, 3, {1, 1});
  SmallVector<int64_t> inner = {batch, moe.experts, capacity, moe.ffn};
  Value product = mul(activate(reshape(parts[0], inner)), reshape(parts[1], inner));
  Value out = matmul("becf,ehf->bech", product, down);
  Value y = create<CombineOp>(x.getType(), out, topK.getIds(), weights, BlockAttr());
  return moe.sharedFfn ? add(y, sharedExperts(x, name)) : y;
}

Value ModelBuilder::sharedExperts(Value x, const std::string &name) {
  if (!shape.moe.sharedGate)
    return feedForward(x, name + ".shared_experts", shape.moe.sharedFfn);
  Value y = feedForward(x, name + ".shared_expert", shape.moe.sharedFfn);
  std::string gate = name + ".shared_expert_gate";
  Value weight = matrix(gate + ".weight", {{"gate", 1}, {"hidden", shape.hidden}});
  at(gate);
  Value logits = reshape(matmul("bsh,gh->bsg", x, weight), {batch, sequence});
  Value open = create<SigmoidOp>(logits.getType(), logits);
  return mul(repeat(open, tensorType(y).getShape(), {2}), y);
}

} // namespace mlir::ppc
