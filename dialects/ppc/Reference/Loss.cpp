// Values of losses. A row is the last dimension of a tensor: the classes.
#include "dialects/ppc/Reference/BlockSpan.h"
#include <cmath>

using namespace mlir;
using namespace mlir::ppc;

using Operands = ArrayRef<ReferenceTensor>;
using Context = const ReferenceContext &;
using Results = SmallVectorImpl<ReferenceTensor> &;

// Every index names a class.
static LogicalResult verifyClasses(Operation *op, const ReferenceTensor &ids, int64_t extent) {
  for (auto [position, id] : llvm::enumerate(ids.data))
    if (!(id >= 0 && id < extent))
      return op->emitOpError() << "index " << indexText(id) << " at position " << position << " is not below " << extent
                               << " classes";
  return success();
}

LogicalResult CrossEntropyOp::evaluate(Operands operands, Context, Results results) {
  const ReferenceTensor &logits = operands[0], &targets = operands[1];
  int64_t classes = logits.shape.back();
  if (failed(verifyClasses(*this, targets, classes)))
    return failure();
  ReferenceTensor nll(targets.shape), lse(targets.shape);
  for (int64_t row = 0; row < targets.size(); ++row) {
    ArrayRef<double> values(logits.data.data() + row * classes, classes);
    double max = *llvm::max_element(values), sum = 0;
    for (double value : values)
      sum += std::exp(value - max);
    lse.data[row] = max + std::log(sum);
    nll.data[row] = lse.data[row] - values[int64_t(targets.data[row])];
  }
  results.push_back(std::move(nll));
  results.push_back(std::move(lse));
  return success();
}

LogicalResult PickOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &x = operands[0], &ids = operands[1];
  int64_t local = x.shape.back();
  BlockSpan classes(getClasses(), local, context);
  if (failed(verifyClasses(*this, ids, classes.extent)))
    return failure();
  ReferenceTensor y(ids.shape);
  for (int64_t row = 0; row < ids.size(); ++row) {
    int64_t c = int64_t(ids.data[row]) - classes.offset;
    if (c >= 0 && c < local)
      y.data[row] = x.data[row * local + c];
  }
  results.push_back(std::move(y));
  return success();
}

LogicalResult CrossEntropyBackwardOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &logits = operands[0], &targets = operands[1], &lse = operands[2], &dnll = operands[3];
  int64_t local = logits.shape.back();
  BlockSpan classes(getClasses(), local, context);
  if (failed(verifyClasses(*this, targets, classes.extent)))
    return failure();
  ReferenceTensor dlogits(logits.shape);
  for (int64_t row = 0; row < targets.size(); ++row)
    for (int64_t c = 0; c < local && !classes.isPadding(c); ++c) {
      double probability = std::exp(logits.data[row * local + c] - lse.data[row]);
      bool isTarget = classes.offset + c == int64_t(targets.data[row]);
      dlogits.data[row * local + c] = (probability - isTarget) * dnll.data[row];
    }
  results.push_back(std::move(dlogits));
  return success();
}
