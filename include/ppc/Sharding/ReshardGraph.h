// Shortest paths between the layouts of one tensor, for every search over reshard steps, whatever the cost of a step
// (bytes in the compiler, seconds in the planner). Layouts are created as paths reach them, and results are cached.
#ifndef PPC_SHARDING_RESHARDGRAPH_H
#define PPC_SHARDING_RESHARDGRAPH_H

#include "ppc/Sharding/ReshardPlanner.h"

#include <functional>
#include <map>
#include <queue>
#include <set>

namespace mlir::ppc {

class ReshardGraph {
public:
  /// `price`: cost >= 0 of a step. The mesh must outlive this object.
  ReshardGraph(llvm::ArrayRef<LayoutAxis> grid, std::vector<int64_t> shape, int64_t elementBytes,
               std::function<double(const ReshardStep &)> price);
  /// Before the one path that is asked for: steps beyond the cheapest way that is known need not be remembered.
  void isForOnePath() { forOnePath = true; }
  ~ReshardGraph();

  /// Minimum total cost; infinity if no steps lead there. Both layouts verify and combine partial values alike.
  double distance(const Layout &from, const Layout &to);
  /// Steps of minimum cost; of those the fewest, then the first in a fixed order. Requires a finite distance.
  std::vector<ReshardStep> path(const Layout &from, const Layout &to);

private:
  struct Paths;                                                           // from one layout
  using Key = std::pair<std::vector<std::vector<int>>, std::vector<int>>; // dims, partial; all combine alike
  struct Node {
    Layout layout;
    const Key *key;
    bool expanded = false;
    std::vector<std::pair<int, double>> edges; // target, cost
  };
  int number(const Layout &layout);
  /// Finds the steps from a node; of one path those that cost at most `most` with the `cost` so far.
  void expand(int node, double cost, double most);
  /// Follows the paths of `from` until `to` is settled or all are.
  Paths &settle(int from, int to);

  llvm::ArrayRef<LayoutAxis> grid;
  std::vector<int64_t> shape;
  int64_t elementBytes;
  bool forOnePath = false;
  std::function<double(const ReshardStep &)> price;
  std::map<Key, int> numbers;
  std::vector<Node> nodes;
  std::map<int, std::unique_ptr<Paths>> paths;
};

} // namespace mlir::ppc

#endif // PPC_SHARDING_RESHARDGRAPH_H
