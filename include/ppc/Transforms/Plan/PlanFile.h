// Plans from and to YAML files: the sections that the compiler reads (ppc/Planning/Files/PlanSections.h), and
// the shardings of single ops (ppc/Planning/Files/ChainPlanFile.h).
//
// A file that ppc-plan wrote describes the same plan, and more, in a section `layout:`. Next to a section `grid:` that
// one is only checked for features that compiled programs do not support; alone it is read by ppc-search-plan.
#ifndef PPC_TRANSFORMS_PLAN_PLANFILE_H
#define PPC_TRANSFORMS_PLAN_PLANFILE_H

#include "dialects/ppc/Ppc.h"
#include "mlir/IR/BuiltinOps.h"
#include "ppc/Target/TargetCapabilities.h"
#include <string>

namespace mlir::ppc {

/// Reads a plan file for the program in `module`, which must have the precision given in the file, if any. Fails with
/// errors that name file, line and column.
FailureOr<PlanAttr> readPlanFile(StringRef path, ModuleOp module, const TargetCapabilities &target);

/// The sections of a file, and the precision in `layout:`; empty: none. Errors: the file cannot be read, or is not
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

/// Returns the section `ops:` of a module before differentiation: the `ppc.factors` of its ops; empty if no op has
/// any.
std::string opCutsText(ModuleOp module, PlanAttr plan);
/// The inverse: sets `ppc.factors` from the section `ops:` of a file, from which `plan` was read; does nothing if
/// it has none. Fails, with errors at the module, as readOpCuts does.
LogicalResult readOpCuts(StringRef path, ModuleOp module, PlanAttr plan, const TargetCapabilities &target);

/// Removes the word "error" from `FILE:LINE:COLUMN: error: MESSAGE` of readers, since diagnostics add it.
std::string withoutKind(llvm::Error error);

} // namespace mlir::ppc

#endif // PPC_TRANSFORMS_PLAN_PLANFILE_H
