// import: the contract of what comes in. Importers are not passes; this is where their output, and what people write by
// hand, is checked.
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "ppc/Transforms/Precision/Passes.h"

namespace mlir::ppc {

void buildImportPhase(OpPassManager &pm, StringRef precision) {
  pm.addPass(createVerifyModelPass());
  // Before anything asks what the model costs, and before it is differentiated.
  if (precision != "f32")
    pm.addPass(createLowerPrecisionPass(LowerPrecisionPassOptions{precision.str()}));
}

} // namespace mlir::ppc
