// Values of matrix products: the loop nest that the letters spell.
#include "dialects/ppc/Ppc.h"

using namespace mlir;
using namespace mlir::ppc;

LogicalResult MatmulOp::evaluate(ArrayRef<ReferenceTensor> operands, const ReferenceContext &,
                                 SmallVectorImpl<ReferenceTensor> &results) {
  // One loop per letter: those of the result, then those that are summed over.
  std::string letters = resultLetters().str();
  SmallVector<int64_t> sizes(getType().getShape());
  for (auto [letter, size] : llvm::zip(lhsLetters(), operands[0].shape))
    if (letters.find(letter) == std::string::npos) {
      letters.push_back(letter);
      sizes.push_back(size);
    }
  // How far a tensor's elements are apart along each loop.
  auto strides = [&](StringRef tensor, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result(letters.size(), 0);
    for (int64_t dim = int64_t(tensor.size()) - 1, stride = 1; dim >= 0; stride *= shape[dim--])
      result[letters.find(tensor[dim])] += stride;
    return result;
  };
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  if (letters.empty() || llvm::is_contained(sizes, 0)) {
    if (letters.empty())
      y.data[0] = operands[0].data[0] * operands[1].data[0];
    results.push_back(std::move(y));
    return success();
  }
  SmallVector<int64_t> lhs = strides(lhsLetters(), operands[0].shape), rhs = strides(rhsLetters(), operands[1].shape),
                       out = strides(resultLetters(), y.shape);
  forEachIndex(ArrayRef(sizes).drop_back(), [&](ArrayRef<int64_t> index) {
    auto begin = [&](ArrayRef<int64_t> by) {
      int64_t position = 0;
      for (auto [at, stride] : llvm::zip(index, by))
        position += at * stride;
      return position;
    };
    double *to = &y.data[begin(out)];
    const double *a = &operands[0].data[begin(lhs)], *b = &operands[1].data[begin(rhs)];
    for (int64_t i = 0; i < sizes.back(); ++i)
      to[i * out.back()] += a[i * lhs.back()] * b[i * rhs.back()];
  });
  results.push_back(std::move(y));
  return success();
}
