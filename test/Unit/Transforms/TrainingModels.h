// Small models in f64, the passes of the train phase on them, and numbers to run them on.
#ifndef PPC_TEST_UNIT_TRANSFORMS_TRAININGMODELS_H
#define PPC_TEST_UNIT_TRANSFORMS_TRAININGMODELS_H

#include "dialects/ppc/Ppc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "ppc/Import/HuggingFace.h"
#include "ppc/Interpreter/Interpreter.h"
#include "ppc/Transforms/Autodiff/Passes.h"

#include <random>

namespace mlir::ppc::test {

/// A chain of residual layers with biases, a skip over all layers, parameters that share one gradient, and, `tied`,
/// a matrix and a scalar used in several layers. Weights come first in every other matmul.
struct MlpOptions {
  int64_t layers = 4, batch = 4, width = 3;
  bool tied = false;
};
OwningOpRef<ModuleOp> buildMlp(MLIRContext &context, const MlpOptions &options);

/// Imports a config, with f64 for f32. `changes` are further JSON fields.
struct LlamaOptions {
  int64_t layers = 2, batch = 2, sequence = 4;
  StringRef changes = "";
};
OwningOpRef<ModuleOp> buildLlama(MLIRContext &context, const LlamaOptions &options);
/// Overload for the whole text of a config; with `single` as it is imported, in f32.
OwningOpRef<ModuleOp> buildFromConfig(MLIRContext &context, StringRef json, const HuggingFaceOptions &options,
                                      bool single = false);

using Passes = std::vector<std::unique_ptr<Pass>>;
template <typename... P> Passes passes(P... pass) {
  Passes list;
  (list.push_back(std::move(pass)), ...);
  return list;
}
/// Runs passes, verifying after each.
LogicalResult run(ModuleOp module, Passes passes);
/// Backward, `microBatches` micro-batches, optimizer: @loss becomes @step.
LogicalResult buildStep(ModuleOp module, int64_t microBatches, AppendOptimizerPassOptions optimizer = {});

/// Numbers for each argument by its role: token ids below the vocabulary, parameters and m in [-1, 1], v in [0, 1],
/// learning_rate 0.01, step 3.
RankValues randomArguments(func::FuncOp function, unsigned seed);

/// The argument or result with these labels, -1 if there is none. `of` is the name of a parameter.
int findArgument(func::FuncOp function, StringRef label, StringRef text, StringRef of = "");
int findResult(func::FuncOp function, StringRef kind, StringRef of = "");

/// |a - b| <= tolerance * max(1, |a|, |b|) for all elements and equal shapes; NaN is never near.
bool near(const ReferenceTensor &a, const ReferenceTensor &b, double tolerance);

} // namespace mlir::ppc::test

#endif // PPC_TEST_UNIT_TRANSFORMS_TRAININGMODELS_H
