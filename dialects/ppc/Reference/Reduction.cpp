// Values of reductions and normalisations. A row is the last dimension of a tensor.
#include "dialects/ppc/Reference/BlockSpan.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::ppc;

using Operands = ArrayRef<ReferenceTensor>;
using Context = const ReferenceContext &;
using Results = SmallVectorImpl<ReferenceTensor> &;

static constexpr double minusInfinity = -std::numeric_limits<double>::infinity();

// Calls `body` with the position of the first element of each row of `x`, and the row's number.
static void forEachRow(const ReferenceTensor &x, function_ref<void(int64_t first, int64_t row)> body) {
  int64_t length = x.shape.back();
  for (int64_t row = 0; length && row < x.size() / length; ++row)
    body(row * length, row);
}

LogicalResult ReduceOp::evaluate(Operands operands, Context, Results results) {
  bool isMax = getCombiner() == Combiner::Max;
  ReferenceTensor y(getType().getShape(), isMax ? minusInfinity : 0);
  forEachIndex(operands[0].shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> kept;
    for (auto [dim, i] : llvm::enumerate(index))
      if (!llvm::is_contained(getDims(), int64_t(dim)))
        kept.push_back(i);
    double &element = y.at(kept), value = operands[0].at(index);
    element = isMax ? std::max(element, value) : element + value;
  });
  results.push_back(std::move(y));
  return success();
}

LogicalResult LogSumExpOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &x = operands[0];
  int64_t length = x.shape.back();
  BlockSpan span(getClasses(), length, context);
  ReferenceTensor y(getType().getShape(), minusInfinity); // the result for no classes
  forEachRow(x, [&](int64_t first, int64_t row) {
    double max = minusInfinity, sum = 0;
    for (int64_t c = 0; c < length && !span.isPadding(c); ++c)
      max = std::max(max, x.data[first + c]);
    for (int64_t c = 0; c < length && !span.isPadding(c); ++c)
      sum += std::exp(x.data[first + c] - max);
    if (sum > 0)
      y.data[row] = max + std::log(sum);
  });
  results.push_back(std::move(y));
  return success();
}

LogicalResult SoftmaxOp::evaluate(Operands operands, Context, Results results) {
  ReferenceTensor y = operands[0];
  int64_t length = y.shape.back();
  forEachRow(operands[0], [&](int64_t first, int64_t) {
    MutableArrayRef<double> row(y.data.data() + first, length);
    double max = *llvm::max_element(row), sum = 0;
    for (double &element : row)
      sum += element = std::exp(element - max);
    for (double &element : row)
      element /= sum;
  });
  results.push_back(std::move(y));
  return success();
}

LogicalResult SoftmaxBackwardOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &y = operands[0], &dy = operands[1];
  ReferenceTensor dx(y.shape);
  int64_t length = y.shape.back();
  forEachRow(y, [&](int64_t first, int64_t) {
    double sum = 0;
    for (int64_t i = first; i < first + length; ++i)
      sum += y.data[i] * dy.data[i];
    for (int64_t i = first; i < first + length; ++i)
      dx.data[i] = y.data[i] * (dy.data[i] - sum);
  });
  results.push_back(std::move(dx));
  return success();
}

// 1 / sqrt(mean(x^2) + epsilon) of one row.
static double inverseRms(const ReferenceTensor &x, int64_t first, double epsilon) {
  int64_t length = x.shape.back();
  double sum = 0;
  for (int64_t i = first; i < first + length; ++i)
    sum += x.data[i] * x.data[i];
  return 1 / std::sqrt(sum / length + epsilon);
}

LogicalResult RmsNormOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &x = operands[0], &weight = operands[1];
  ReferenceTensor y(x.shape);
  forEachRow(x, [&](int64_t first, int64_t) {
    double r = inverseRms(x, first, getEpsilon().convertToDouble());
    for (int64_t i = 0; i < x.shape.back(); ++i)
      y.data[first + i] = weight.data[i] * x.data[first + i] * r;
  });
  results.push_back(std::move(y));
  return success();
}

LogicalResult RmsNormInputGradientOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &x = operands[0], &weight = operands[1], &dy = operands[2];
  ReferenceTensor dx(x.shape);
  int64_t length = x.shape.back();
  forEachRow(x, [&](int64_t first, int64_t) {
    double r = inverseRms(x, first, getEpsilon().convertToDouble()), mean = 0;
    for (int64_t i = 0; i < length; ++i)
      mean += dy.data[first + i] * weight.data[i] * x.data[first + i] / length;
    for (int64_t i = 0; i < length; ++i)
      dx.data[first + i] = r * dy.data[first + i] * weight.data[i] - x.data[first + i] * r * r * r * mean;
  });
  results.push_back(std::move(dx));
  return success();
}

LogicalResult RmsNormWeightGradientOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &x = operands[0], &dy = operands[1];
  ReferenceTensor dweight = ReferenceTensor::zeros(getType());
  forEachRow(x, [&](int64_t first, int64_t) {
    double r = inverseRms(x, first, getEpsilon().convertToDouble());
    for (int64_t i = 0; i < x.shape.back(); ++i)
      dweight.data[i] += dy.data[first + i] * x.data[first + i] * r;
  });
  results.push_back(std::move(dweight));
  return success();
}

// Mean of one row, and 1 / sqrt(variance + epsilon).
static std::pair<double, double> statistics(const ReferenceTensor &x, int64_t first, double epsilon) {
  int64_t length = x.shape.back();
  double mean = 0, variance = 0;
  for (int64_t i = first; i < first + length; ++i)
    mean += x.data[i] / length;
  for (int64_t i = first; i < first + length; ++i)
    variance += (x.data[i] - mean) * (x.data[i] - mean) / length;
  return {mean, 1 / std::sqrt(variance + epsilon)};
}

LogicalResult LayerNormOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &x = operands[0], &weight = operands[1], &bias = operands[2];
  ReferenceTensor y(x.shape);
  forEachRow(x, [&](int64_t first, int64_t) {
    auto [mean, r] = statistics(x, first, getEpsilon().convertToDouble());
    for (int64_t i = 0; i < x.shape.back(); ++i)
      y.data[first + i] = weight.data[i] * (x.data[first + i] - mean) * r + bias.data[i];
  });
  results.push_back(std::move(y));
  return success();
}

LogicalResult LayerNormInputGradientOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &x = operands[0], &weight = operands[1], &dy = operands[2];
  ReferenceTensor dx(x.shape);
  int64_t length = x.shape.back();
  forEachRow(x, [&](int64_t first, int64_t) {
    auto [mean, r] = statistics(x, first, getEpsilon().convertToDouble());
    double meanG = 0, meanGz = 0;
    for (int64_t i = 0; i < length; ++i) {
      double g = dy.data[first + i] * weight.data[i];
      meanG += g / length;
      meanGz += g * (x.data[first + i] - mean) * r / length;
    }
    for (int64_t i = 0; i < length; ++i)
      dx.data[first + i] = r * (dy.data[first + i] * weight.data[i] - meanG - (x.data[first + i] - mean) * r * meanGz);
  });
  results.push_back(std::move(dx));
  return success();
}

LogicalResult LayerNormWeightGradientOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &x = operands[0], &dy = operands[1];
  ReferenceTensor dweight = ReferenceTensor::zeros(getType());
  forEachRow(x, [&](int64_t first, int64_t) {
    auto [mean, r] = statistics(x, first, getEpsilon().convertToDouble());
    for (int64_t i = 0; i < x.shape.back(); ++i)
      dweight.data[i] += dy.data[first + i] * (x.data[first + i] - mean) * r;
  });
  results.push_back(std::move(dweight));
  return success();
}
