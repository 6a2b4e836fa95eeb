// The optimizer.
#include "LoopNest.h"

namespace mlir::ppc {
namespace {

SmallVector<Value> squaredNorm(SquaredNormOp op, ScalarBuilder &b) {
  int64_t rank = tensorType(op.getX()).getRank();
  Type sum = sumType(tensorType(op.getY()).getElementType());
  Access in{op.getX(), allLoops(b, rank)},
      out{filledTensor(b, withElement(tensorType(op.getY()), sum), 0), someLoops(b, rank, {})};
  Value norm = loopNest(b, in, out, llvm::to_vector(llvm::seq<int64_t>(0, rank)), [](ScalarBuilder &s, ValueRange v) {
    return SmallVector<Value>{s.accumulate(v[1], s.mul(v[0], v[0]))};
  })[0];
  return {convertTensor(b, norm, tensorType(op.getY()).getElementType())};
}

/// Terms that depend on the step only are computed once, in f64: 1 - beta^t loses most digits of an f32.
SmallVector<Value> adamw(AdamwOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getParameter());
  Type element = sumType(type.getElementType());
  auto load = [&](Value scalar) -> Value { return tensor::ExtractOp::create(b, scalar, ValueRange()); };
  auto convert = [&](Value value, Type to) -> Value {
    unsigned from = value.getType().getIntOrFloatBitWidth(), bits = to.getIntOrFloatBitWidth();
    if (from == bits)
      return value;
    return from < bits ? Value(arith::ExtFOp::create(b, to, value)) : Value(arith::TruncFOp::create(b, to, value));
  };
  Type f64 = b.getF64Type();
  Value step = convert(load(op.getStep()), f64);
  auto correction = [&](double beta) { // 1 / (1 - beta^t)
    Value one = b.number(f64, 1), power = math::PowFOp::create(b, b.number(f64, beta), step);
    return convert(b.div(one, b.sub(one, power)), element);
  };
  double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  Value correction1 = correction(beta1), correction2 = correction(beta2);
  Value lr = convert(load(op.getLr()), element), scale = convert(load(op.getScale()), element);
  AffineMap all = allLoops(b, type.getRank());
  auto access = [&](Value tensor) { return Access{tensor, all}; };
  // The results are stored where the operands were.
  return loopNest(
      b, access(op.getGradient()), {access(op.getParameter()), access(op.getM()), access(op.getV())}, {},
      [&](ScalarBuilder &s, ValueRange v) {
        auto number = [&](double value) { return s.number(element, value); };
        Value g = s.mul(scale, v[0]), p = v[1];
        Value m = s.add(s.mul(number(beta1), v[2]), s.mul(number(1 - beta1), g));
        Value u = s.add(s.mul(number(beta2), v[3]), s.mul(number(1 - beta2), s.mul(g, g)));
        Value root = s.add(math::SqrtOp::create(s, s.mul(u, correction2)), number(op.getEpsilon().convertToDouble()));
        Value change =
            s.add(s.mul(number(op.getWeightDecay().convertToDouble()), p), s.div(s.mul(m, correction1), root));
        return SmallVector<Value>{s.sub(p, s.mul(lr, change)), m, u};
      });
}

} // namespace

void populateTraining(RewritePatternSet &patterns) {
  addPattern<SquaredNormOp>(patterns, squaredNorm);
  addPattern<AdamwOp>(patterns, adamw);
}

} // namespace mlir::ppc
