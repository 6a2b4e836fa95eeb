// ppc-name-operations: the names of the model's ops, for those who read a profile.
#include "ppc/Transforms/Profile/Passes.h"

#include "dialects/ppc/Ppc.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_NAMEOPERATIONSPASS
#include "ppc/Transforms/Profile/Passes.h.inc"

namespace {
struct NameOperationsPass : impl::NameOperationsPassBase<NameOperationsPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (!isa_and_nonnull<PpcDialect>(op->getDialect()))
        return;
      std::string name = op->getName().stripDialect().str();
      if (auto matmul = dyn_cast<MatmulOp>(op))
        name += " " + matmul.getSpec().str();
      op->setLoc(NameLoc::get(StringAttr::get(op->getContext(), name)));
    });
  }
};
} // namespace
} // namespace mlir::ppc
