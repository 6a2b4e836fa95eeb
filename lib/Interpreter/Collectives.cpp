// Reference semantics of collectives, in the order of the group.
#include "ppc/Interpreter/Collectives.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

namespace mlir::ppc {

double neutralValue(Combiner combiner) {
  return combiner == Combiner::Sum ? 0 : -std::numeric_limits<double>::infinity();
}

double combine(Combiner combiner, double a, double b) {
  if (combiner == Combiner::Sum)
    return a + b;
  double max = std::max(a, b);
  if (combiner == Combiner::Max || std::isinf(max))
    return max;
  return max + std::log(std::exp(a - max) + std::exp(b - max));
}

ReferenceTensor combine(Combiner combiner, ArrayRef<const ReferenceTensor *> parts) {
  ReferenceTensor result = *parts.front();
  for (const ReferenceTensor *part : parts.drop_front())
    for (auto [a, b] : llvm::zip_equal(result.data, part->data))
      a = combine(combiner, a, b);
  return result;
}

ReferenceTensor blockOf(const ReferenceTensor &whole, int64_t dim, int64_t index, int64_t size) {
  SmallVector<int64_t> shape(whole.shape);
  shape[dim] = size;
  ReferenceTensor block(shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> at) {
    SmallVector<int64_t> from(at);
    from[dim] += index * size;
    if (from[dim] < whole.shape[dim])
      block.at(at) = whole.at(from);
  });
  return block;
}

ReferenceTensor concatenate(ArrayRef<const ReferenceTensor *> blocks, int64_t dim, int64_t extent) {
  SmallVector<int64_t> shape(blocks.front()->shape);
  int64_t size = shape[dim];
  shape[dim] = extent;
  ReferenceTensor whole(shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> at) {
    SmallVector<int64_t> from(at);
    from[dim] = at[dim] % size;
    whole.at(at) = blocks[at[dim] / size]->at(from);
  });
  return whole;
}

ArrayAttr collectiveAxes(Operation *op) {
  return llvm::TypeSwitch<Operation *, ArrayAttr>(op)
      .Case<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, LocalSliceOp>([](auto op) { return op.getAxes(); })
      .Default([](Operation *) { return ArrayAttr(); });
}

// `block` is one of `count` blocks of `whole` along `dim`.
static LogicalResult verifyBlocks(Operation *op, RankedTensorType whole, RankedTensorType block, int64_t dim,
                                  int64_t count) {
  int64_t extent = whole.getDimSize(dim), size = block.getDimSize(dim);
  if (blockSize(extent, count) == size)
    return success();
  return op->emitOpError() << "blocks of dimension " << dim << ", which is " << extent << ", are "
                           << blockSize(extent, count) << " over " << count << " devices, found " << size;
}

LogicalResult evaluateCollective(Operation *op, ArrayRef<const ReferenceTensor *> operands,
                                 SmallVectorImpl<ReferenceTensor> &results) {
  int64_t count = operands.size();
  if (auto reduce = dyn_cast<AllReduceOp>(op)) {
    results.assign(count, combine(reduce.getCombiner(), operands));
    return success();
  }
  if (auto gather = dyn_cast<AllGatherOp>(op)) {
    if (failed(verifyBlocks(op, gather.getType(), tensorType(gather.getX()), gather.getDim(), count)))
      return failure();
    results.assign(count, concatenate(operands, gather.getDim(), gather.getType().getDimSize(gather.getDim())));
    return success();
  }
  if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    if (failed(verifyBlocks(op, tensorType(scatter.getX()), scatter.getType(), scatter.getDim(), count)))
      return failure();
    ReferenceTensor whole = combine(scatter.getCombiner(), operands);
    for (int64_t i = 0; i < count; ++i)
      results.push_back(blockOf(whole, scatter.getDim(), i, scatter.getType().getDimSize(scatter.getDim())));
    return success();
  }
  if (auto slice = dyn_cast<LocalSliceOp>(op)) {
    if (failed(verifyBlocks(op, tensorType(slice.getX()), slice.getType(), slice.getDim(), count)))
      return failure();
    for (int64_t i = 0; i < count; ++i)
      results.push_back(blockOf(*operands[i], slice.getDim(), i, slice.getType().getDimSize(slice.getDim())));
    return success();
  }
  auto exchange = cast<AllToAllOp>(op);
  int64_t split = exchange.getSplitDim(), concat = exchange.getConcatDim();
  int64_t extent = tensorType(exchange.getX()).getDimSize(split), size = exchange.getType().getDimSize(split);
  if (extent != size * count)
    return op->emitOpError() << "splits " << extent << " elements into blocks of " << size << ", found " << count
                             << " devices";
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<ReferenceTensor> blocks;
    for (const ReferenceTensor *operand : operands)
      blocks.push_back(blockOf(*operand, split, i, size));
    auto pointers = llvm::map_to_vector(blocks, [](const ReferenceTensor &block) { return &block; });
    results.push_back(concatenate(pointers, concat, exchange.getType().getDimSize(concat)));
  }
  return success();
}

} // namespace mlir::ppc
