// The command line of ppc-plan.
#ifndef PPC_TOOLS_PLAN_OPTIONS_H
#define PPC_TOOLS_PLAN_OPTIONS_H

#include "ppc/Planning/FineTuning.h"
#include "ppc/Reporting/PlanExport.h"
#include "ppc/TargetCapabilities/TargetCapabilities.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mlir::ppc {

/// What is written: the table of the best plans, one plan, everything, a page to look at, a timeline, arguments of
/// others.
enum class PlanOutput { Table, Plan, Json, Html, Trace, Export };

/// One decision of the layout as the command line has it; a forbidden one may have no value.
struct GivenDecision {
  std::string option; // as given, for messages: --shard-group, --pin
  std::string key, value;
};

struct PlanOptions {
  std::string model, cluster;
  int64_t devices = 0; // 0: all of the cluster

  // The job; 0: not given.
  int64_t sequence = 0, globalBatch = 0;
  bool scalePositions = false; // plan sequences longer than the model's positions
  double memory = 0;           // bytes per device that a plan may use; 0: what the device has

  FineTuning tuning;
  std::string stack = "ppc";
  bool assumesStack = false;                    // neither --stack nor --target nor an export says it
  const TargetCapabilities *compiled = nullptr; // whose programs ppc-compile would make of the plans
  const TargetCapabilities *programs = nullptr; // only what programs of this target run; null: everything
  std::vector<GivenDecision> pins, forbids;
  std::string planFile;
  bool cutOps = false; // every op by itself, also in transformers

  PlanOutput emit = PlanOutput::Table;
  ExportTarget target = ExportTarget::Megatron; // of Export
  std::string output = "-";
  int64_t top = 5;
  bool brief = false, frontier = false;
  std::vector<std::string> explain;

  // Other things to do than to plan.
  bool listClusters = false, listStacks = false, listExports = false, describe = false;
  std::string evaluateFile;
  bool simulate = false; // with it: also replay

  // Token budget of --describe.
  double tokens = 0, price = 0, mfu = 0; // tokens, dollars per device-hour, share of the peak
};

/// Parses the command line; answers --help and --version. Returns the options, or the exit status.
struct ParsedCommandLine {
  std::unique_ptr<PlanOptions> options;
  int exitStatus = 0;
};
ParsedCommandLine parseCommandLine(int argc, char **argv);

} // namespace mlir::ppc

#endif // PPC_TOOLS_PLAN_OPTIONS_H
