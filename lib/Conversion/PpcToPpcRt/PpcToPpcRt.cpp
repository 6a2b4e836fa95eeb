// ppc-to-ppc-rt: ops that the runtime and its libraries implement become ops of the runtime dialect. One file per
// family.
#include "Patterns.h"
#include "ppc/Conversion/Passes.h"

#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PPCTOPPCRTPASS
#include "ppc/Conversion/Passes.h.inc"

namespace {
struct PpcToPpcRtPass : impl::PpcToPpcRtPassBase<PpcToPpcRtPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateAttentionCall(patterns);
    populateLibrary(patterns);
    populateRuntimeCollective(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
} // namespace mlir::ppc
