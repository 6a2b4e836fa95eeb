// Results of an op-level sharding search over chains of templates, as text and as JSON.
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

/// Prints the plans, and the shardings of the best one.
void printChainPlans(const ChainReport &report, llvm::raw_ostream &out);
/// "ops": every op of the best plan with its times; "memory": per stage; "search": the number of meshes that each rule
/// excluded. Error: another name, with the possible ones.
llvm::Error printChainExplanation(const ChainReport &report, llvm::StringRef name, llvm::raw_ostream &out);
/// Prints the sharding of each op in the layers of the plan, one row for layers that are sharded alike.
void printOpCuts(const ChainModel &model, const ChainPlan &plan, llvm::raw_ostream &out);
/// Prints plans by degrees next to op-level sharding with the same degrees, and the op shardings of the report's plan,
/// if it has one.
void printComparison(const ChainReport &report, llvm::ArrayRef<ChainComparison> comparisons, llvm::raw_ostream &out);
/// docs/guide/Plan.md lists the keys.
llvm::json::Value toJson(const ChainReport &report);
llvm::json::Value toJson(llvm::ArrayRef<ChainComparison> comparisons);

} // namespace mlir::ppc

#endif // PPC_REPORTING_CHAINREPORT_H
