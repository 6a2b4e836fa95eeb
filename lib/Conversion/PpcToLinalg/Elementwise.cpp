// Elementwise ops: a table from op to scalar formula, and one pattern for all of them.
#include "LoopNest.h"

#include <cmath>

namespace mlir::ppc {
namespace {

using Formula = Value (*)(Operation *, ScalarBuilder &, ValueRange);

/// Replaces an elementwise op by a loop nest over its formula.
template <typename OpTy> struct ElementwisePattern : OpRewritePattern<OpTy> {
  ElementwisePattern(MLIRContext *context, Formula formula) : OpRewritePattern<OpTy>(context), formula(formula) {}

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    ScalarBuilder builder(op.getLoc(), rewriter);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<Access> ins;
    for (Value operand : op->getOperands())
      ins.push_back({operand, allLoops(builder, type.getRank())});
    rewriter.replaceOp(op,
                       mapLoops(builder, type, ins, [&](ScalarBuilder &b, ValueRange v) { return formula(op, b, v); }));
    return success();
  }
  Formula formula;
};

Value convert(Operation *op, ScalarBuilder &b, ValueRange v) {
  return convertFloat(b, v[0], cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
}

Value siluBackward(Operation *, ScalarBuilder &b, ValueRange v) {
  Value one = b.number(v[0].getType(), 1), s = b.sigmoid(v[0]);
  return b.mul(b.mul(v[1], s), b.add(one, b.mul(v[0], b.sub(one, s))));
}

/// P(x) and P'(x) of gelu.
std::pair<Value, Value> gaussian(ScalarBuilder &b, Value x, bool tanh) {
  const double pi = 3.14159265358979323846;
  auto number = [&](double value) { return b.number(x.getType(), value); };
  Value one = number(1), half = number(0.5), square = b.mul(x, x);
  if (!tanh) {
    Value error = math::ErfOp::create(b, b.mul(x, number(std::sqrt(0.5))));
    return {b.mul(half, b.add(one, error)), b.mul(number(1 / std::sqrt(2 * pi)), b.exp(b.mul(number(-0.5), square)))};
  }
  // (1 + tanh u) / 2 = 1 / (1 + e^-2u), whose derivative by u is 2 s (1 - s).
  double c = 2 * std::sqrt(2 / pi);
  Value s = b.sigmoid(b.mul(number(c), b.mul(x, b.add(one, b.mul(number(0.044715), square)))));
  Value inner = b.mul(number(c), b.add(one, b.mul(number(3 * 0.044715), square)));
  return {s, b.mul(b.mul(s, b.sub(one, s)), inner)};
}

Value gelu(Operation *op, ScalarBuilder &b, ValueRange v) {
  return b.mul(v[0], gaussian(b, v[0], cast<GeluOp>(op).getTanh()).first);
}

Value geluBackward(Operation *op, ScalarBuilder &b, ValueRange v) {
  auto [p, slope] = gaussian(b, v[0], cast<GeluBackwardOp>(op).getTanh());
  return b.mul(v[1], b.add(p, b.mul(v[0], slope)));
}

Value sum(Operation *, ScalarBuilder &b, ValueRange v) {
  Value total = v[0];
  for (Value value : v.drop_front().drop_back()) // the last is the result's element
    total = b.add(total, value);
  return total;
}

SmallVector<Value> constant(ConstantOp op, ScalarBuilder &b) {
  auto type = cast<RankedTensorType>(op.getType());
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value || !value.isSplat())
    return {arith::ConstantOp::create(b, type, cast<TypedAttr>(op.getValue()))};
  return {mapLoops(b, type, {}, [&](ScalarBuilder &scalars, ValueRange) -> Value {
    return arith::ConstantOp::create(scalars, cast<TypedAttr>(value.getSplatValue<Attribute>()));
  })};
}

template <typename OpTy> void add(RewritePatternSet &patterns, Formula formula) {
  patterns.add<ElementwisePattern<OpTy>>(patterns.getContext(), formula);
}

} // namespace

void populateElementwise(RewritePatternSet &patterns) {
  add<AddOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) { return b.add(v[0], v[1]); });
  add<SubOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) { return b.sub(v[0], v[1]); });
  add<MulOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) { return b.mul(v[0], v[1]); });
  add<DivOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) { return b.div(v[0], v[1]); });
  add<NegOp>(patterns,
             [](Operation *, ScalarBuilder &b, ValueRange v) -> Value { return arith::NegFOp::create(b, v[0]); });
  add<ExpOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) { return b.exp(v[0]); });
  add<LogOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) { return b.log(v[0]); });
  add<SqrtOp>(patterns,
              [](Operation *, ScalarBuilder &b, ValueRange v) -> Value { return math::SqrtOp::create(b, v[0]); });
  // Not math.rsqrt, whose vector form is an approximation.
  add<RsqrtOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) {
    return b.div(b.number(v[0].getType(), 1), math::SqrtOp::create(b, v[0]));
  });
  add<SigmoidOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) { return b.sigmoid(v[0]); });
  add<SiluOp>(patterns, [](Operation *, ScalarBuilder &b, ValueRange v) { return b.mul(v[0], b.sigmoid(v[0])); });
  add<SiluBackwardOp>(patterns, siluBackward);
  add<GeluOp>(patterns, gelu);
  add<GeluBackwardOp>(patterns, geluBackward);
  add<ScaleOp>(patterns, [](Operation *op, ScalarBuilder &b, ValueRange v) {
    return b.mul(v[0], b.number(v[0].getType(), cast<ScaleOp>(op).getFactor().convertToDouble()));
  });
  add<ConvertOp>(patterns, convert);
  add<SumOp>(patterns, sum);
  add<ClipScaleOp>(patterns, [](Operation *op, ScalarBuilder &b, ValueRange v) -> Value {
    Type type = v[0].getType();
    Value ratio =
        b.div(b.number(type, cast<ClipScaleOp>(op).getMaxNorm().convertToDouble()), b.add(v[0], b.number(type, 1e-6)));
    return arith::MinimumFOp::create(b, b.number(type, 1), ratio);
  });
  addPattern<ConstantOp>(patterns, constant);
}

} // namespace mlir::ppc
