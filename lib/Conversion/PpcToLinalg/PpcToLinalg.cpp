// ppc-to-linalg: everything that is loops becomes linalg.generic on tensors. One file per op family.
#include "LoopNest.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "ppc/Conversion/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PPCTOLINALGPASS
#include "ppc/Conversion/Passes.h.inc"

namespace {
struct PpcToLinalgPass : impl::PpcToLinalgPassBase<PpcToLinalgPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateElementwise(patterns);
    populateReduction(patterns);
    populateIndexing(patterns);
    populateLoss(patterns);
    populateShape(patterns);
    populateTraining(patterns);
    populatePlacement(patterns);
    populateCollective(patterns);
    populateRouting(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
} // namespace mlir::ppc
