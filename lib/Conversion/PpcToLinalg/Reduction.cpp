// Ops that combine along dimensions.
#include "LoopNest.h"

namespace mlir::ppc {
namespace {
/// Type of sums along each row: f32 or wider.
RankedTensorType withoutLast(RankedTensorType type) {
  return RankedTensorType::get(type.getShape().drop_back(), sumType(type.getElementType()));
}

RankedTensorType summed(RankedTensorType type) { return withElement(type, sumType(type.getElementType())); }

/// Reduces `ins`, of the loops of `shape` (a tensor type), over its last dimension.
Value reduceLast(ScalarBuilder &b, RankedTensorType shape, ArrayRef<Access> ins, double initial,
                 function_ref<Value(ScalarBuilder &, ValueRange, Value)> combine) {
  int64_t rank = shape.getRank();
  Access out{filledTensor(b, withoutLast(shape), initial), firstLoops(b, rank, rank - 1)};
  return loopNest(b, ins, out, {rank - 1}, [&](ScalarBuilder &s, ValueRange v) {
    return SmallVector<Value>{combine(s, v.drop_back(), v.back())};
  })[0];
}

SmallVector<Value> reduce(ReduceOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  bool isSum = op.getCombiner() == Combiner::Sum;
  Access in{op.getX(), allLoops(b, rank)};
  Access out{filledTensor(b, summed(tensorType(op.getY())), isSum ? 0 : kMinusInfinity), someLoops(b, rank, kept)};
  Value sum = loopNest(b, in, out, op.getDims(), [&](ScalarBuilder &s, ValueRange v) {
    return SmallVector<Value>{isSum ? s.accumulate(v[1], v[0]) : s.maximum(v[1], v[0])};
  })[0];
  return {convertTensor(b, sum, type.getElementType())};
}

SmallVector<Value> logSumExp(LogSumExpOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  Value start, extent;
  if (auto block = op.getClassesAttr(); block && hasPadding(op, block, type.getShape().back())) {
    start = blockStart(b, op, block.getAxes(), type.getShape().back());
    extent = b.index(block.getExtent());
  }
  auto unlessPadding = [&](ScalarBuilder &s, Value value, double otherwise) {
    if (!start)
      return value;
    Value inside = s.less(s.addIndex(start, s.loopIndex(rank - 1)), extent);
    return s.select(inside, value, s.number(value.getType(), otherwise));
  };
  Access x{op.getX(), allLoops(b, rank)};
  Value maximum = reduceLast(b, type, x, kMinusInfinity, [&](ScalarBuilder &s, ValueRange v, Value so_far) {
    if (!start)
      return s.largest(so_far, v[0]);
    // Added, not selected: a maximum of a selection is not vectorised.
    return s.largest(so_far, s.add(v[0], unlessPadding(s, s.number(v[0].getType(), 0), kMinusInfinity)));
  });
  Access m{maximum, firstLoops(b, rank, rank - 1)};
  Value sum = reduceLast(b, type, {x, m}, 0, [&](ScalarBuilder &s, ValueRange v, Value so_far) {
    return s.accumulate(so_far, unlessPadding(s, s.exp(s.sub(v[0], v[1])), 0));
  });
  AffineMap all = allLoops(b, rank - 1);
  return {mapLoops(b, tensorType(op.getY()), {{maximum, all}, {sum, all}},
                   [](ScalarBuilder &s, ValueRange v) { return s.add(v[0], s.log(v[1])); })};
}

SmallVector<Value> softmax(SoftmaxOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  Access x{op.getX(), allLoops(b, rank)};
  AffineMap row = firstLoops(b, rank, rank - 1);
  Value maximum = reduceLast(b, type, x, kMinusInfinity,
                             [](ScalarBuilder &s, ValueRange v, Value so_far) { return s.largest(so_far, v[0]); });
  Value power = mapLoops(b, summed(type), {x, {maximum, row}},
                         [](ScalarBuilder &s, ValueRange v) { return s.exp(s.sub(v[0], v[1])); });
  Value sum = reduceLast(b, type, Access{power, allLoops(b, rank)}, 0,
                         [](ScalarBuilder &s, ValueRange v, Value so_far) { return s.accumulate(so_far, v[0]); });
  return {mapLoops(b, type, {{power, allLoops(b, rank)}, {sum, row}},
                   [](ScalarBuilder &s, ValueRange v) { return s.div(v[0], v[1]); })};
}

SmallVector<Value> softmaxBackward(SoftmaxBackwardOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getY());
  int64_t rank = type.getRank();
  Access y{op.getY(), allLoops(b, rank)}, dy{op.getDy(), allLoops(b, rank)};
  Value dot = reduceLast(b, type, {y, dy}, 0, [](ScalarBuilder &s, ValueRange v, Value so_far) {
    return s.accumulate(so_far, s.mul(v[0], v[1]));
  });
  return {mapLoops(b, type, {y, dy, {dot, firstLoops(b, rank, rank - 1)}},
                   [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], s.sub(v[1], v[2])); })};
}

/// The mean of each row of x, then 1 / sqrt(variance + epsilon).
std::pair<Value, Value> statistics(ScalarBuilder &b, Value x, double epsilon) {
  auto type = tensorType(x);
  int64_t rank = type.getRank();
  double length = double(type.getShape().back());
  Access all{x, allLoops(b, rank)};
  AffineMap row = firstLoops(b, rank, rank - 1), rows = allLoops(b, rank - 1);
  Value sum = reduceLast(b, type, all, 0,
                         [](ScalarBuilder &s, ValueRange v, Value so_far) { return s.accumulate(so_far, v[0]); });
  Value mean = mapLoops(b, withoutLast(type), Access{sum, rows}, [&](ScalarBuilder &s, ValueRange v) {
    return s.mul(v[0], s.number(v[0].getType(), 1 / length));
  });
  Value squares = reduceLast(b, type, {all, {mean, row}}, 0, [](ScalarBuilder &s, ValueRange v, Value so_far) {
    Value difference = s.sub(v[0], v[1]);
    return s.accumulate(so_far, s.mul(difference, difference));
  });
  Value r = mapLoops(b, withoutLast(type), Access{squares, rows}, [&](ScalarBuilder &s, ValueRange v) {
    Type element = v[0].getType();
    Value variance = s.mul(v[0], s.number(element, 1 / length));
    return s.div(s.number(element, 1), math::SqrtOp::create(s, s.add(variance, s.number(element, epsilon))));
  });
  return {mean, r};
}

SmallVector<Value> layerNorm(LayerNormOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  auto [mean, r] = statistics(b, op.getX(), op.getEpsilon().convertToDouble());
  AffineMap row = firstLoops(b, rank, rank - 1), last = someLoops(b, rank, {rank - 1});
  return {mapLoops(
      b, type, {{op.getX(), allLoops(b, rank)}, {mean, row}, {r, row}, {op.getWeight(), last}, {op.getBias(), last}},
      [](ScalarBuilder &s, ValueRange v) { return s.add(s.mul(s.mul(s.sub(v[0], v[1]), v[2]), v[3]), v[4]); })};
}

SmallVector<Value> layerNormInputGradient(LayerNormInputGradientOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  double length = double(type.getShape().back());
  auto [mean, r] = statistics(b, op.getX(), op.getEpsilon().convertToDouble());
  AffineMap row = firstLoops(b, rank, rank - 1), all = allLoops(b, rank);
  Access x{op.getX(), all}, dy{op.getDy(), all}, w{op.getWeight(), someLoops(b, rank, {rank - 1})};
  Value sumG = reduceLast(b, type, {dy, w}, 0, [](ScalarBuilder &s, ValueRange v, Value so_far) {
    return s.accumulate(so_far, s.mul(v[0], v[1]));
  });
  Value sumGz =
      reduceLast(b, type, {x, dy, w, {mean, row}, {r, row}}, 0, [](ScalarBuilder &s, ValueRange v, Value so_far) {
        return s.accumulate(so_far, s.mul(s.mul(v[1], v[2]), s.mul(s.sub(v[0], v[3]), v[4])));
      });
  return {mapLoops(
      b, type, {x, dy, w, {mean, row}, {r, row}, {sumG, row}, {sumGz, row}}, [&](ScalarBuilder &s, ValueRange v) {
        Value scale = s.number(v[0].getType(), 1 / length), z = s.mul(s.sub(v[0], v[3]), v[4]);
        return s.mul(v[4], s.sub(s.sub(s.mul(v[1], v[2]), s.mul(v[5], scale)), s.mul(z, s.mul(v[6], scale))));
      })};
}

SmallVector<Value> layerNormWeightGradient(LayerNormWeightGradientOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  auto [mean, r] = statistics(b, op.getX(), op.getEpsilon().convertToDouble());
  AffineMap row = firstLoops(b, rank, rank - 1), all = allLoops(b, rank);
  Access out{filledTensor(b, summed(tensorType(op.getDweight())), 0), someLoops(b, rank, {rank - 1})};
  Value sum = loopNest(b, {{op.getX(), all}, {op.getDy(), all}, {mean, row}, {r, row}}, out,
                       llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)), [](ScalarBuilder &s, ValueRange v) {
                         return SmallVector<Value>{s.accumulate(v[4], s.mul(v[1], s.mul(s.sub(v[0], v[2]), v[3])))};
                       })[0];
  return {convertTensor(b, sum, type.getElementType())};
}

/// 1 / sqrt(mean(x^2) + epsilon) for each row of x.
Value inverseRms(ScalarBuilder &b, Value x, double epsilon) {
  auto type = tensorType(x);
  int64_t rank = type.getRank();
  Value squares =
      reduceLast(b, type, Access{x, allLoops(b, rank)}, 0,
                 [](ScalarBuilder &s, ValueRange v, Value so_far) { return s.accumulate(so_far, s.mul(v[0], v[0])); });
  return mapLoops(b, withoutLast(type), Access{squares, allLoops(b, rank - 1)}, [&](ScalarBuilder &s, ValueRange v) {
    Type element = v[0].getType();
    Value mean = s.mul(v[0], s.number(element, 1.0 / type.getShape().back()));
    return s.div(s.number(element, 1), math::SqrtOp::create(s, s.add(mean, s.number(element, epsilon))));
  });
}

SmallVector<Value> rmsNorm(RmsNormOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  Value r = inverseRms(b, op.getX(), op.getEpsilon().convertToDouble());
  return {mapLoops(b, type,
                   {{op.getX(), allLoops(b, rank)},
                    {r, firstLoops(b, rank, rank - 1)},
                    {op.getWeight(), someLoops(b, rank, {rank - 1})}},
                   [](ScalarBuilder &s, ValueRange v) { return s.mul(s.mul(v[0], v[1]), v[2]); })};
}

SmallVector<Value> rmsNormInputGradient(RmsNormInputGradientOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  Access x{op.getX(), allLoops(b, rank)}, dy{op.getDy(), allLoops(b, rank)},
      w{op.getWeight(), someLoops(b, rank, {rank - 1})};
  AffineMap row = firstLoops(b, rank, rank - 1);
  Value r = inverseRms(b, op.getX(), op.getEpsilon().convertToDouble());
  // sum(g * x) with g = dy * weight, then the factor r^3 * mean(g * x) of each row.
  Value dot = reduceLast(b, type, {x, dy, w}, 0, [](ScalarBuilder &s, ValueRange v, Value so_far) {
    return s.accumulate(so_far, s.mul(s.mul(v[1], v[2]), v[0]));
  });
  AffineMap all = allLoops(b, rank - 1);
  Value factor = mapLoops(b, withoutLast(type), {{dot, all}, {r, all}}, [&](ScalarBuilder &s, ValueRange v) {
    Value mean = s.mul(v[0], s.number(v[0].getType(), 1.0 / type.getShape().back()));
    return s.mul(mean, s.mul(v[1], s.mul(v[1], v[1])));
  });
  return {mapLoops(b, type, {x, dy, w, {r, row}, {factor, row}}, [](ScalarBuilder &s, ValueRange v) {
    return s.sub(s.mul(v[3], s.mul(v[1], v[2])), s.mul(v[0], v[4]));
  })};
}

SmallVector<Value> rmsNormWeightGradient(RmsNormWeightGradientOp op, ScalarBuilder &b) {
  auto type = tensorType(op.getX());
  int64_t rank = type.getRank();
  Value r = inverseRms(b, op.getX(), op.getEpsilon().convertToDouble());
  Access out{filledTensor(b, summed(tensorType(op.getDweight())), 0), someLoops(b, rank, {rank - 1})};
  Value sum =
      loopNest(b, {{op.getX(), allLoops(b, rank)}, {op.getDy(), allLoops(b, rank)}, {r, firstLoops(b, rank, rank - 1)}},
               out, llvm::to_vector(llvm::seq<int64_t>(0, rank - 1)), [](ScalarBuilder &s, ValueRange v) {
                 return SmallVector<Value>{s.accumulate(v[3], s.mul(s.mul(v[1], v[0]), v[2]))};
               })[0];
  return {convertTensor(b, sum, type.getElementType())};
}

} // namespace

void populateReduction(RewritePatternSet &patterns) {
  addPattern<ReduceOp>(patterns, reduce);
  addPattern<LogSumExpOp>(patterns, logSumExp);
  addPattern<SoftmaxOp>(patterns, softmax);
  addPattern<SoftmaxBackwardOp>(patterns, softmaxBackward);
  addPattern<LayerNormOp>(patterns, layerNorm);
  addPattern<LayerNormInputGradientOp>(patterns, layerNormInputGradient);
  addPattern<LayerNormWeightGradientOp>(patterns, layerNormWeightGradient);
  addPattern<RmsNormOp>(patterns, rmsNorm);
  addPattern<RmsNormInputGradientOp>(patterns, rmsNormInputGradient);
  addPattern<RmsNormWeightGradientOp>(patterns, rmsNormWeightGradient);
}

} // namespace mlir::ppc
