// ppc-forward-fills: copies of buffers that hold one number everywhere become fills.
#include "ppc/Transforms/Fusion/BufferAccess.h"
#include "ppc/Transforms/Fusion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_FORWARDFILLSPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {

bool isStatic(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.hasStaticShape() && type.isStrided();
}

class FillForwarding {
public:
  explicit FillForwarding(Block &block) : block(block) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto copy = dyn_cast<memref::CopyOp>(op)) {
        forward(copy);
        continue;
      }
      if (auto fill = dyn_cast<linalg::FillOp>(op)) {
        Value root = rootBuffer(fill.getOutputs()[0]);
        forget(root);
        if (root == fill.getOutputs()[0])
          holds[root] = fill.getInputs()[0];
        continue;
      }
      for (const BufferAccess &access : accessesOf(&op))
        if (access.writes)
          forget(access.root);
    }
    SmallVector<linalg::FillOp> fills(block.getOps<linalg::FillOp>());
    for (linalg::FillOp fill : fills) {
      Value root = fill.getOutputs()[0];
      if (root != rootBuffer(root))
        continue;
      if (!isLiveBehind(root, fill))
        fill.erase();
      else if (root.getDefiningOp<memref::AllocOp>())
        sink(fill);
    }
  }

private:
  /// To where the buffer is used first, which may be a region that takes it in.
  void sink(linalg::FillOp fill) {
    Value root = fill.getOutputs()[0];
    for (Operation *next = fill->getNextNode(); next; next = next->getNextNode())
      if (llvm::any_of(accessesOf(next), [&](const BufferAccess &access) { return access.root == root; }))
        return fill->moveBefore(next);
  }

  void forget(Value root) { holds.erase(root); }
  void forward(memref::CopyOp copy) {
    Value number = holds.lookup(copy.getSource()), target = copy.getTarget();
    forget(rootBuffer(target));
    OpBuilder b(copy);
    if (number) {
      linalg::FillOp::create(b, copy.getLoc(), number, target);
      if (target == rootBuffer(target))
        holds[target] = number;
    } else if (isStatic(copy.getSource()) && isStatic(target)) {
      linalg::makeMemRefCopyOp(b, copy.getLoc(), copy.getSource(), target);
    } else {
      return;
    }
    copy.erase();
  }

  Block &block;
  llvm::DenseMap<Value, Value> holds; // buffers as a whole -> the number in them
};

struct ForwardFillsPass : impl::ForwardFillsPassBase<ForwardFillsPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && llvm::hasSingleElement(function.getBody()))
        FillForwarding(function.front()).run();
  }
};

} // namespace
} // namespace mlir::ppc
