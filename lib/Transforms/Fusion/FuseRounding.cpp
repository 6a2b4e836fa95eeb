// ppc-fuse-rounding: convert(gemm) becomes a gemm that stores the converted values.
#include "ppc/Transforms/Fusion/Passes.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_FUSEROUNDINGPASS
#include "ppc/Transforms/Fusion/Passes.h.inc"

namespace {
struct FuseRoundingPass : impl::FuseRoundingPassBase<FuseRoundingPass> {
  void runOnOperation() override {
    SmallVector<ConvertOp> converts;
    getOperation()->walk([&](ConvertOp op) { converts.push_back(op); });
    for (ConvertOp convert : converts) {
      auto gemm = convert.getX().getDefiningOp<ppcrt::GemmOp>();
      if (!gemm || !convert.getX().hasOneUse() || gemm.getAccumulate() ||
          !gemm.getOut().getDefiningOp<tensor::EmptyOp>() || !tensorType(gemm.getA()).getElementType().isBF16() ||
          !convert.getType().getElementType().isBF16())
        continue;
      OpBuilder builder(gemm);
      RankedTensorType type = convert.getType();
      Value out = tensor::EmptyOp::create(builder, gemm.getLoc(), type.getShape(), type.getElementType());
      auto rounded = ppcrt::GemmOp::create(builder, gemm.getLoc(), type, gemm.getA(), gemm.getB(), out,
                                           gemm.getSizesAttr(), gemm.getStridesAttr(), gemm.getLoopsAttr(), UnitAttr());
      convert.replaceAllUsesWith(rounded.getResult()[0]);
      convert.erase();
      gemm.erase();
    }
  }
};
} // namespace
} // namespace mlir::ppc
