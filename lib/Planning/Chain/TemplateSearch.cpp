// Templates chained: dynamic programming over the layouts of what flows from layer to layer, for a price per byte of
// memory; the price is raised until the plan fits.
#include "ppc/Planning/Chain/TemplateSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace mlir::ppc {

/// The best plan at one price.
struct TemplateSearch::Chained {
  double cost = 0; // time + price x memory
  TableCost total;
  std::vector<std::pair<int, std::vector<int>>> layers; // template and values of its kept variables
  int64_t entries = 0;
  std::map<std::pair<int, std::vector<int>>, TemplateChoice> choices;
};

TemplateSearch::TemplateSearch(const TemplatePricing &pricing, const TemplateChain &chain, SolveBudget *budget)
    : pricing(pricing), chain(chain), budget(budget),
      times(pricing.cluster, pricing.grid, pricing.stride, pricing.compiled) {
  for (const OpTemplate &layer : chain.templates)
    networks.push_back(std::make_unique<TemplateNetwork>(pricing, layer, times));
}

TemplateSearch::~TemplateSearch() = default;

namespace {
/// Mixed-radix numbers: the joint state of several variables.
struct Radix {
  std::vector<int> sizes;
  int64_t count() const {
    int64_t product = 1;
    for (int size : sizes)
      product *= size;
    return product;
  }
  std::vector<int> digits(int64_t number) const {
    std::vector<int> values(sizes.size());
    for (size_t i = sizes.size(); i-- > 0; number /= sizes[i])
      values[i] = int(number % sizes[i]);
    return values;
  }
};
} // namespace

static Radix radixOf(const CostNetwork &network, llvm::ArrayRef<int> variables) {
  Radix radix;
  for (int variable : variables)
    radix.sizes.push_back(network.valueCount(variable));
  return radix;
}

llvm::Expected<TemplateSearch::Chained> TemplateSearch::solveChain(double price, int forbiddenTemplate,
                                                                   int forbiddenVariable, int forbiddenValue) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (price != solvedPrice) {
    solved.clear();
    solvedPrice = price;
  }
  std::map<int, NetworkSolution> changed;
  int64_t entries = 0;
  std::vector<const NetworkSolution *> solutions(networks.size());
  for (size_t t = 0; t < networks.size(); ++t) {
    bool forbids = int(t) == forbiddenTemplate;
    std::map<int, NetworkSolution> &cache = forbids ? changed : solved;
    if (!cache.count(int(t))) {
      auto solution = solve(networks[t]->network(), networks[t]->kept(), price,
                            forbids ? llvm::ArrayRef<int>(forbiddenValue) : llvm::ArrayRef<int>(),
                            forbids ? forbiddenVariable : -1, budget);
      if (!solution)
        return solution.takeError();
      entries += solution->entries;
      cache.emplace(int(t), std::move(*solution));
    }
    solutions[t] = &cache.find(int(t))->second;
  }

  Radix sharedRadix;
  sharedRadix.sizes.assign(chain.sharedParameters, 1);
  std::vector<Radix> in, own, out;
  for (auto &network : networks) {
    in.push_back(radixOf(network->network(), network->inputs()));
    out.push_back(radixOf(network->network(), network->outputs()));
    std::vector<int> variables;
    for (auto [number, variable] : network->shared()) {
      variables.push_back(variable);
      sharedRadix.sizes[number] = network->network().valueCount(variable);
    }
    own.push_back(radixOf(network->network(), variables));
  }
  std::vector<int> order;
  for (const TemplateChain::Segment &segment : chain.segments)
    order.insert(order.end(), segment.count, segment.index);

  Chained best;
  best.cost = infinity;
  std::vector<int> bestShared;
  std::vector<std::vector<int>> bestFrom;
  int64_t bestEnd = 0;
  for (int64_t sharedState = 0; sharedState < sharedRadix.count(); ++sharedState) {
    std::vector<int> shared = sharedRadix.digits(sharedState);
    std::vector<int64_t> ownState(networks.size(), 0);
    for (size_t t = 0; t < networks.size(); ++t)
      for (auto [number, variable] : networks[t]->shared())
        ownState[t] = ownState[t] * networks[t]->network().valueCount(variable) + shared[number];
    std::vector<double> costs(1, 0), next;
    std::vector<std::vector<int>> from;
    for (int t : order) {
      int64_t outs = out[t].count(), owns = own[t].count();
      next.assign(outs, infinity);
      std::vector<int> &origin = from.emplace_back(outs, 0);
      for (size_t i = 0; i < costs.size(); ++i) {
        if (costs[i] == infinity)
          continue;
        const double *row = solutions[t]->costs.data() + (int64_t(i) * owns + ownState[t]) * outs;
        for (int64_t o = 0; o < outs; ++o)
          if (double sum = costs[i] + row[o]; sum < next[o]) {
            next[o] = sum;
            origin[o] = int(i);
          }
      }
      std::swap(costs, next);
    }
    auto least = std::min_element(costs.begin(), costs.end());
    if (*least < best.cost) {
      best.cost = *least;
      bestShared = shared;
      bestFrom = std::move(from);
      bestEnd = least - costs.begin();
    }
  }
  best.entries = entries;
  if (best.cost == infinity)
    return best;

  best.layers.resize(order.size());
  int64_t state = bestEnd;
  for (size_t layer = order.size(); layer-- > 0;) {
    int t = order[layer];
    int64_t before = bestFrom[layer][state];
    std::vector<int> kept = in[t].digits(before);
    for (auto [number, variable] : networks[t]->shared())
      kept.push_back(bestShared[number]);
    for (int value : out[t].digits(state))
      kept.push_back(value);
    best.layers[layer] = {t, std::move(kept)};
    state = before;
  }
  for (auto &key : best.layers) {
    auto [it, isNew] = best.choices.try_emplace(key);
    if (isNew)
      it->second = networks[key.first]->choice(solutions[key.first]->assignment(key.second), price);
    best.total += it->second.cost;
  }
  return best;
}

/// Layers of one plan up to some layer and of the other from there on, when that is faster and fits.
void TemplateSearch::mix(const Chained &over, Chained &best, double limit) {
  auto ends = [&](const Chained &plan, size_t layer) { // kept values: inputs, shared, outputs
    auto &[t, kept] = plan.layers[layer];
    size_t in = networks[t]->inputs().size(), out = networks[t]->outputs().size();
    return std::make_tuple(std::vector<int>(kept.begin(), kept.begin() + in),
                           std::vector<int>(kept.begin() + in, kept.end() - out),
                           std::vector<int>(kept.end() - out, kept.end()));
  };
  size_t count = best.layers.size();
  for (size_t layer = 0; layer < count; ++layer)
    if (std::get<1>(ends(over, layer)) != std::get<1>(ends(best, layer)))
      return; // shared parameters lie differently
  std::map<std::pair<int, std::vector<int>>, TemplateChoice> joints;
  struct Cut {
    bool overFirst;
    size_t layer;
    std::pair<int, std::vector<int>> joint;
  };
  std::optional<Cut> cut;
  TableCost least = best.total;
  for (bool overFirst : {true, false}) {
    const Chained &first = overFirst ? over : best, &second = overFirst ? best : over;
    TableCost before, after = second.total;
    for (size_t layer = 0; layer < count; ++layer) {
      const TableCost &leaving = second.choices.find(second.layers[layer])->second.cost;
      after.time -= leaving.time;
      after.memory -= leaving.memory;
      int t = first.layers[layer].first;
      auto [kept, shared, ignored] = ends(first, layer);
      auto out = std::get<2>(ends(second, layer));
      kept.insert(kept.end(), shared.begin(), shared.end());
      kept.insert(kept.end(), out.begin(), out.end());
      auto [joint, isNew] = joints.try_emplace({t, kept});
      if (isNew)
        joint->second = networks[t]->choice(solved.find(t)->second.assignment(kept), solvedPrice);
      TableCost total = before;
      total += joint->second.cost;
      total += after;
      if (total.memory <= limit && total.time < least.time) {
        least = total;
        cut = Cut{overFirst, layer, joint->first};
      }
      before += first.choices.find(first.layers[layer])->second.cost;
    }
  }
  if (!cut)
    return;
  // The joint may be one of the choices with another price's way of holding values, so it gets a name of its own.
  Chained mixed = cut->overFirst ? over : best;
  const Chained &second = cut->overFirst ? best : over;
  auto rename = [&](std::pair<int, std::vector<int>> key, int mark) {
    key.second.push_back(mark);
    return key;
  };
  std::map<std::pair<int, std::vector<int>>, TemplateChoice> choices;
  for (size_t layer = 0; layer < count; ++layer) {
    bool isFirst = layer < cut->layer, isJoint = layer == cut->layer;
    const auto &key = isJoint ? cut->joint : isFirst ? mixed.layers[layer] : second.layers[layer];
    const TemplateChoice &choice = (isJoint ? joints : isFirst ? mixed.choices : second.choices).find(key)->second;
    auto named = rename(key, isJoint ? 2 : isFirst ? 0 : 1);
    choices.try_emplace(named, choice);
    mixed.layers[layer] = named;
  }
  mixed.choices = std::move(choices);
  mixed.total = least;
  best = std::move(mixed);
}

llvm::Expected<TemplateSearchResult> TemplateSearch::run(Bytes memoryLimit) {
  auto refuse = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  TemplateSearchResult result;
  auto priced = [&](double price) -> llvm::Expected<Chained> {
    llvm::Expected<Chained> plan = solveChain(price);
    if (plan) {
      result.entries += plan->entries;
      ++result.solves;
    }
    return plan;
  };
  llvm::Expected<Chained> fast = priced(0);
  if (!fast)
    return fast.takeError();
  if (fast->layers.empty())
    return refuse("no layouts that are allowed fit together");
  double bound = fast->cost, limit = memoryLimit.value;
  finalPrice = 0;
  Chained best = std::move(*fast);
  if (limit > 0 && best.total.memory > limit) {
    // Both ends of a segment of the lower hull of (memory, time): over the limit, and within.
    Chained over = std::move(best);
    constexpr double onlyMemory = 1e3; // seconds per byte
    llvm::Expected<Chained> small = priced(onlyMemory);
    if (!small)
      return small.takeError();
    if (small->total.memory > limit)
      return refuse("the least memory that any layouts need is " + toString(Bytes(small->total.memory)) +
                    " per rank, " + toString(memoryLimit) + " are given: use more ranks or smaller micro-batches");
    best = std::move(*small);
    finalPrice = onlyMemory;
    while (over.total.memory > best.total.memory) {
      double price = (best.total.time - over.total.time) / (over.total.memory - best.total.memory);
      if (!(price > 0))
        break;
      llvm::Expected<Chained> plan = priced(price);
      if (!plan)
        return plan.takeError();
      bound = std::max(bound, plan->cost - price * limit);
      finalPrice = price;
      // Nothing lies below the line through both ends.
      double line = best.total.time + price * best.total.memory;
      if (plan->cost >= line - 1e-9 * std::abs(line))
        break;
      if (plan->total.memory <= limit)
        best = std::move(*plan);
      else
        over = std::move(*plan);
    }
    mix(over, best, limit);
  }
  result.pricePerByte = finalPrice;
  result.time = Seconds(best.total.time);
  result.memory = Bytes(best.total.memory);
  result.lowerBound = Seconds(std::min(bound, best.total.time));
  result.choices.resize(networks.size());
  std::map<std::pair<int, std::vector<int>>, int> numbers;
  for (auto &key : best.layers) {
    auto [it, isNew] = numbers.try_emplace(key, int(result.choices[key.first].size()));
    if (isNew)
      result.choices[key.first].push_back(best.choices.find(key)->second);
    result.layers.push_back({key.first, it->second});
  }
  return result;
}

llvm::Expected<std::vector<OpExplanation>> TemplateSearch::explain(const TemplateSearchResult &result) {
  std::vector<OpExplanation> explanations;
  auto kernelTime = [&](const Chained &plan) {
    double total = 0;
    for (auto &key : plan.layers)
      total += networks[key.first]->kernelTime(plan.choices.find(key)->second.assignment);
    return total;
  };
  double kernelsOfResult = 0;
  for (TemplateSearchResult::Layer layer : result.layers)
    kernelsOfResult += networks[layer.index]->kernelTime(result.choices[layer.index][layer.choice].assignment);
  for (size_t t = 0; t < networks.size(); ++t)
    for (size_t op = 0; op < chain.templates[t].ops.size(); ++op) {
      if (result.choices[t].empty())
        continue;
      OpExplanation &explanation = explanations.emplace_back();
      const TemplateChoice &choice = result.choices[t].front();
      explanation.templateIndex = int(t);
      explanation.op = int(op);
      explanation.chosen = choice.strategies[op];
      explanation.kernels = kernelSeconds(pricing, chain.templates[t], chain.templates[t].ops[op], explanation.chosen);
      int variable = networks[t]->opVariable(int(op));
      if (networks[t]->strategies(int(op)).size() < 2)
        continue;
      llvm::Expected<Chained> other = solveChain(finalPrice, int(t), variable, choice.assignment[variable]);
      if (!other)
        return other.takeError();
      if (other->layers.empty())
        continue;
      OpExplanation::RunnerUp &runnerUp = explanation.runnerUp.emplace();
      for (auto &key : other->layers)
        if (key.first == int(t)) {
          runnerUp.strategy = other->choices.find(key)->second.strategies[op];
          break;
        }
      runnerUp.slower = other->total.time - result.time.value;
      runnerUp.moreKernelTime = kernelTime(*other) - kernelsOfResult;
      runnerUp.moreMemory = other->total.memory - result.memory.value;
    }
  return explanations;
}

} // namespace mlir::ppc
