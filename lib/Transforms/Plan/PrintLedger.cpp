// Shows what a partitioned program moves, computes and holds.
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Analysis/ProgramLedger.h"
#include "ppc/Transforms/Plan/Passes.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_PRINTLEDGERPASS
#include "ppc/Transforms/Plan/Passes.h.inc"

namespace {

struct PrintLedgerPass : impl::PrintLedgerPassBase<PrintLedgerPass> {
  void runOnOperation() override {
    FailureOr<Ledger> ledger = programLedger(getOperation());
    if (failed(ledger))
      return signalPassFailure();
    printLedgers({{"emitted", &*ledger}}, llvm::errs());
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace mlir::ppc
