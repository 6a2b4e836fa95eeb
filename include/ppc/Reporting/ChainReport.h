// What a search over chains of templates found, for people and for programs.
#ifndef PPC_REPORTING_CHAINREPORT_H
#define PPC_REPORTING_CHAINREPORT_H

#include "ppc/Planning/Chain/ChainComparison.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::ppc {

struct ChainReport {
  const ChainModel &model;
  const Cluster &cluster;
  const Stack &stack;
  const TargetCapabilities &target; // whose programs ppc-compile would make of the plans
  ChainSearchResult search;         // with at least one plan where it is printed
};

/// The plans, and how the best one cuts ops.
void printChainPlans(const ChainReport &report, llvm::raw_ostream &out);
/// "ops": every op of the best plan with its times; "memory": per stage; "search": how many grids each rule took out.
/// Error: another name, with what is possible.
llvm::Error printChainExplanation(const ChainReport &report, llvm::StringRef name, llvm::raw_ostream &out);
/// Per op how it is cut in the layers of the plan, one row for layers that are cut alike.
void printOpCuts(const ChainModel &model, const ChainPlan &plan, llvm::raw_ostream &out);
/// Plans by degrees beside the same degrees with every op cut by itself; how ops are cut in the report's plan, if it
/// has one.
void printComparison(const ChainReport &report, llvm::ArrayRef<ChainComparison> comparisons, llvm::raw_ostream &out);
/// docs/guide/Plan.md lists the keys.
llvm::json::Value toJson(const ChainReport &report);
llvm::json::Value toJson(llvm::ArrayRef<ChainComparison> comparisons);

} // namespace mlir::ppc

#endif // PPC_REPORTING_CHAINREPORT_H
