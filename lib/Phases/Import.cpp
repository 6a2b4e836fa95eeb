// import: the contract of imported models. Importers are not passes; this phase checks their output and models that
// users write.
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Precision/Passes.h"

namespace mlir::ppc {

void buildImportPhase(OpPassManager &pm, StringRef precision) {
  pm.addPass(createVerifyModelPass());
  // Before passes that compute the model's cost, and before it is differentiated.
  if (precision != "f32")
    pm.addPass(createLowerPrecisionPass(LowerPrecisionPassOptions{precision.str()}));
}

} // namespace mlir::ppc
