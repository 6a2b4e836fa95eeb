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
