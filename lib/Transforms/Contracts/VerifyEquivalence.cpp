// ppc-verify-equivalence: finds the logical program and has it compared.
#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "ppc/Analysis/ModuleFile.h"
#include "ppc/Equivalence/EquivalenceChecker.h"
#include "ppc/Transforms/Contracts/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_VERIFYEQUIVALENCEPASS
#include "ppc/Transforms/Contracts/Passes.h.inc"

namespace {

struct VerifyEquivalencePass : impl::VerifyEquivalencePassBase<VerifyEquivalencePass> {
  using VerifyEquivalencePassBase::VerifyEquivalencePassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    OwningOpRef<ModuleOp> file;
    ModuleOp program = getOperation().lookupSymbol<ModuleOp>("logical");
    if (!logical.empty()) {
      file = readModuleFile(logical, getContext());
      if (!file) {
        getOperation().emitError() << "cannot read the logical program from " << logical;
        return signalPassFailure();
      }
      program = *file;
    }
    if (!program) {
      getOperation().emitError("has no nested module @logical: give the logical program as a file with logical=FILE");
      return signalPassFailure();
    }
    FailureOr<EquivalenceReport> report = checkEquivalence(program, getOperation());
    if (failed(report))
      return signalPassFailure();
    remark::passed(getOperation().getLoc(), remark::RemarkOpts::name("equivalence").category("ppc-equivalence"))
        << remark::reason("{0} local ops related to the logical program, {1} outputs as declared", report->localOps,
                          report->outputs);
  }
};

} // namespace
} // namespace mlir::ppc
