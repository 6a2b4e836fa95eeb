// Facts of a model that the manifest states, recorded before the model is partitioned.
#ifndef PPC_ANALYSIS_MODELRECORD_H
#define PPC_ANALYSIS_MODELRECORD_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::ppc {

/// Records in `ppc.model` the name of the model, its sequence length, global batch, vocabulary and parameter count,
/// read from the arguments of its one function (inputs [batch, sequence]). The vocabulary is how many ids all look-ups
/// by inputs know (rows of tables, classes of losses); where there is none, the size of dimensions called "vocab".
/// Fails, with an error on the function or argument, where no program can be made of the model.
LogicalResult recordModel(ModuleOp module, StringRef name, double flopsPerToken);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_MODELRECORD_H
