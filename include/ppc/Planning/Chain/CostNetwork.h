// Variables with finitely many values, and tables of (time, memory) over one variable or two: the problem of sharding
// the ops of a layer once the costs of every strategy and of every conversion between layouts are known. Solved exactly
// by variable elimination (dynamic programming along a frontier); docs/internals/Search.md.
#ifndef PPC_PLANNING_CHAIN_COSTNETWORK_H
#define PPC_PLANNING_CHAIN_COSTNETWORK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace mlir::ppc {

/// Seconds and bytes. An infinite time says "not possible"; memory is always finite.
struct TableCost {
  double time = 0, memory = 0;
  static TableCost impossible() { return {std::numeric_limits<double>::infinity(), 0}; }
  double weigh(double pricePerByte) const { return time + pricePerByte * memory; }
  TableCost &operator+=(const TableCost &other) { return time += other.time, memory += other.memory, *this; }
};

class CostNetwork {
public:
  /// Returns the variable's number. `values` >= 1.
  int addVariable(std::string name, int values);
  int variableCount() const { return int(variables.size()); }
  int valueCount(int variable) const { return variables[variable].values; }
  llvm::StringRef name(int variable) const { return variables[variable].name; }

  /// Adds to the existing costs. `costs`: one entry per value.
  void addCosts(int variable, llvm::ArrayRef<TableCost> costs);
  /// `costs[i * valueCount(b) + j]` for value i of `a` and j of `b`; a != b. `others`, when given, holds a second way
  /// to do each of the same, of which the better one is taken (less memory for more time).
  void addCosts(int a, int b, std::vector<TableCost> costs, std::vector<TableCost> others = {});

  /// Sum of all tables at an assignment (one value per variable). If an entry has two alternatives, the one that is
  /// cheaper at `pricePerByte` counts.
  TableCost evaluate(llvm::ArrayRef<int> assignment, double pricePerByte = 0) const;

  struct Table {
    int a = -1, b = -1; // b = -1: over one variable
    std::vector<TableCost> costs, others;
    /// Entry `index`, the better of two ways.
    TableCost at(size_t index, double pricePerByte) const;
  };
  llvm::ArrayRef<Table> tables() const { return allTables; }

private:
  struct Variable {
    std::string name;
    int values;
  };
  std::vector<Variable> variables;
  std::vector<Table> allTables;
};

/// The least `time + price x memory` for every assignment of the kept variables, and the assignment that reaches it.
class NetworkSolution {
public:
  /// Costs for the values of the kept variables, row-major in the order they were named; infinite if impossible.
  std::vector<double> costs;
  /// A best assignment of all variables for the values of the kept ones.
  std::vector<int> assignment(llvm::ArrayRef<int> keptValues) const;
  /// Entries of all tables that elimination filled: a measure of work.
  int64_t entries = 0;

private:
  friend llvm::Expected<NetworkSolution> solve(const CostNetwork &, llvm::ArrayRef<int>, double, llvm::ArrayRef<int>,
                                               int);
  struct Step {
    int variable;
    std::vector<int> scope;       // variables of the table of best values
    std::vector<int64_t> strides; // strides of the scope in it
    std::vector<int> best;
  };
  std::vector<Step> steps; // in the order of elimination
  std::vector<int> kept;
  std::vector<std::vector<int>> alive;     // per variable, the values that were not dominated
  std::vector<std::vector<int>> positions; // per variable, value -> position among the alive; -1 for dominated ones
  int variableCount = 0;
};

/// Exact. Values that another value of the same variable beats whatever the neighbours do are dropped first; then
/// variables are eliminated one by one, the one that leaves the smallest table next. `kept` stay, with all their
/// values. `forbidden`: a value of variable `forbiddenVariable` that may not be taken. Errors: a table would have more
/// than 2^26 entries; the message names the variable.
llvm::Expected<NetworkSolution> solve(const CostNetwork &network, llvm::ArrayRef<int> kept, double pricePerByte,
                                      llvm::ArrayRef<int> forbidden = {}, int forbiddenVariable = -1);

} // namespace mlir::ppc

#endif // PPC_PLANNING_CHAIN_COSTNETWORK_H
