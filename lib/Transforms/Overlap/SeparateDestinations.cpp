// ppc-separate-destinations: gives a chunk that is scattered over ranks a buffer of its own, so that the next one
// can be computed meanwhile.
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "ppc/Transforms/Overlap/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_SEPARATEDESTINATIONSPASS
#include "ppc/Transforms/Overlap/Passes.h.inc"

namespace {

/// The operand whose empty tensor is the destination of `value`; null if its destination is not an empty tensor.
OpOperand *destinationOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    auto writer = dyn_cast<DestinationStyleOpInterface>(op);
    if (!writer)
      return nullptr;
    OpOperand *destination = writer.getTiedOpOperand(cast<OpResult>(value));
    value = destination->get();
    if (value.getDefiningOp<tensor::EmptyOp>())
      return destination;
  }
  return nullptr;
}

struct SeparateDestinationsPass : impl::SeparateDestinationsPassBase<SeparateDestinationsPass> {
  void runOnOperation() override {
    getOperation().walk([](ppcrt::ReduceScatterOp scatter) {
      bool isPiece = llvm::any_of(scatter->getUsers(), llvm::IsaPred<tensor::InsertSliceOp>);
      OpOperand *destination = isPiece ? destinationOf(scatter.getX()) : nullptr;
      if (!destination || destination->get().hasOneUse())
        return;
      OpBuilder builder(destination->getOwner());
      destination->set(builder.clone(*destination->get().getDefiningOp())->getResult(0));
    });
  }
};

} // namespace
} // namespace mlir::ppc
