#include "ppc/Phases/TrainRefusals.h"
#include "dialects/ppc/Ppc.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "ppc/Analysis/ModelRecord.h"
#include "ppc/Analysis/ModuleShape.h"
#include "ppc/Analysis/UserMessage.h"
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Autodiff/Passes.h"

namespace mlir::ppc {

/// "" where `build` and the passes that it adds take a copy of the model.
static std::string refusalOf(ModuleOp model, function_ref<LogicalResult(ModuleOp, OpPassManager &)> build) {
  std::string error;
  ScopedDiagnosticHandler handler(model.getContext(),
                                  [&](Diagnostic &diagnostic) { keepFirstError(diagnostic, error); });
  OwningOpRef<ModuleOp> copy = model.clone();
  PassManager passes(model.getContext());
  passes.enableVerifier(false); // as ppc-compile runs a phase
  bool isTaken = succeeded(build(*copy, passes)) && succeeded(passes.run(*copy)) && succeeded(verify(*copy));
  return isTaken || !error.empty() ? error : "it cannot be compiled";
}

/// The least divisor above 1; 1 has none.
static int64_t leastParts(int64_t extent) {
  int64_t parts = 2;
  while (parts < extent && extent % parts)
    ++parts;
  return std::min(parts, extent);
}

ProgramRefusals trainRefusals(ModuleOp model) {
  ProgramRefusals refusals;
  auto train = [](OpPassManager &passes, int64_t microBatches) {
    TrainOptions options;
    options.microBatches = microBatches;
    buildTrainPhase(passes, options);
    return success();
  };
  int64_t batch = 1;
  refusals.model = refusalOf(model, [&](ModuleOp copy, OpPassManager &passes) {
    if (failed(recordModel(copy, "model", 0)))
      return failure();
    batch = copy->getAttrOfType<DictionaryAttr>("ppc.model").getAs<IntegerAttr>("global_batch").getInt();
    return train(passes, 1);
  });
  if (!refusals.model.empty())
    return refusals;
  if (batch > 1)
    refusals.microBatches =
        refusalOf(model, [&](ModuleOp, OpPassManager &passes) { return train(passes, leastParts(batch)); });
  if (int64_t length = logicalDimension(model, "sequence"); length > 1)
    refusals.slices = refusalOf(model, [&](ModuleOp, OpPassManager &passes) {
      passes.addPass(createSliceSequencePass(SliceSequencePassOptions{leastParts(length)}));
      return success();
    });
  return refusals;
}

} // namespace mlir::ppc
