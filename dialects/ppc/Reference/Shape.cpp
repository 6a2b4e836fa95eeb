// Values of ops that rearrange elements.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

using Operands = ArrayRef<ReferenceTensor>;
using Context = const ReferenceContext &;
using Results = SmallVectorImpl<ReferenceTensor> &;

LogicalResult TransposeOp::evaluate(Operands operands, Context, Results results) {
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  forEachIndex(operands[0].shape, [&](ArrayRef<int64_t> index) {
    y.at(llvm::map_to_vector(getPermutation(), [&](int64_t dim) { return index[dim]; })) = operands[0].at(index);
  });
  results.push_back(std::move(y));
  return success();
}

LogicalResult ReshapeOp::evaluate(Operands operands, Context, Results results) {
  ReferenceTensor y = operands[0];
  y.shape.assign(getType().getShape().begin(), getType().getShape().end());
  results.push_back(std::move(y));
  return success();
}

LogicalResult BroadcastOp::evaluate(Operands operands, Context, Results results) {
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  forEachIndex(y.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from;
    for (auto [dim, i] : llvm::enumerate(index))
      if (!llvm::is_contained(getDims(), int64_t(dim)))
        from.push_back(i);
    y.at(index) = operands[0].at(from);
  });
  results.push_back(std::move(y));
  return success();
}
// Calls `body` with each index of a part and its index in the whole: part of runs of `length`, in each from `start` on.
static void forEachOfPart(const ReferenceTensor &part, int64_t dim, int64_t runs, int64_t start, int64_t length,
                          function_ref<void(ArrayRef<int64_t>, ArrayRef<int64_t>)> body) {
  int64_t size = part.shape[dim] / runs;
  forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> whole(index);
    whole[dim] = index[dim] / size * length + start + index[dim] % size;
    body(index, whole);
  });
}

LogicalResult SplitOp::evaluate(Operands operands, Context, Results results) {
  int64_t start = 0;
  for (Value value : getParts()) {
    ReferenceTensor part = ReferenceTensor::zeros(value.getType());
    forEachOfPart(part, getDim(), getRuns(), start, operands[0].shape[getDim()] / int64_t(getRuns()),
                  [&](ArrayRef<int64_t> index, ArrayRef<int64_t> whole) { part.at(index) = operands[0].at(whole); });
    start += part.shape[getDim()] / int64_t(getRuns());
    results.push_back(std::move(part));
  }
  return success();
}

LogicalResult ConcatOp::evaluate(Operands operands, Context, Results results) {
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  int64_t start = 0;
  for (const ReferenceTensor &part : operands) {
    forEachOfPart(part, getDim(), getRuns(), start, y.shape[getDim()] / int64_t(getRuns()),
                  [&](ArrayRef<int64_t> index, ArrayRef<int64_t> whole) { y.at(whole) = part.at(index); });
    start += part.shape[getDim()] / int64_t(getRuns());
  }
  results.push_back(std::move(y));
  return success();
}
