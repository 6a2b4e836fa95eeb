// Results of a training step of a partitioned program as full logical tensors, to compare two programs of one model.
#ifndef PPC_TEST_LIB_STEPRESULTS_H
#define PPC_TEST_LIB_STEPRESULTS_H

#include "StepValues.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::ppc::test {

/// Logical tensors of a step's outputs by name: parameters, states and metrics.
using StepResults = std::map<std::string, ReferenceTensor>;

/// Runs passes; returns "" or the first error, with its line and column if it has them.
std::string runPasses(ModuleOp module, llvm::function_ref<void(OpPassManager &)> build);
/// The proof of equivalence; "" or "not proved: ...".
std::string proveEquivalence(ModuleOp logical, ModuleOp module);
/// Runs one step of the partitioned `module` on the interpreter in f64, from logical `values` of the inputs of the
/// step, or from random numbers of `seed` for the inputs of `logical`. Returns "", "failed: ...", or "differs: ..." if
/// replicas of an element disagree.
std::string computeStep(ModuleOp module, const NamedTensors &values, StepResults &results);
std::string computeStep(ModuleOp logical, ModuleOp module, uint64_t seed, StepResults &results);
/// "" or "differs: ..." with the first output that has other numbers than expected.
std::string difference(const StepResults &found, const StepResults &expected);
/// Without line breaks.
std::string oneLine(std::string text);

} // namespace mlir::ppc::test

#endif // PPC_TEST_LIB_STEPRESULTS_H
