// A layout of a drawn case: as JSON, and what becomes of a model under it up to the end of the partition.
#ifndef PPC_TEST_LIB_CASELAYOUT_H
#define PPC_TEST_LIB_CASELAYOUT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Plan/Passes.h"
#include "llvm/Support/JSON.h"

namespace mlir::ppc::test {

struct CaseLayout {
  MakePlanPassOptions plan;
  bool overlap = false, rotate = false;
  int64_t pieces = 0; ///< of products beside their collectives, where `overlap`
};

/// Of {"dp": 2, "schedule": "1f1b", "sp": true, ...}, words as the options of ppc-compile; what is absent is 1, 0 or
/// none.
CaseLayout readLayout(const llvm::json::Object &layout);

/// Plans, differentiates, cuts and proves the imported `module`; `logical` becomes its training step before it was cut.
/// "", "refused: ..." where the layout does not fit the model, or "failed: PHASE: ...". With `unproved` a program that
/// the proof refuses is partitioned all the same, and `unproved` becomes the reason.
std::string partition(ModuleOp module, const CaseLayout &layout, const TrainOptions &train,
                      OwningOpRef<ModuleOp> &logical, std::string *unproved = nullptr);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_CASELAYOUT_H
