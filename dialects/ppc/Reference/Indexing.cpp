// Values of ops that address by index or position.
#include "dialects/ppc/Reference/BlockSpan.h"
#include <cmath>

using namespace mlir;
using namespace mlir::ppc;

using Operands = ArrayRef<ReferenceTensor>;
using Context = const ReferenceContext &;
using Results = SmallVectorImpl<ReferenceTensor> &;

// Calls `body` with each position of `ids` and the local row that it names, where this block of the table has it.
static LogicalResult forEachRow(Operation *op, const ReferenceTensor &ids, BlockSpan rows, int64_t local,
                                function_ref<void(int64_t position, int64_t row)> body) {
  for (auto [position, id] : llvm::enumerate(ids.data)) {
    if (!(id >= 0 && id < rows.extent))
      return op->emitOpError() << "index " << indexText(id) << " at position " << position
                               << " is outside the table of " << rows.extent << " rows";
    int64_t row = int64_t(id) - rows.offset;
    if (row >= 0 && row < local)
      body(position, row);
  }
  return success();
}

LogicalResult EmbeddingOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &table = operands[0];
  int64_t rows = table.shape[0], length = table.shape[1];
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  results.push_back(y);
  return forEachRow(*this, operands[1], BlockSpan(getRows(), rows, context), rows, [&](int64_t position, int64_t row) {
    for (int64_t i = 0; i < length; ++i)
      results.back().data[position * length + i] = table.data[row * length + i];
  });
}

LogicalResult EmbeddingBackwardOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &dy = operands[1];
  int64_t rows = getType().getDimSize(0), length = getType().getDimSize(1);
  results.push_back(ReferenceTensor::zeros(getType()));
  std::optional<uint64_t> skipped = getPaddingIndex();
  return forEachRow(*this, operands[0], BlockSpan(getRows(), rows, context), rows, [&](int64_t position, int64_t row) {
    for (int64_t i = 0; i < length && !(skipped && operands[0].data[position] == double(*skipped)); ++i)
      results.back().data[row * length + i] += dy.data[position * length + i];
  });
}

LogicalResult RotaryOp::evaluate(Operands operands, Context context, Results results) {
  const ReferenceTensor &x = operands[0];
  BlockSpan block(getPositions(), x.shape[1], context);
  ReferenceTensor y = ReferenceTensor::zeros(getType());
  forEachIndex(x.shape, [&](ArrayRef<int64_t> at) {
    if (!block.isPadding(at[1]))
      y.at(at) = x.at(at);
  });
  SmallVector<int64_t> pairs(x.shape);
  pairs.back() = getFrequencies().size();
  forEachIndex(pairs, [&](ArrayRef<int64_t> at) {
    if (block.isPadding(at[1]))
      return;
    SmallVector<int64_t> first(at), second(at);
    std::tie(first.back(), second.back()) = pair(at.back());
    double angle =
        (getInverse() ? -1 : 1) * double(int64_t(getStart()) + block.offset + at[1]) * getFrequencies()[at.back()];
    y.at(first) = x.at(first) * std::cos(angle) - x.at(second) * std::sin(angle);
    y.at(second) = x.at(second) * std::cos(angle) + x.at(first) * std::sin(angle);
  });
  results.push_back(std::move(y));
  return success();
}
