// ppc-fuse-accumulation: add(acc, gemm) with destination acc becomes a gemm that accumulates there.
#include "ppc/Transforms/Fusion/Passes.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_FUSEACCUMULATIONPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {
/// Whether some user stores `value` in the buffer of `accumulator`.
bool updatesInPlace(Value value, Value accumulator) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(user);
    return write && write.getSource() == value && write.getDest() == accumulator;
  });
}

struct FuseAccumulationPass : impl::FuseAccumulationPassBase<FuseAccumulationPass> {
  void runOnOperation() override {
    SmallVector<AddOp> adds;
    getOperation()->walk([&](AddOp add) { adds.push_back(add); });
    for (AddOp add : adds)
      for (auto [accumulator, product] : {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())}) {
        auto gemm = product.getDefiningOp<ppcrt::GemmOp>();
        if (!gemm || !product.hasOneUse() || gemm.getAccumulate() || !updatesInPlace(add, accumulator))
          continue;
        gemm->moveBefore(add);
        gemm.getOutMutable().assign(accumulator);
        gemm.setAccumulate(true);
        add.replaceAllUsesWith(product);
        add.erase();
        break;
      }
  }
};
} // namespace
} // namespace mlir::ppc
