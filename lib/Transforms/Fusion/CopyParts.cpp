// ppc-copy-parts: parts that are added to zeros next to each other are copied there instead.
#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "ppc/Transforms/Fusion/Passes.h"
#include "ppc/Transforms/Fusion/RowRegion.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_COPYPARTSPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {

/// `length` neighbouring elements from `first` on in each of the rows of a buffer.
struct Part {
  linalg::GenericOp op;
  int64_t rows = 1, step = 0, first = 0, length = 0;
};

/// Past widenings and roundings.
Value withoutConversions(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// An op that adds all of its input, in order, to neighbouring elements of its result, and does nothing else.
std::optional<Part> partOf(linalg::GenericOp op) {
  if (op.getNumReductionLoops() || op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      !op.hasPureBufferSemantics())
    return std::nullopt;
  Block &body = *op.getBody();
  auto sum = withoutConversions(body.getTerminator()->getOperand(0)).getDefiningOp<arith::AddFOp>();
  auto input = dyn_cast<MemRefType>(op.getDpsInputs()[0].getType());
  bool adds =
      sum &&
      llvm::is_contained({withoutConversions(sum.getLhs()), withoutConversions(sum.getRhs())}, body.getArgument(0)) &&
      llvm::is_contained({withoutConversions(sum.getLhs()), withoutConversions(sum.getRhs())}, body.getArgument(1));
  auto pattern = patternOf(op, *op.getDpsInitOperand(0));
  if (!adds || !pattern || !input || !input.getLayout().isIdentity() ||
      input.getElementType() != cast<MemRefType>(op.getDpsInits()[0].getType()).getElementType() ||
      !op.getMatchingIndexingMap(op.getDpsInputOperand(0)).isIdentity())
    return std::nullopt;
  SmallVector<LoopSpan> spans = mergeLoops(op.getStaticLoopRanges(), pattern->steps);
  if (spans.empty() || spans.size() > 2 || spans.back().step != 1)
    return std::nullopt;
  Part part{op};
  part.first = pattern->constant;
  part.length = spans.back().size;
  if (spans.size() == 2) {
    part.rows = spans.front().size;
    part.step = spans.front().step;
  }
  return part;
}

/// The ops after `fill` that add parts to it before any other use; empty if they do not fill all of it.
SmallVector<Part> partsOf(linalg::FillOp fill) {
  Value root = fill.getOutputs()[0];
  SmallVector<Part> parts;
  int64_t elements = cast<MemRefType>(root.getType()).getNumElements(), covered = 0;
  for (Operation *next = fill->getNextNode(); next && covered < elements; next = next->getNextNode()) {
    auto accesses = accessesOf(next);
    if (llvm::none_of(accesses, [&](const BufferAccess &access) { return access.root == root; }))
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(next);
    std::optional<Part> part = generic ? partOf(generic) : std::nullopt;
    if (!part || wholeBuffer(generic.getDpsInits()[0]) != root || rootBuffer(generic.getDpsInputs()[0]) == root)
      return {};
    covered += part->rows * part->length;
    parts.push_back(*part);
  }
  llvm::sort(parts, [](const Part &a, const Part &b) { return a.first < b.first; });
  int64_t end = 0;
  for (const Part &part : parts) {
    if (part.first != end || part.rows != parts.front().rows || (part.rows > 1 && part.step != elements / part.rows))
      return {};
    end += part.length;
  }
  if (parts.size() < 2 || end * parts.front().rows != elements)
    return {};
  return parts;
}

Value asRows(ImplicitLocOpBuilder &b, Value buffer, int64_t rows) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getRank() != 1)
    buffer = memref::CollapseShapeOp::create(
        b, buffer, ArrayRef<ReassociationIndices>{llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))});
  return memref::ExpandShapeOp::create(b, ArrayRef<int64_t>{rows, type.getNumElements() / rows}, buffer,
                                       ArrayRef<ReassociationIndices>{ReassociationIndices{0, 1}});
}

void copyInto(const Part &part, Value root) {
  linalg::GenericOp op = part.op;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto sizes = [&](int64_t first, int64_t second) {
    return SmallVector<OpFoldResult>{b.getIndexAttr(first), b.getIndexAttr(second)};
  };
  Value whole = asRows(b, root, part.rows);
  Value place = memref::SubViewOp::create(b, whole, sizes(0, part.first), sizes(part.rows, part.length), sizes(1, 1));
  linalg::makeMemRefCopyOp(b, op.getLoc(), asRows(b, op.getDpsInputs()[0], part.rows), place);
  op.erase();
}

/// The operand of gradients of attention that writes all of a buffer which nothing but a part reads; null: none does.
OpOperand *writerOf(const Part &part, Operation *fill) {
  Value root = wholeBuffer(part.op->getOperand(0));
  if (!root || !root.getDefiningOp<memref::AllocOp>())
    return nullptr;
  OpOperand *writer = nullptr;
  SmallVector<Value> pending{root};
  while (!pending.empty())
    for (OpOperand &use : pending.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      auto attention = dyn_cast<ppcrt::AttentionBackwardOp>(user);
      if (isa<ViewLikeOpInterface>(user))
        pending.push_back(user->getResult(0));
      else if (attention && attention.isDpsInit(&use) && !writer)
        writer = &use;
      else if (user != part.op)
        return nullptr;
    }
  return writer && writer->getOwner()->getBlock() == fill->getBlock() && writer->getOwner()->isBeforeInBlock(fill)
             ? writer
             : nullptr;
}

/// Lets the op that writes the part write it to its offset in `root`, whose rows are `part.step` apart; false if it
/// cannot.
bool writeInto(const Part &part, linalg::FillOp fill) {
  Value root = fill.getOutputs()[0];
  OpOperand *writer = writerOf(part, fill);
  auto type = writer ? cast<MemRefType>(writer->get().getType()) : MemRefType();
  if (!writer || !type.getLayout().isIdentity() || type.getNumElements() != part.rows * part.length)
    return false;
  SmallVector<int64_t> strides(type.getRank());
  int64_t inner = 1;
  for (int64_t dim = type.getRank(); dim-- > 0;) {
    if (inner < part.length && part.length % (inner * type.getDimSize(dim)))
      return false; // a dimension of rows and columns
    strides[size_t(dim)] = inner < part.length ? inner : inner / part.length * part.step;
    inner *= type.getDimSize(dim);
  }
  if (!root.getDefiningOp()->isBeforeInBlock(writer->getOwner()))
    root.getDefiningOp()->moveBefore(writer->getOwner());
  OpBuilder b(writer->getOwner());
  auto layout = StridedLayoutAttr::get(b.getContext(), part.first, strides);
  writer->set(memref::ReinterpretCastOp::create(b, part.op->getLoc(),
                                                MemRefType::get(type.getShape(), type.getElementType(), layout), root,
                                                part.first, type.getShape(), strides));
  part.op->erase();
  return true;
}

struct CopyPartsPass : impl::CopyPartsPassBase<CopyPartsPass> {
  void runOnOperation() override {
    SmallVector<linalg::FillOp> fills;
    getOperation().walk([&](linalg::FillOp fill) {
      auto zero = fill.getInputs()[0].getDefiningOp<arith::ConstantOp>();
      auto number = zero ? dyn_cast<FloatAttr>(zero.getValue()) : FloatAttr();
      Value root = fill.getOutputs()[0];
      if (number && number.getValue().isZero() && root.getDefiningOp<memref::AllocOp>() &&
          cast<MemRefType>(root.getType()).hasStaticShape())
        fills.push_back(fill);
    });
    for (linalg::FillOp fill : fills) {
      SmallVector<Part> parts = partsOf(fill);
      for (const Part &part : parts)
        if (!writeInto(part, fill))
          copyInto(part, fill.getOutputs()[0]);
      if (!parts.empty())
        fill.erase();
    }
  }
};

} // namespace
} // namespace mlir::ppc
