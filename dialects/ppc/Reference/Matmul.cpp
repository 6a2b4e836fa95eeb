// Values of matmuls: the loop nest of the einsum indices.
#include "dialects/ppc/Ppc.h"
#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace mlir::ppc;

namespace {
/// Strides of a tensor, in elements, along the loop over the result's last index, and along the loop over the last
/// index summed.
struct Strides {
  int64_t column, term;
};
} // namespace

// Accumulates `terms` multiplications into each of `columns` contiguous elements of `to`. The terms of an element
// are added in their order whichever loop is the inner one: the loop over the elements if one factor is the same for
// all of them and the other's are contiguous, which compilers vectorize; else the loop over the terms, four sums at a
// time.
static void addProducts(double *__restrict to, const double *__restrict a, Strides as, const double *__restrict b,
                        Strides bs, int64_t columns, int64_t terms) {
  if (as.column == 1 && bs.column == 0) {
    std::swap(a, b);
    std::swap(as, bs);
  }
  if (as.column == 0 && bs.column == 1) {
    for (int64_t k = 0; k < terms; ++k)
      for (int64_t j = 0; j < columns; ++j)
        to[j] += a[k * as.term] * b[k * bs.term + j];
    return;
  }
  constexpr int64_t together = 4;
  int64_t j = 0;
  for (; j + together <= columns; j += together) {
    double sums[together];
    std::copy_n(to + j, together, sums);
    for (int64_t k = 0; k < terms; ++k)
      for (int64_t lane = 0; lane < together; ++lane)
        sums[lane] += a[k * as.term + (j + lane) * as.column] * b[k * bs.term + (j + lane) * bs.column];
    std::copy_n(sums, together, to + j);
  }
  for (; j < columns; ++j)
    for (int64_t k = 0; k < terms; ++k)
      to[j] += a[k * as.term + j * as.column] * b[k * bs.term + j * bs.column];
}

LogicalResult MatmulOp::evaluate(ArrayRef<ReferenceTensor> operands, const ReferenceContext &,
                                 SmallVectorImpl<ReferenceTensor> &results) {
  // One loop per index: those of the result, then those that are summed over. A loop of one iteration stands for a
  // last one that is missing.
  std::string letters = resultLetters().str();
  SmallVector<int64_t> sizes(getType().getShape());
  if (letters.empty()) {
    letters = "-";
    sizes.push_back(1);
  }
  size_t column = letters.size() - 1;
  for (auto [letter, size] : llvm::zip(lhsLetters(), operands[0].shape))
    if (letters.find(letter) == std::string::npos) {
      letters.push_back(letter);
      sizes.push_back(size);
    }
  if (letters.size() == column + 1) {
    letters.push_back('+');
    sizes.push_back(1);
  }
  // Strides of a tensor's elements along each loop.
  auto strides = [&](StringRef tensor, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result(letters.size(), 0);
    for (int64_t dim = int64_t(tensor.size()) - 1, stride = 1; dim >= 0; stride *= shape[dim--])
      result[letters.find(tensor[dim])] += stride;
    return result;
  };
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  if (llvm::is_contained(sizes, 0)) {
    results.push_back(std::move(y));
    return success();
  }
  SmallVector<int64_t> lhs = strides(lhsLetters(), operands[0].shape), rhs = strides(rhsLetters(), operands[1].shape),
                       out = strides(resultLetters(), y.shape);
  SmallVector<int64_t> outer(sizes);
  outer[column] = outer.back() = 1;
  forEachIndex(outer, [&](ArrayRef<int64_t> index) {
    auto begin = [&](ArrayRef<int64_t> by) {
      return std::inner_product(index.begin(), index.end(), by.begin(), int64_t(0));
    };
    addProducts(&y.data[begin(out)], &operands[0].data[begin(lhs)], {lhs[column], lhs.back()},
                &operands[1].data[begin(rhs)], {rhs[column], rhs.back()}, sizes[column], sizes.back());
  });
  results.push_back(std::move(y));
  return success();
}
