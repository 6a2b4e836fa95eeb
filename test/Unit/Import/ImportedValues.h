// A config.json as the importer builds it, and the results of that module on parameters and tokens that follow from
// their names alone, so that another program (tools/dev/key_sweep) generates the same ones.
#ifndef PPC_TEST_UNIT_IMPORT_IMPORTEDVALUES_H
#define PPC_TEST_UNIT_IMPORT_IMPORTEDVALUES_H

#include "ppc/Import/HuggingFace.h"

#include <map>

namespace mlir::ppc::test {

/// Tokens of a sequence, and sequences, of every model of the sweep.
constexpr int64_t sweepSequence = 16, sweepBatch = 2;

/// Element `index` of what is called `name`, in [-1, 1): the top 53 bits of splitmix64(FNV-1a(name) + index).
double drawnNumber(llvm::StringRef name, uint64_t index);

/// Either a module or why there is none.
struct ImportedModel {
  OwningOpRef<ModuleOp> module;
  std::string text;    // the module, printed
  std::string refusal; // the importer's message; empty when there is a module
};
/// Imports `config`, the text of a config.json, for the sweep's batch.
ImportedModel importText(llvm::StringRef config, MLIRContext &context, int64_t sequence = sweepSequence);
ImportedModel importConfig(const ModelConfig &config, MLIRContext &context, int64_t sequence = sweepSequence);

/// Elements of all parameters.
int64_t parameterCount(ModuleOp module);

struct ImportedValues {
  double loss = 0;
  std::map<std::string, std::vector<double>> gradients;
};
/// Results of @loss in the interpreter; with `gradients`, after ppc-build-backward, those of its results, too.
ImportedValues computeValues(ModuleOp module, bool gradients);

} // namespace mlir::ppc::test

#endif // PPC_TEST_UNIT_IMPORT_IMPORTEDVALUES_H
