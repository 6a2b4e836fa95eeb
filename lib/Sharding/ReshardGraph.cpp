// Dijkstra over layouts, one layout's paths at a time and no further than was asked for.
#include "ppc/Sharding/ReshardGraph.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>

namespace mlir::ppc {

struct ReshardGraph::Paths {
  struct Reached {
    double cost = std::numeric_limits<double>::infinity();
    int64_t steps = 0;
    int before = -1;
    bool settled = false;
  };
  /// Cost, steps, the layout (by its key, so that the order is the same on every machine), its number.
  using Entry = std::tuple<double, int64_t, const Key *, int>;
  struct Later {
    bool operator()(const Entry &a, const Entry &b) const {
      return std::tie(std::get<0>(a), std::get<1>(a), *std::get<2>(a)) >
             std::tie(std::get<0>(b), std::get<1>(b), *std::get<2>(b));
    }
  };
  std::vector<Reached> reached; // by number; those beyond are not reached
  std::priority_queue<Entry, std::vector<Entry>, Later> queue;
};

ReshardGraph::ReshardGraph(llvm::ArrayRef<LayoutAxis> grid, std::vector<int64_t> shape, int64_t elementBytes,
                           std::function<double(const ReshardStep &)> price)
    : grid(grid), shape(std::move(shape)), elementBytes(elementBytes), price(std::move(price)) {}
ReshardGraph::~ReshardGraph() = default;

int ReshardGraph::number(const Layout &layout) {
  auto [it, isNew] = numbers.try_emplace({layout.dims, layout.partial}, int(nodes.size()));
  if (isNew)
    nodes.push_back({layout, &it->first, false, {}});
  return it->second;
}

void ReshardGraph::expand(int node, double cost, double most) {
  if (std::exchange(nodes[node].expanded, true))
    return;
  Layout layout = nodes[node].layout; // nodes move as they are met
  std::vector<std::pair<int, double>> edges;
  forEachReshardStep(grid, shape, elementBytes, layout, [&](ReshardStep step) {
    double seconds = price(step);
    if (!forOnePath || cost + seconds <= most)
      edges.push_back({number(step.result), seconds});
  });
  nodes[node].edges = std::move(edges);
}

ReshardGraph::Paths &ReshardGraph::settle(int from, int to) {
  std::unique_ptr<Paths> &known = paths[from];
  if (!known) {
    known = std::make_unique<Paths>();
    known->reached.resize(nodes.size());
    known->reached[from].cost = 0;
    known->queue.push({0, 0, nodes[from].key, from});
  }
  Paths &here = *known;
  here.reached.resize(std::max(here.reached.size(), nodes.size()));
  while (!here.queue.empty() && !here.reached[to].settled) {
    int node = std::get<3>(here.queue.top());
    here.queue.pop();
    if (std::exchange(here.reached[node].settled, true))
      continue;
    expand(node, here.reached[node].cost, here.reached[to].cost);
    here.reached.resize(nodes.size());
    for (auto [next, seconds] : nodes[node].edges) {
      double cost = here.reached[node].cost + seconds;
      int64_t steps = here.reached[node].steps + 1;
      Paths::Reached &there = here.reached[next];
      if (std::tie(there.cost, there.steps) <= std::tie(cost, steps))
        continue;
      there.cost = cost;
      there.steps = steps;
      there.before = node;
      here.queue.push({cost, steps, nodes[next].key, next});
    }
  }
  return here;
}

double ReshardGraph::distance(const Layout &from, const Layout &to) {
  int source = number(from), target = number(to);
  return settle(source, target).reached[target].cost;
}

std::vector<ReshardStep> ReshardGraph::path(const Layout &from, const Layout &to) {
  int source = number(from), target = number(to);
  const Paths &found = settle(source, target);
  std::vector<ReshardStep> steps;
  for (int at = target; at != source; at = found.reached[at].before) {
    // The cheapest step between the two; of equal ones the first.
    double best = std::numeric_limits<double>::infinity();
    ReshardStep chosen;
    const Layout before = nodes[found.reached[at].before].layout; // nodes move as more are met
    forEachReshardStep(grid, shape, elementBytes, before, [&](ReshardStep step) {
      if (number(step.result) != at)
        return;
      if (double cost = price(step); cost < best) {
        best = cost;
        chosen = std::move(step);
      }
    });
    steps.push_back(std::move(chosen));
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

} // namespace mlir::ppc
