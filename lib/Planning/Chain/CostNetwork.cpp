// Exact minimisation over a network of cost tables: dominated values go first, then variables, one by one.
#include "ppc/Planning/Chain/CostNetwork.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>

namespace mlir::ppc {

int CostNetwork::addVariable(std::string name, int values) {
  assert(values >= 1 && "a variable without values");
  variables.push_back({std::move(name), values});
  return variableCount() - 1;
}

void CostNetwork::addCosts(int variable, llvm::ArrayRef<TableCost> costs) {
  assert(int(costs.size()) == valueCount(variable) && "one cost per value");
  allTables.push_back({variable, -1, std::vector<TableCost>(costs), {}});
}

void CostNetwork::addCosts(int a, int b, std::vector<TableCost> costs, std::vector<TableCost> others) {
  assert(a != b && costs.size() == size_t(valueCount(a)) * valueCount(b) && "one cost per pair of values");
  assert((others.empty() || others.size() == costs.size()) && "a second way for all pairs or for none");
  allTables.push_back({a, b, std::move(costs), std::move(others)});
}

TableCost CostNetwork::Table::at(size_t index, double pricePerByte) const {
  if (others.empty())
    return costs[index];
  auto order = [&](const TableCost &cost) { return std::make_pair(cost.weigh(pricePerByte), cost.memory); };
  return order(others[index]) < order(costs[index]) ? others[index] : costs[index];
}

TableCost CostNetwork::evaluate(llvm::ArrayRef<int> assignment, double pricePerByte) const {
  TableCost total;
  for (const Table &table : allTables)
    total += table.b < 0
                 ? table.costs[assignment[table.a]]
                 : table.at(size_t(assignment[table.a]) * valueCount(table.b) + assignment[table.b], pricePerByte);
  return total;
}

namespace {
/// A table over any number of variables, row-major over the alive values in the order of `scope`.
struct WideTable {
  std::vector<int> scope;
  std::vector<double> costs;
};

constexpr int64_t largestTable = int64_t(1) << 26;

class Elimination {
public:
  Elimination(const CostNetwork &network, llvm::ArrayRef<int> kept, double price)
      : network(network), kept(kept), price(price), unary(network.variableCount()), alive(network.variableCount()) {
    for (int variable = 0; variable < network.variableCount(); ++variable) {
      unary[variable].assign(network.valueCount(variable), 0);
      alive[variable].resize(network.valueCount(variable));
      for (int value = 0; value < network.valueCount(variable); ++value)
        alive[variable][value] = value;
    }
    for (const CostNetwork::Table &table : network.tables()) {
      if (table.b < 0) {
        for (auto [into, cost] : llvm::zip_equal(unary[table.a], table.costs))
          into += cost.weigh(price);
        continue;
      }
      bool swap = table.a > table.b;
      int low = std::min(table.a, table.b), high = std::max(table.a, table.b);
      std::vector<double> &into = binary[{low, high}];
      int rows = network.valueCount(low), columns = network.valueCount(high);
      into.resize(size_t(rows) * columns, 0);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
          into[size_t(i) * columns + j] +=
              table.at(swap ? size_t(j) * rows + i : size_t(i) * columns + j, price).weigh(price);
    }
  }

  void forbid(int variable, llvm::ArrayRef<int> values) {
    for (int value : values)
      unary[variable][value] = std::numeric_limits<double>::infinity();
  }

  /// Drops values until none is dominated: value a by b when, for every value of every neighbour, b costs at most as
  /// much as a (Goldstein's criterion). Dropping one at a time keeps a best assignment for every assignment of the
  /// kept.
  void dropDominated() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (int variable = 0; variable < network.variableCount(); ++variable)
        if (!llvm::is_contained(kept, variable))
          changed |= dropDominated(variable);
    }
  }

  llvm::Error eliminate();

  const CostNetwork &network;
  llvm::ArrayRef<int> kept;
  double price;
  std::vector<std::vector<double>> unary;
  std::map<std::pair<int, int>, std::vector<double>> binary;
  std::vector<std::vector<int>> alive;

  struct Step {
    int variable;
    std::vector<int> scope;
    std::vector<int64_t> strides;
    std::vector<int> best;
  };
  std::vector<Step> steps;
  std::vector<WideTable> tables;
  int64_t entries = 0;

private:
  bool dropDominated(int variable);
  int64_t size(llvm::ArrayRef<int> scope) const {
    int64_t product = 1;
    for (int variable : scope)
      if ((product *= int64_t(alive[variable].size())) > largestTable)
        return largestTable + 1;
    return product;
  }
  void makeTables();
  Step combine(int variable, std::vector<int> scope, llvm::ArrayRef<const WideTable *> inputs, WideTable &output);
};

bool Elimination::dropDominated(int variable) {
  // Columns of this variable against one neighbour each, contiguous over the neighbour's alive values.
  std::vector<int> &values = alive[variable];
  size_t before = values.size();
  llvm::erase_if(values, [&](int value) { return unary[variable][value] == std::numeric_limits<double>::infinity(); });
  if (values.empty()) {
    values.push_back(0); // nothing is possible; the cost says so
    return before != 1;
  }
  if (values.size() > 512) // forms of a value: many, and rarely dominated
    return values.size() != before;
  std::vector<std::vector<double>> rows(values.size());
  for (auto &[pair, costs] : binary) {
    if (pair.first != variable && pair.second != variable)
      continue;
    int other = pair.first == variable ? pair.second : pair.first;
    size_t columns = network.valueCount(pair.second);
    for (auto [row, value] : llvm::zip_equal(rows, values))
      for (int otherValue : alive[other])
        row.push_back(pair.first == variable ? costs[value * columns + otherValue]
                                             : costs[otherValue * columns + value]);
    for (auto &row : rows) // marks the end of a neighbour
      row.push_back(std::numeric_limits<double>::quiet_NaN());
  }
  std::vector<bool> dropped(values.size(), false);
  auto beats = [&](size_t better, size_t worse) {
    double sum = unary[variable][values[better]] - unary[variable][values[worse]];
    double most = -std::numeric_limits<double>::infinity();
    for (auto [a, b] : llvm::zip_equal(rows[better], rows[worse])) {
      if (a != a) {
        sum += most;
        most = -std::numeric_limits<double>::infinity();
        continue;
      }
      if (b == std::numeric_limits<double>::infinity())
        continue; // there the worse one is impossible anyway
      if (a == std::numeric_limits<double>::infinity())
        return false;
      most = std::max(most, a - b);
    }
    return sum <= 0;
  };
  for (size_t worse = values.size(); worse-- > 0;)
    for (size_t better = 0; better < values.size(); ++better)
      if (better != worse && !dropped[better] && beats(better, worse)) {
        dropped[worse] = true;
        break;
      }
  std::vector<int> left;
  for (auto [value, gone] : llvm::zip_equal(values, dropped))
    if (!gone)
      left.push_back(value);
  values = std::move(left);
  return values.size() != before;
}

void Elimination::makeTables() {
  for (int variable = 0; variable < network.variableCount(); ++variable) {
    WideTable &table = tables.emplace_back();
    table.scope = {variable};
    for (int value : alive[variable])
      table.costs.push_back(unary[variable][value]);
  }
  for (auto &[pair, costs] : binary) {
    WideTable &table = tables.emplace_back();
    table.scope = {pair.first, pair.second};
    size_t columns = network.valueCount(pair.second);
    for (int i : alive[pair.first])
      for (int j : alive[pair.second])
        table.costs.push_back(costs[i * columns + j]);
  }
}

/// Sums `inputs` over `scope` and takes the minimum over `variable` (-1: no minimum).
Elimination::Step Elimination::combine(int variable, std::vector<int> scope, llvm::ArrayRef<const WideTable *> inputs,
                                       WideTable &output) {
  Step step{variable, scope, std::vector<int64_t>(scope.size()), {}};
  int64_t total = 1;
  for (size_t i = scope.size(); i-- > 0;) {
    step.strides[i] = total;
    total *= alive[scope[i]].size();
  }
  size_t values = variable < 0 ? 1 : alive[variable].size();
  // Per input: how far one step along each variable of the scope, and along `variable`, goes in it.
  std::vector<std::vector<int64_t>> strides(inputs.size(), std::vector<int64_t>(scope.size(), 0));
  std::vector<int64_t> own(inputs.size(), 0), base(inputs.size(), 0);
  for (auto [input, stride, mine] : llvm::zip_equal(inputs, strides, own)) {
    int64_t length = 1;
    for (size_t i = input->scope.size(); i-- > 0;) {
      if (input->scope[i] == variable)
        mine = length;
      else
        stride[llvm::find(scope, input->scope[i]) - scope.begin()] = length;
      length *= alive[input->scope[i]].size();
    }
  }
  output.scope = scope;
  output.costs.resize(total);
  if (variable >= 0)
    step.best.resize(total);
  std::vector<int> at(scope.size(), 0);
  std::vector<double> sums(values);
  for (int64_t entry = 0; entry < total; ++entry) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t t = 0; t < inputs.size(); ++t) {
      const double *costs = inputs[t]->costs.data() + base[t];
      int64_t stride = own[t];
      if (stride == 0) {
        for (double &sum : sums)
          sum += *costs;
      } else if (stride == 1) {
        for (size_t value = 0; value < values; ++value)
          sums[value] += costs[value];
      } else {
        for (size_t value = 0; value < values; ++value)
          sums[value] += costs[value * stride];
      }
    }
    auto least = std::min_element(sums.begin(), sums.end());
    output.costs[entry] = *least;
    if (variable >= 0)
      step.best[entry] = least - sums.begin();
    for (size_t i = scope.size(); i-- > 0;) { // to the next entry
      bool wraps = ++at[i] == int(alive[scope[i]].size());
      for (size_t t = 0; t < inputs.size(); ++t)
        base[t] += wraps ? -strides[t][i] * (at[i] - 1) : strides[t][i];
      if (!wraps)
        break;
      at[i] = 0;
    }
  }
  entries += total * int64_t(values);
  return step;
}

llvm::Error Elimination::eliminate() {
  makeTables();
  std::set<int> left;
  for (int variable = 0; variable < network.variableCount(); ++variable)
    if (!llvm::is_contained(kept, variable))
      left.insert(variable);
  auto scopeWithout = [&](int variable) {
    std::set<int> scope;
    for (const WideTable &table : tables)
      if (llvm::is_contained(table.scope, variable))
        scope.insert(table.scope.begin(), table.scope.end());
    scope.erase(variable);
    return std::vector<int>(scope.begin(), scope.end());
  };
  while (!left.empty()) {
    int next = -1;
    std::vector<int> scope;
    int64_t least = 0;
    for (int variable : left) {
      std::vector<int> candidate = scopeWithout(variable);
      int64_t work = size(candidate) * int64_t(alive[variable].size());
      if (next < 0 || work < least) {
        next = variable;
        least = work;
        scope = std::move(candidate);
      }
    }
    if (size(scope) > largestTable)
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     llvm::Twine("the layouts of ") + llvm::Twine(scope.size()) +
                                         " values would have to be tried together at '" + network.name(next) +
                                         "': use a mesh with fewer axes");
    std::vector<const WideTable *> inputs;
    for (const WideTable &table : tables)
      if (llvm::is_contained(table.scope, next))
        inputs.push_back(&table);
    WideTable output;
    steps.push_back(combine(next, scope, inputs, output));
    llvm::erase_if(tables, [&](const WideTable &table) { return llvm::is_contained(table.scope, next); });
    tables.push_back(std::move(output));
    left.erase(next);
  }
  return llvm::Error::success();
}
} // namespace

llvm::Expected<NetworkSolution> solve(const CostNetwork &network, llvm::ArrayRef<int> kept, double pricePerByte,
                                      llvm::ArrayRef<int> forbidden, int forbiddenVariable) {
  Elimination elimination(network, kept, pricePerByte);
  if (forbiddenVariable >= 0)
    elimination.forbid(forbiddenVariable, forbidden);
  elimination.dropDominated();
  if (llvm::Error error = elimination.eliminate())
    return std::move(error);
  NetworkSolution solution;
  // What is left is over kept variables only.
  std::vector<WideTable> rest = std::move(elimination.tables);
  elimination.tables.clear();
  std::vector<int64_t> strides(kept.size());
  int64_t total = 1;
  for (size_t i = kept.size(); i-- > 0;) {
    strides[i] = total;
    total *= network.valueCount(kept[i]);
  }
  solution.costs.assign(total, 0);
  for (int64_t entry = 0; entry < total; ++entry)
    for (const WideTable &table : rest) {
      int64_t position = 0;
      for (int variable : table.scope) {
        size_t index = llvm::find(kept, variable) - kept.begin();
        position = position * network.valueCount(variable) + entry / strides[index] % network.valueCount(variable);
      }
      solution.costs[entry] += table.costs[position];
    }
  for (auto &step : elimination.steps)
    solution.steps.push_back({step.variable, std::move(step.scope), std::move(step.strides), std::move(step.best)});
  solution.kept.assign(kept.begin(), kept.end());
  solution.alive = std::move(elimination.alive);
  solution.variableCount = network.variableCount();
  solution.entries = elimination.entries;
  for (int variable = 0; variable < network.variableCount(); ++variable) {
    std::vector<int> &positions = solution.positions.emplace_back(network.valueCount(variable), -1);
    for (auto [position, value] : llvm::enumerate(solution.alive[variable]))
      positions[value] = position;
  }
  return solution;
}

std::vector<int> NetworkSolution::assignment(llvm::ArrayRef<int> keptValues) const {
  std::vector<int> values(variableCount, 0);
  for (auto [variable, value] : llvm::zip_equal(kept, keptValues))
    values[variable] = value;
  for (const Step &step : llvm::reverse(steps)) {
    int64_t entry = 0;
    for (auto [variable, stride] : llvm::zip_equal(step.scope, step.strides))
      entry += stride * positions[variable][values[variable]];
    values[step.variable] = alive[step.variable][step.best[entry]];
  }
  return values;
}

} // namespace mlir::ppc
