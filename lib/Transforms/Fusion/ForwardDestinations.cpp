// ppc-forward-destinations: a buffer that is only copied elsewhere is replaced by the destination of the copy.
#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "ppc/Transforms/Fusion/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_FORWARDDESTINATIONSPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {

/// `buffer`, whose rows are contiguous, in the shape of `type`.
Value inShape(ImplicitLocOpBuilder &b, Value buffer, MemRefType type) {
  auto own = cast<MemRefType>(buffer.getType());
  if (own == type)
    return buffer;
  auto all = [](MemRefType of) {
    return SmallVector<ReassociationIndices>{llvm::to_vector(llvm::seq<int64_t>(0, of.getRank()))};
  };
  if (own.getRank() > 1)
    buffer = memref::CollapseShapeOp::create(b, buffer, all(own));
  return type.getRank() > 1 ? memref::ExpandShapeOp::create(b, type.getShape(), buffer, all(type)).getResult() : buffer;
}

/// Whether `copy` is the last use of a buffer and its views.
bool endsWith(Value buffer, memref::CopyOp copy) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    Operation *inBlock = copy->getBlock()->findAncestorOpInBlock(*user);
    bool isBefore = user == copy || (inBlock && inBlock->isBeforeInBlock(copy));
    return isBefore && (!isa<ViewLikeOpInterface>(user) || endsWith(user->getResult(0), copy));
  });
}

struct ForwardDestinationsPass : impl::ForwardDestinationsPassBase<ForwardDestinationsPass> {
  void runOnOperation() override {
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies)
      forward(copy);
  }

  void forward(memref::CopyOp copy) {
    auto place = dyn_cast<BlockArgument>(copy.getTarget());
    Value whole = wholeBuffer(copy.getSource());
    auto made = whole ? whole.getDefiningOp<memref::AllocOp>() : memref::AllocOp();
    if (!place || !made || made->getBlock() != copy->getBlock() || place.getOwner() != copy->getBlock())
      return;
    auto type = made.getType(), kept = dyn_cast<MemRefType>(place.getType());
    // The destination has no other use.
    if (!kept || !place.hasOneUse() || type.getRank() == 0 || kept.getRank() == 0 || !type.hasStaticShape() ||
        !type.getLayout().isIdentity() || !kept.getLayout().isIdentity() ||
        type.getElementType() != kept.getElementType() || type.getNumElements() != kept.getNumElements() ||
        !endsWith(made, copy))
      return;
    copy.erase();
    ImplicitLocOpBuilder builder(made.getLoc(), made);
    made.replaceAllUsesWith(inShape(builder, place, type));
    made.erase();
  }
};

} // namespace
} // namespace mlir::ppc
