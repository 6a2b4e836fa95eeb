// Ops that address by index or position: verification.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"
#include "ppc/Support/Limits.h"

using namespace mlir;
using namespace mlir::ppc;

/// MLIR prints an array of f64 with six digits, so a module read back would compute something else.
static void printExactDoubles(OpAsmPrinter &printer, Operation *, DenseF64ArrayAttr values) {
  printer << "[";
  llvm::interleaveComma(values.asArrayRef(), printer, [&](double value) { printer.printFloat(APFloat(value)); });
  printer << "]";
}

static ParseResult parseExactDoubles(OpAsmParser &parser, DenseF64ArrayAttr &values) {
  SmallVector<double> numbers;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseFloat(numbers.emplace_back()); }))
    return failure();
  values = DenseF64ArrayAttr::get(parser.getContext(), numbers);
  return success();
}

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Indexing.cpp.inc"

// `rows` has the shape of `ids` and one more dimension, the row length of `table`.
static LogicalResult verifyRows(Operation *op, RankedTensorType table, RankedTensorType ids, RankedTensorType rows,
                                StringRef name) {
  if (table.getRank() != 2)
    return op->emitOpError() << "the table must have two dimensions, found " << table;
  SmallVector<int64_t> shape(ids.getShape());
  shape.push_back(table.getDimSize(1));
  if (rows != withShape(table, shape))
    return op->emitOpError() << "'" << name << "' must be " << withShape(table, shape) << ", found " << rows;
  return success();
}

// The index is of the whole table, also where the op holds a block of its rows.
static LogicalResult verifyPaddingIndex(Operation *op, std::optional<uint64_t> index, std::optional<BlockAttr> block,
                                        RankedTensorType table) {
  int64_t rows = block ? block->getExtent() : table.getDimSize(0);
  if (!index || (int64_t(*index) >= 0 && int64_t(*index) < rows))
    return success();
  return op->emitOpError() << "has the padding index " << int64_t(*index) << ", but the table has " << rows << " rows";
}

LogicalResult EmbeddingOp::verify() {
  if (failed(verifyRows(*this, tensorType(getTable()), tensorType(getIds()), getType(), "y"))) // embedding_c1, _c2
    return failure();
  return verifyPaddingIndex(*this, getPaddingIndex(), getRows(), tensorType(getTable())); // embedding_c3
}

LogicalResult EmbeddingBackwardOp::verify() {
  if (failed(verifyRows(*this, getType(), tensorType(getIds()), tensorType(getDy()), "dy"))) // embedding_backward_c1
    return failure();
  return verifyPaddingIndex(*this, getPaddingIndex(), getRows(), getType()); // embedding_backward_c2
}

LogicalResult RotaryOp::verify() {
  RankedTensorType type = getType();
  if (type.getRank() < 3) // rotary_c1
    return emitOpError() << "needs at least [batch, position, ..., head dim], found " << type;
  int64_t last = type.getShape().back(), offset = getOffset(), rotated = 2 * getFrequencies().size();
  if (offset < 0 || offset > last || rotated > last - offset) // rotary_c2
    return emitOpError() << "rotates " << rotated << " elements from " << offset << " on, but the last dimension has "
                         << last;
  if (int64_t(getStart()) < 0) // rotary_c3
    return emitOpError() << "starts at position " << int64_t(getStart()) << ", expected at least 0";
  int64_t count = getPositions() ? getPositions()->getExtent() : type.getDimSize(1);
  if (count > limits::sequenceLength || int64_t(getStart()) > limits::sequenceLength - count) // rotary_c4
    return emitOpError() << "has " << count << " positions from " << int64_t(getStart()) << " on, expected to end at "
                         << limits::sequenceLength << " at most";
  return success();
}
