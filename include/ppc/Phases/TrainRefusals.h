// Which models and layouts the train phase refuses, asked before anything is planned.
#ifndef PPC_PHASES_TRAINREFUSALS_H
#define PPC_PHASES_TRAINREFUSALS_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/Planning/ProgramRefusals.h"

namespace mlir::ppc {

/// Runs the train phase on copies of a model that the import phase has passed: with one micro-batch, with several, with
/// slices. Fills in `model`, `microBatches` and `slices`; emits no diagnostics.
ProgramRefusals trainRefusals(ModuleOp model);

} // namespace mlir::ppc

#endif // PPC_PHASES_TRAINREFUSALS_H
