#include "ppc/Transforms/Recompute/RecomputeGraph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace mlir::ppc {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Minimum cuts by Dinic's algorithm. Each augmentation saturates an edge exactly, so weights may be any numbers.
class MinimumCut {
public:
  explicit MinimumCut(size_t nodes) : edgesOf(nodes) {}

  void add(int32_t from, int32_t to, double weight) {
    edgesOf[from].push_back(int32_t(edges.size()));
    edges.push_back({to, weight});
    edgesOf[to].push_back(int32_t(edges.size()));
    edges.push_back({from, 0});
  }

  /// The weight; infinite where nothing finite separates them.
  double run(int32_t source, int32_t sink) {
    double total = 0;
    while (findLevels(source, sink)) {
      next.assign(edgesOf.size(), 0);
      while (double pushed = push(source, sink, infinite)) {
        if (std::isinf(pushed))
          return infinite;
        total += pushed;
      }
    }
    return total;
  }
  /// After `run`: whether a node is on the side of the source.
  bool isBefore(int32_t node) const { return levels[node] >= 0; }

private:
  struct Edge {
    int32_t to;
    double left;
  };

  bool findLevels(int32_t source, int32_t sink) {
    levels.assign(edgesOf.size(), -1);
    levels[source] = 0;
    std::vector<int32_t> queue{source};
    for (size_t i = 0; i < queue.size(); ++i)
      for (int32_t number : edgesOf[queue[i]])
        if (const Edge &edge = edges[number]; edge.left > 0 && levels[edge.to] < 0) {
          levels[edge.to] = levels[queue[i]] + 1;
          queue.push_back(edge.to);
        }
    return levels[sink] >= 0;
  }

  double push(int32_t node, int32_t sink, double most) {
    if (node == sink)
      return most;
    for (size_t &i = next[node]; i < edgesOf[node].size(); ++i) {
      int32_t number = edgesOf[node][i], to = edges[number].to;
      if (edges[number].left <= 0 || levels[to] != levels[node] + 1)
        continue;
      if (double pushed = push(to, sink, std::min(most, edges[number].left)); pushed > 0) {
        if (std::isinf(pushed))
          return pushed;
        edges[number].left -= pushed;
        edges[number ^ 1].left += pushed;
        return pushed;
      }
    }
    return 0;
  }

  std::vector<std::vector<int32_t>> edgesOf;
  std::vector<Edge> edges;
  std::vector<int32_t> levels;
  std::vector<size_t> next;
};

/// Finds choices between two neighbours on the hull.
class GapSearch {
public:
  GapSearch(const RecomputeGraph &graph, int64_t cuts) : graph(graph), cuts(cuts) {}

  /// Adds to `found` all choices with fewer bytes than `more` and more than `less` that are on the frontier; false
  /// where it could not find out.
  bool run(const RecomputeChoice &more, const RecomputeChoice &less, std::vector<RecomputeChoice> &found);

private:
  /// Looks for what costs less than `best` and keeps at most `most` bytes.
  void branch(std::vector<Fixed> &fixed, int64_t most);

  const RecomputeGraph &graph;
  int64_t cuts;
  double price = 0;
  RecomputeChoice best;
};

} // namespace

RecomputeChoice evaluateChoice(const RecomputeGraph &graph, const std::vector<bool> &marked) {
  RecomputeChoice choice;
  choice.again.assign(graph.ops.size(), false);
  std::vector<bool> isPresent(graph.values.size(), false);
  std::vector<int32_t> open;
  auto need = [&](int32_t value) {
    if (isPresent[value])
      return;
    isPresent[value] = true;
    open.push_back(value);
  };
  for (size_t value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].isNeeded)
      need(int32_t(value));
  while (!open.empty()) {
    const RecomputeGraph::Value &value = graph.values[open.back()];
    open.pop_back();
    if (value.maker < 0 || !(marked[value.maker] || graph.ops[value.maker].isForced)) {
      choice.kept += value.bytes;
      continue;
    }
    if (choice.again[value.maker])
      continue;
    choice.again[value.maker] = true;
    choice.cost += graph.ops[value.maker].cost;
    for (int32_t read : graph.ops[value.maker].reads)
      need(read);
  }
  return choice;
}

std::optional<RecomputeChoice> leastWeight(const RecomputeGraph &graph, double price, const std::vector<Fixed> &fixed) {
  int32_t values = int32_t(graph.values.size()), ops = int32_t(graph.ops.size()), source = values + ops,
          sink = source + 1;
  MinimumCut cut(size_t(sink) + 1);
  for (int32_t number = 0; number < values; ++number) {
    const RecomputeGraph::Value &value = graph.values[number];
    if (value.isNeeded)
      cut.add(source, number, infinite);
    bool isForced = value.maker >= 0 && graph.ops[value.maker].isForced;
    cut.add(number, value.maker < 0 ? sink : values + value.maker, isForced ? infinite : price * double(value.bytes));
  }
  for (int32_t number = 0; number < ops; ++number) {
    Fixed must = fixed.empty() ? Fixed::Free : fixed[number];
    cut.add(values + number, sink, must == Fixed::Kept ? infinite : graph.ops[number].cost);
    if (must == Fixed::Again)
      cut.add(source, values + number, infinite);
    for (int32_t read : graph.ops[number].reads)
      cut.add(values + number, read, infinite);
  }
  if (std::isinf(cut.run(source, sink)))
    return std::nullopt;
  std::vector<bool> marked(graph.ops.size());
  for (int32_t number = 0; number < ops; ++number)
    marked[number] = cut.isBefore(values + number);
  return evaluateChoice(graph, marked);
}

void GapSearch::branch(std::vector<Fixed> &fixed, int64_t most) {
  if (cuts <= 0)
    return;
  --cuts;
  std::optional<RecomputeChoice> relaxed = leastWeight(graph, price, fixed);
  if (!relaxed)
    return;
  // Lower bound on the cost of all choices that agree with `fixed` and save at most `most` bytes.
  double bound = relaxed->cost + price * double(relaxed->kept - most);
  if (bound >= best.cost * (1 - 1e-12))
    return;
  if (relaxed->kept <= most && relaxed->cost < best.cost)
    best = *relaxed;
  // The op whose value or copy weighs most.
  int32_t chosen = -1;
  double weight = -1;
  std::vector<double> weights(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i)
    weights[i] = graph.ops[i].cost;
  for (const RecomputeGraph::Value &value : graph.values)
    if (value.maker >= 0)
      weights[value.maker] += price * double(value.bytes);
  for (size_t i = 0; i < graph.ops.size(); ++i)
    if (fixed[i] == Fixed::Free && !graph.ops[i].isForced && weights[i] > weight)
      std::tie(chosen, weight) = std::pair(int32_t(i), weights[i]);
  if (chosen < 0)
    return;
  for (Fixed must :
       {relaxed->again[chosen] ? Fixed::Again : Fixed::Kept, relaxed->again[chosen] ? Fixed::Kept : Fixed::Again}) {
    fixed[chosen] = must;
    branch(fixed, most);
  }
  fixed[chosen] = Fixed::Free;
}

bool GapSearch::run(const RecomputeChoice &more, const RecomputeChoice &less, std::vector<RecomputeChoice> &found) {
  price = (less.cost - more.cost) / double(more.kept - less.kept);
  for (int64_t most = more.kept - 1; most > less.kept;) {
    best = less;
    std::vector<Fixed> fixed(graph.ops.size(), Fixed::Free);
    branch(fixed, most);
    if (best.kept > less.kept) {
      if (found.back().cost == best.cost) // which keeps more for the same
        found.pop_back();
      found.push_back(best);
    }
    if (cuts <= 0)
      return false;
    if (best.kept == less.kept) // nothing cheaper keeps as little
      return true;
    most = best.kept - 1;
  }
  return true;
}

/// Points of the hull between two of them, those with more bytes first.
static void findHull(const RecomputeGraph &graph, const RecomputeChoice &more, const RecomputeChoice &less,
                     std::vector<RecomputeChoice> &hull) {
  if (more.kept <= less.kept)
    return;
  double price = (less.cost - more.cost) / double(more.kept - less.kept);
  std::optional<RecomputeChoice> between = leastWeight(graph, price, {});
  double line = more.cost + price * double(more.kept);
  if (!between || between->kept >= more.kept || between->kept <= less.kept ||
      between->cost + price * double(between->kept) >= line * (1 - 1e-9))
    return;
  findHull(graph, more, *between, hull);
  hull.push_back(*between);
  findHull(graph, *between, less, hull);
}

RecomputeFrontier findFrontier(const RecomputeGraph &graph, int64_t cuts) {
  RecomputeFrontier frontier;
  RecomputeChoice most = evaluateChoice(graph, std::vector<bool>(graph.ops.size(), false));
  double all = 1;
  for (const RecomputeGraph::Op &op : graph.ops)
    all += op.cost;
  RecomputeChoice least = *leastWeight(graph, all, {}); // a byte weighs more than all copies
  std::vector<RecomputeChoice> hull{most};
  if (least.kept < most.kept) {
    findHull(graph, most, least, hull);
    hull.push_back(least);
  }
  frontier.isWhole = true;
  for (size_t i = 0; i < hull.size(); ++i) {
    frontier.hull.push_back(frontier.choices.size());
    frontier.choices.push_back(hull[i]);
    if (i + 1 < hull.size())
      frontier.isWhole &= GapSearch(graph, cuts / int64_t(hull.size() - 1)).run(hull[i], hull[i + 1], frontier.choices);
  }
  return frontier;
}

} // namespace mlir::ppc
