// The sizes of the model in a module, for the planner: as its importer recorded them, or read off a program by hand.
#ifndef PPC_ANALYSIS_MODULESHAPE_H
#define PPC_ANALYSIS_MODULESHAPE_H

#include "mlir/IR/BuiltinOps.h"
#include "ppc/CostModel/ParallelLayout.h"

namespace mlir::ppc {

/// Writes `ppc.shape` on the module: one entry for each size that is not the default of ModelShape, but for prediction
/// layers, which importers leave out of the program.
void recordModelShape(ModuleOp module, const ModelShape &shape);

/// Returns the recorded sizes, or those that the arguments of the one function name in `ppc.dims` (hidden, ffn, vocab,
/// kv_heads, head_group, head_dim) with the layers that `ppc.layer` counts between embedding and LM head. Errors: a
/// malformed `ppc.shape`; the name of a missing dimension that the cost model of transformers needs.
llvm::Expected<ModelShape> modelShapeOf(ModuleOp module);

/// Tokens per sequence and sequences per step: the sizes of the first argument with `ppc.input`. Errors: there is none.
llvm::Expected<TrainingJob> trainingJobOf(ModuleOp module);

/// Element type of the program's matmul operands: `ppc.precision`, without it the type of its parameters.
Precision precisionOf(ModuleOp module);

/// Size of the logical dimension `name` in the arguments' `ppc.dims`; 0 when no argument has it.
int64_t logicalDimension(ModuleOp module, StringRef name);

} // namespace mlir::ppc

#endif // PPC_ANALYSIS_MODULESHAPE_H
