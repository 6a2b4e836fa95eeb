// Values of resharding and padding.
#include "dialects/ppc/Reference/BlockSpan.h"

using namespace mlir;
using namespace mlir::ppc;

// The logical value stays the same.
LogicalResult ReshardOp::evaluate(ArrayRef<ReferenceTensor> operands, const ReferenceContext &,
                                  SmallVectorImpl<ReferenceTensor> &results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult MaskPaddingOp::evaluate(ArrayRef<ReferenceTensor> operands, const ReferenceContext &context,
                                      SmallVectorImpl<ReferenceTensor> &results) {
  ReferenceTensor y = operands[0];
  BlockSpan span(getBlock(), y.shape[getDim()], context);
  forEachIndex(y.shape, [&](ArrayRef<int64_t> index) {
    if (span.isPadding(index[getDim()]))
      y.at(index) = 0;
  });
  results.push_back(std::move(y));
  return success();
}
