// From options to a planned model: reads the inputs, asks for the plans, writes them.
#ifndef PPC_TOOLS_PLAN_PLANRUN_H
#define PPC_TOOLS_PLAN_PLANRUN_H

#include "ModuleReader.h"
#include "Options.h"
#include "ppc/Planning/TrainingSoftware.h"
#include "ppc/Reporting/PlanReport.h"
#include "ppc/Support/OutputFile.h"

namespace mlir::ppc {

/// `error: MESSAGE` on standard error; 1, the exit status.
int fail(const llvm::Twine &message);
int fail(llvm::Error error);
void note(const llvm::Twine &message);

/// Runs `print` on the output; the exit status, `print`'s if that is not 0.
int writeOutput(OutputFile &output, llvm::function_ref<int(llvm::raw_ostream &)> print);

/// Contents of the files and names of the command line.
struct PlanInput {
  ModelShape model;   // shape for the cost model: with packed documents, attention meets fewer keys
  ModelShape trained; // as it is
  Cluster cluster;
  Stack stack;
  const TrainingSoftware *software = nullptr; // that limits the plans; null: none
  TrainingJob job;
  PlanConstraints constraints;
  ParallelLayout base;               // values that are neither searched nor pinned
  std::optional<ModuleModel> module; // for a model in MLIR; `model` is its shape, if it has one
  OpCuts cuts;                       // op shardings of the plan file
};
/// Reads the input. Errors name the file, option or key; with `needsShape` a program that is not a transformer is an
/// error, too.
llvm::Expected<PlanInput> readInput(const PlanOptions &options, bool needsShape = true);

/// Searches and writes; the exit status.
int plan(const PlanOptions &options, OutputFile &output);

/// Number of plans around which op-level shardings are searched: the best ones, however many --top lists.
constexpr int64_t kComparedPlans = 5;

/// Plans a model in MLIR with op-level sharding.
int planChain(const PlanOptions &options, const PlanInput &input, OutputFile &output);
/// Searches op-level shardings around the degrees of the report's plans, and writes both.
int planOps(const PlanOptions &options, const PlanInput &input, const PlanReport &report, OutputFile &output);
/// Writes the report as --emit says.
int writeReport(const PlanOptions &options, const PlanReport &report, llvm::raw_ostream &out);

/// The MFU of the best plan, for budgets. Errors: as `readInput`; no plan is possible.
llvm::Expected<double> predictMfu(const PlanOptions &options);

} // namespace mlir::ppc

#endif // PPC_TOOLS_PLAN_PLANRUN_H
