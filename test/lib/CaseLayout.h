// A layout of a random case: its JSON form, and the compilation of a model under it up to the end of the partition.
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
  int64_t pieces = 0; ///< chunks per matmul and collective, with `overlap`
};

/// Reads {"dp": 2, "schedule": "1f1b", "sp": true, ...} with the option words of ppc-compile; absent keys are 1, 0 or
/// none.
CaseLayout readLayout(const llvm::json::Object &layout);

/// Plans, differentiates, partitions and proves the imported `module`; `logical` becomes its training step before the
/// partition. Returns "", "refused: ..." if the layout does not fit the model, or "failed: PHASE: ...". With `unproved`
/// a program that the proof refuses is partitioned anyway, and `unproved` becomes the reason.
std::string partition(ModuleOp module, const CaseLayout &layout, const TrainOptions &train,
                      OwningOpRef<ModuleOp> &logical, std::string *unproved = nullptr);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_CASELAYOUT_H
