// Checks of a plan file whose sections are well formed: parts that could not be compiled, or that would have no effect.
#ifndef PPC_LIB_PLANNING_FILES_PLANCHECKER_H
#define PPC_LIB_PLANNING_FILES_PLANCHECKER_H

#include "ppc/Planning/Files/PlanSections.h"

namespace mlir::ppc {

class PlanChecker {
public:
  /// `plan` as it was read from `file`, which takes the errors; sets the roles of its axes.
  PlanChecker(YamlReader &file, const PlannedProgram &program, const TargetCapabilities &target, PlanSections &plan)
      : file(file), program(program), target(target), plan(plan) {}

  void check();

private:
  void checkPipeline();
  /// Which names of dimensions there are: of all arguments, or of the inputs.
  void checkNames(llvm::StringRef section, const std::vector<PlanSections::DimensionCut> &cuts, bool ofInputs);
  void checkUnevenActivations();
  void checkExchange();
  void checkParameters();
  void checkArgument(const PlannedProgram::Argument &argument);
  void checkBatch();
  void checkRoles();
  /// Checks that the axes of the section `ops:` are the mesh axes that do not shard the batch.
  void checkOps();
  /// Fails where no rank has a part of something, at the key of a section.
  void checkParts(YamlReader &section, llvm::StringRef key, const PlanSections::Axes &axes,
                  const PlannedProgram::Argument &argument, size_t dimension);

  const PlanSections::Axes *cutOf(llvm::StringRef dimension) const;
  int64_t product(const PlanSections::Axes &axes) const;
  /// Whether an axis shards anything in the program.
  bool isUsed(llvm::StringRef axis);

  YamlReader &file;
  const PlannedProgram &program;
  const TargetCapabilities &target;
  PlanSections &plan;
};

} // namespace mlir::ppc

#endif // PPC_LIB_PLANNING_FILES_PLANCHECKER_H
