// Layouts from and to the plan files that people edit.
//
//   layout:
//     dp: 8
//     tp: 4
//     schedule: interleaved
//     stage_layers: [ 8, 8, 8, 8 ]   # per virtual stage, in model order
//
// Keys are those of PlanKey. A layout of which ppc-compile can run every part also says it in that program's terms
// (grid, stages, ...); reading takes the layout from the section above and ignores the rest.
#ifndef PPC_PLANNING_FILES_LAYOUTFILE_H
#define PPC_PLANNING_FILES_LAYOUTFILE_H

#include "ppc/Model/ModelShape.h"
#include "ppc/Planning/PlanConstraints.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ppc {

/// Writes the section `layout:` and, where programs of the target run the layout, the sections that ppc-compile reads.
void writeLayoutFile(const ModelShape &model, const TrainingJob &job, const ParallelLayout &layout,
                     const TargetCapabilities &target, llvm::raw_ostream &out);

/// What a file is read for.
struct LayoutFileUse {
  /// Nobody reads the compiler's sections of the file; that they say something else is an error then, too.
  bool isAlone = true;
  /// What programs of this target, with products in `precision`, cannot run is an error; null: it may be planned.
  const TargetCapabilities *target = nullptr;
  Precision precision = Precision::F32;
};

/// Pins what the file says; what it leaves out stays open. Errors: `FILE:LINE:COLUMN: error: ...` for what is not YAML,
/// an unknown key or value, what the use refuses; no section `layout:`; `stage_layers` that are no list of numbers >=
/// 0.
llvm::Error readLayoutFile(llvm::StringRef path, PlanConstraints &constraints, const LayoutFileUse &use = {});
/// The same for text in memory; `name` is what messages call it.
llvm::Error parseLayoutFile(llvm::StringRef name, llvm::StringRef text, PlanConstraints &constraints,
                            const LayoutFileUse &use = {});

} // namespace mlir::ppc

#endif // PPC_PLANNING_FILES_LAYOUTFILE_H
