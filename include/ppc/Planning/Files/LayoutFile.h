// Reads and writes layouts in the plan files that users edit.
//
//   layout:
//     dp: 8
//     tp: 4
//     schedule: interleaved
//     stage_layers: [ 8, 8, 8, 8 ]   # per virtual stage, in model order
//
// Keys are the names of PlanKey. A layout that ppc-compile can run is also written in that program's terms (grid,
// stages, ...); reading takes the layout from the section above and ignores the rest.
#ifndef PPC_PLANNING_FILES_LAYOUTFILE_H
#define PPC_PLANNING_FILES_LAYOUTFILE_H

#include "ppc/Model/ModelShape.h"
#include "ppc/Planning/PlanConstraints.h"
#include "ppc/Target/TargetCapabilities.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ppc {

/// Writes the section `layout:` and, where programs of the target run the layout, the sections that ppc-compile reads.
void writeLayoutFile(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout,
                     const TargetCapabilities &target, llvm::raw_ostream &out);

/// Use of a file that is read.
struct LayoutFileUse {
  /// The compiler's sections of the file are not read; if they contradict the layout, that is an error, too.
  bool isAlone = true;
  /// A decision that programs of this target, with matmuls in `precision`, cannot run is an error; null: it may be
  /// planned.
  const TargetCapabilities *target = nullptr;
  Precision precision = Precision::F32;
};

/// Pins the decisions in the file; others stay open. Errors: `FILE:LINE:COLUMN: error: ...` for text that is not YAML,
/// an unknown key or value, decisions that the use refuses; no section `layout:`; `stage_layers` that are not a list of
/// numbers >= 0.
llvm::Error readLayoutFile(llvm::StringRef path, PlanConstraints &constraints, const LayoutFileUse &use = {});
/// Overload for text in memory; `name` is the file name in messages.
llvm::Error parseLayoutFile(llvm::StringRef name, llvm::StringRef text, PlanConstraints &constraints,
                            const LayoutFileUse &use = {});

} // namespace mlir::ppc

#endif // PPC_PLANNING_FILES_LAYOUTFILE_H
