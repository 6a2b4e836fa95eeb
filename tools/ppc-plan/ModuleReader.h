// Models in MLIR. Their reader links MLIR, whose loading alone takes longer than most plans: it is a separate library
// that is opened when a model is MLIR, so that ppc-plan starts in milliseconds for all others.
#ifndef PPC_TOOLS_PLAN_MODULEREADER_H
#define PPC_TOOLS_PLAN_MODULEREADER_H

#include "ppc/Planning/Chain/ChainSearch.h"

#include <optional>

namespace mlir::ppc {

/// A module as plain data.
struct ModuleModel {
  ChainModel chain;
  Precision precision = Precision::F32; // precision of the parameters
  /// Where the module is a transformer that degrees of parallelism describe: its sizes, and the step that its inputs
  /// mean.
  std::optional<ModelShape> shape;
  TrainingJob job;
  std::string notTransformer; // why there is no shape
};

/// Reads a *.mlir in the ppc dialect; or a config.json as the program that it becomes for such steps. Errors:
/// `FILE:LINE:COLUMN: ...` for an invalid file; the library is missing.
llvm::Expected<ModuleModel> readModule(llvm::StringRef path, TrainingJob job = {});

/// Path of that library: next to the program.
std::string moduleLibraryPath();

/// Type of the function that the library exports by this name; returns false with a message if the model cannot be
/// read.
using ReadModuleFunction = bool (*)(const char *path, const TrainingJob *job, ModuleModel *model, std::string *error);
constexpr const char *readModuleName = "ppcReadModule";

} // namespace mlir::ppc

#endif // PPC_TOOLS_PLAN_MODULEREADER_H
