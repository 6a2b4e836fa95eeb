// Values of the optimizer.
#include "dialects/ppc/Ppc.h"
#include <cmath>

using namespace mlir;
using namespace mlir::ppc;

using Operands = ArrayRef<ReferenceTensor>;
using Context = const ReferenceContext &;
using Results = SmallVectorImpl<ReferenceTensor> &;

LogicalResult AdamwOp::evaluate(Operands operands, Context, Results results) {
  double lr = operands[4].data[0], step = operands[5].data[0], scale = operands[6].data[0];
  double beta1 = getBeta1().convertToDouble(), beta2 = getBeta2().convertToDouble();
  double epsilon = getEpsilon().convertToDouble(), decay = getWeightDecay().convertToDouble();
  ReferenceTensor p = operands[0], m = operands[2], v = operands[3];
  for (int64_t i = 0; i < p.size(); ++i) {
    double g = scale * operands[1].data[i];
    m.data[i] = beta1 * m.data[i] + (1 - beta1) * g;
    v.data[i] = beta2 * v.data[i] + (1 - beta2) * g * g;
    double mean = m.data[i] / (1 - std::pow(beta1, step)), variance = v.data[i] / (1 - std::pow(beta2, step));
    p.data[i] -= lr * (decay * p.data[i] + mean / (std::sqrt(variance) + epsilon));
  }
  results.push_back(std::move(p));
  results.push_back(std::move(m));
  results.push_back(std::move(v));
  return success();
}

LogicalResult SquaredNormOp::evaluate(Operands operands, Context, Results results) {
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  for (double x : operands[0].data)
    y.data[0] += x * x;
  results.push_back(std::move(y));
  return success();
}

LogicalResult ClipScaleOp::evaluate(Operands operands, Context, Results results) {
  results.emplace_back(ArrayRef<int64_t>(),
                       std::min(1.0, getMaxNorm().convertToDouble() / (operands[0].data[0] + 1e-6)));
  return success();
}
