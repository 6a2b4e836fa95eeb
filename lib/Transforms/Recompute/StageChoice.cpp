// The choices of all layers of a stage: a bound that steps along the hulls give, and sums of choices below it.
#include "ppc/Transforms/Recompute/RecomputeGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace mlir::ppc {

namespace {

/// A step of a layer along its hull.
struct HullStep {
  size_t layer, to; ///< to which choice
  int64_t bytes;    ///< less
  double cost;      ///< more
};

/// A sum of choices of the first layers.
struct Sum {
  int64_t saved;
  double cost;
  size_t choice, before; ///< choice of the last of these layers; index of the sum of the layers before it
};

class StageSearch {
public:
  StageSearch(const std::vector<const RecomputeFrontier *> &layers, int64_t wanted, size_t states)
      : layers(layers), wanted(wanted), states(states) {}

  StageChoice run();

private:
  int64_t savedBy(size_t layer, size_t choice) const {
    return layers[layer]->choices.front().kept - layers[layer]->choices[choice].kept;
  }
  double costOf(size_t layer, size_t choice) const {
    return layers[layer]->choices[choice].cost - layers[layer]->choices.front().cost;
  }
  void add(StageChoice &stage, const HullStep &step) const {
    stage.choices[step.layer] = step.to;
    stage.saved += step.bytes;
    stage.cost += step.cost;
  }
  /// Steps of all layers, cheapest byte first, until enough is saved: a choice, and a bound with the last step in part.
  void followHulls();
  /// Replaces the choice by the least one, or proves that it is.
  bool followSums();
  /// Layer by layer; false where there were more sums than may be followed.
  bool addLayers(std::vector<std::vector<Sum>> &sums) const;

  const std::vector<const RecomputeFrontier *> &layers;
  int64_t wanted;
  size_t states;
  StageChoice best;
  double price = 0; ///< cost per byte, in the step that reaches the wanted bytes
};

} // namespace

void StageSearch::followHulls() {
  std::vector<HullStep> steps;
  for (size_t layer = 0; layer < layers.size(); ++layer)
    for (size_t i = 0; i + 1 < layers[layer]->hull.size(); ++i) {
      size_t from = layers[layer]->hull[i], to = layers[layer]->hull[i + 1];
      steps.push_back({layer, to, savedBy(layer, to) - savedBy(layer, from), costOf(layer, to) - costOf(layer, from)});
    }
  // Steps of one layer are in this order already, as hulls are convex.
  llvm::stable_sort(
      steps, [](const HullStep &a, const HullStep &b) { return a.cost * double(b.bytes) < b.cost * double(a.bytes); });
  best.choices.assign(layers.size(), 0);
  for (const HullStep &step : steps) {
    if (best.saved >= wanted)
      return;
    price = step.cost / double(step.bytes);
    best.bound = best.cost + price * double(std::min(step.bytes, wanted - best.saved));
    add(best, step);
  }
}

bool StageSearch::addLayers(std::vector<std::vector<Sum>> &sums) const {
  // Lower bound on the cost that the layers from one on add to a sum, with each byte worth `price`.
  std::vector<double> least(layers.size() + 1, 0);
  for (size_t layer = layers.size(); layer-- > 0;) {
    double own = 0;
    for (size_t choice = 0; choice < layers[layer]->choices.size(); ++choice)
      own = std::min(own, costOf(layer, choice) - price * double(savedBy(layer, choice)));
    least[layer] = least[layer + 1] + own;
  }
  sums.assign(1, {{0, 0, 0, 0}});
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    std::vector<Sum> next;
    for (size_t before = 0; before < sums.back().size(); ++before)
      for (size_t choice = 0; choice < layers[layer]->choices.size(); ++choice) {
        Sum sum{sums.back()[before].saved + savedBy(layer, choice), sums.back()[before].cost + costOf(layer, choice),
                choice, before};
        if (sum.cost + least[layer + 1] + price * double(wanted - sum.saved) < best.cost * (1 - 1e-12))
          next.push_back(sum);
      }
    llvm::stable_sort(
        next, [](const Sum &a, const Sum &b) { return a.cost < b.cost || (a.cost == b.cost && a.saved > b.saved); });
    std::vector<Sum> kept; // sums of which none saves less at a higher cost
    for (const Sum &sum : next)
      if (kept.empty() || sum.saved > kept.back().saved)
        kept.push_back(sum);
    if (kept.size() > states)
      return false;
    sums.push_back(std::move(kept));
  }
  return true;
}

bool StageSearch::followSums() {
  std::vector<std::vector<Sum>> sums;
  if (!addLayers(sums))
    return false;
  for (size_t i = 0; i < sums.back().size(); ++i) // cheapest first
    if (sums.back()[i].saved >= wanted) {
      best.saved = sums.back()[i].saved;
      best.cost = sums.back()[i].cost;
      for (size_t layer = layers.size(), at = i; layer-- > 0;) {
        best.choices[layer] = sums[layer + 1][at].choice;
        at = sums[layer + 1][at].before;
      }
      break;
    }
  return true;
}

StageChoice StageSearch::run() {
  followHulls();
  bool isWhole =
      std::all_of(layers.begin(), layers.end(), [](const RecomputeFrontier *layer) { return layer->isWhole; });
  if (best.saved < wanted) { // the last choice of each layer: the cheapest of those that keep least
    best.bound = best.cost;
    best.isLeast = isWhole;
    return best;
  }
  best.isLeast = followSums() && isWhole;
  if (best.isLeast)
    best.bound = best.cost;
  return best;
}

StageChoice chooseForStage(const std::vector<const RecomputeFrontier *> &layers, int64_t wanted, size_t states) {
  return StageSearch(layers, wanted, states).run();
}

} // namespace mlir::ppc
