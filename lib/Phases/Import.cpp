// import: the contract of what comes in. Importers are not passes; this is where their output, and what people write by
// hand, is checked.
#include "ppc/Phases/Phases.h"
#include "ppc/Transforms/Contracts/Passes.h"

namespace mlir::ppc {

void buildImportPhase(OpPassManager &pm) { pm.addPass(createVerifyModelPass()); }

} // namespace mlir::ppc
