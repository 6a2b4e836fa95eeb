// Values of elementwise ops.
#include "dialects/ppc/Ppc.h"
#include <cmath>

using namespace mlir;
using namespace mlir::ppc;

using Operands = ArrayRef<ReferenceTensor>;
using Context = const ReferenceContext &;
using Results = SmallVectorImpl<ReferenceTensor> &;

// One result: f of the elements at the same place.
static LogicalResult map(Operands operands, Results results, function_ref<double(double)> f) {
  ReferenceTensor y = operands[0];
  for (double &element : y.data)
    element = f(element);
  results.push_back(std::move(y));
  return success();
}

static LogicalResult map(Operands operands, Results results, function_ref<double(double, double)> f) {
  ReferenceTensor y = operands[0];
  for (auto [a, b] : llvm::zip_equal(y.data, operands[1].data))
    a = f(a, b);
  results.push_back(std::move(y));
  return success();
}

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

LogicalResult AddOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double a, double b) { return a + b; });
}
LogicalResult SubOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double a, double b) { return a - b; });
}
LogicalResult MulOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double a, double b) { return a * b; });
}
LogicalResult DivOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double a, double b) { return a / b; });
}
LogicalResult NegOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double x) { return -x; });
}
LogicalResult ExpOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double x) { return std::exp(x); });
}
LogicalResult LogOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double x) { return std::log(x); });
}
LogicalResult SqrtOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double x) { return std::sqrt(x); });
}
LogicalResult RsqrtOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double x) { return 1 / std::sqrt(x); });
}
LogicalResult SigmoidOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double x) { return sigmoid(x); });
}
LogicalResult SiluOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double x) { return x * sigmoid(x); });
}
LogicalResult SiluBackwardOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [](double x, double dy) {
    double s = sigmoid(x);
    return dy * s * (1 + x * (1 - s));
  });
}
// P(x) and P'(x) of gelu.
static std::pair<double, double> gaussian(double x, bool tanh) {
  const double pi = 3.14159265358979323846;
  if (!tanh)
    return {(1 + std::erf(x / std::sqrt(2.0))) / 2, std::exp(-x * x / 2) / std::sqrt(2 * pi)};
  double t = std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x));
  return {(1 + t) / 2, (1 - t * t) / 2 * std::sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x)};
}

LogicalResult GeluOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [&](double x) { return x * gaussian(x, getTanh()).first; });
}
LogicalResult GeluBackwardOp::evaluate(Operands operands, Context, Results results) {
  return map(operands, results, [&](double x, double dy) {
    auto [p, slope] = gaussian(x, getTanh());
    return dy * (p + x * slope);
  });
}
LogicalResult ScaleOp::evaluate(Operands operands, Context, Results results) {
  double factor = getFactor().convertToDouble();
  return map(operands, results, [=](double x) { return factor * x; });
}

// Values are f64 whatever the type: nothing is rounded.
LogicalResult ConvertOp::evaluate(Operands operands, Context, Results results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult SumOp::evaluate(Operands operands, Context, Results results) {
  ReferenceTensor y = operands[0];
  for (const ReferenceTensor &x : operands.drop_front())
    for (auto [sum, element] : llvm::zip_equal(y.data, x.data))
      sum += element;
  results.push_back(std::move(y));
  return success();
}

LogicalResult ConstantOp::evaluate(Operands, Context, Results results) {
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  if (!dense)
    return emitOpError("cannot be evaluated: only dense constants can");
  if (isa<FloatType>(dense.getElementType()))
    for (auto [element, value] : llvm::zip_equal(y.data, dense.getValues<APFloat>()))
      element = value.convertToDouble();
  else
    for (auto [element, value] : llvm::zip_equal(y.data, dense.getValues<APInt>()))
      element = value.getSExtValue();
  results.push_back(std::move(y));
  return success();
}
