// Plans from and to YAML files: the sections that the compiler reads (ppc/Planning/Files/PlanSections.h), and how
// single ops are cut (ppc/Planning/Files/ChainPlanFile.h).
//
// A file that ppc-plan wrote says the same and more in a section `layout:`. Beside a grid it is only looked at for what
// compiled programs cannot run; alone it is for ppc-search-plan.
#ifndef PPC_TRANSFORMS_PLAN_PLANFILE_H
#define PPC_TRANSFORMS_PLAN_PLANFILE_H

#include "dialects/ppc/Ppc.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"
#include <string>

namespace mlir::ppc {

/// Reads a plan file for the program in `module`, which must have the precision that the file says, if it does. Fails
/// with errors that name file, line and column.
FailureOr<PlanAttr> readPlanFile(StringRef path, ModuleOp module, const TargetCapabilities &target);

/// Which sections a file has, and the precision that `layout:` says; empty: none. Errors: it cannot be read, or is no
/// YAML.
struct PlanFileSections {
  bool grid = false, layout = false, ops = false;
  std::string precision;
};
llvm::Expected<PlanFileSections> planFileSections(StringRef path);

/// `ppc.prediction` as comments of a plan file.
std::string predictionText(DictionaryAttr prediction);

/// The text of a plan file, without ops.
std::string planText(PlanAttr plan);

/// The section `ops:` of a module before differentiation: what `ppc.factors` on its ops say; empty where no op has any.
std::string opCutsText(ModuleOp module, PlanAttr plan);
/// The other way: `ppc.factors` from the section `ops:` of a file, from which `plan` was read; nothing where it has
/// none. Fails, with errors at the module, as readOpCuts does.
LogicalResult readOpCuts(StringRef path, ModuleOp module, PlanAttr plan, const TargetCapabilities &target);

/// `FILE:LINE:COLUMN: error: MESSAGE` of readers without the word, which diagnostics say.
std::string withoutKind(llvm::Error error);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PLAN_PLANFILE_H
