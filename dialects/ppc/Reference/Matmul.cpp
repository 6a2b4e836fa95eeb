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
  auto pick = [&](StringRef tensor, ArrayRef<int64_t> index) {
    return llvm::map_to_vector<6>(tensor, [&](char letter) { return index[letters.find(letter)]; });
  };
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    y.at(pick(resultLetters(), index)) +=
        operands[0].at(pick(lhsLetters(), index)) * operands[1].at(pick(rhsLetters(), index));
  });
  results.push_back(std::move(y));
  return success();
}
