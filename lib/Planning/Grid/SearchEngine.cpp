#include "lib/Planning/Grid/SearchEngine.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <atomic>
#include <queue>

using namespace mlir::ppc;

SearchEngine::SearchEngine(const PlanRequest &request)
    : request(request), pool(llvm::hardware_concurrency(request.threads)) {
  for (unsigned i = 0; i < std::max(1u, pool.getMaxConcurrency()); ++i)
    workers.push_back(std::make_unique<GridExpander>(request, schedules));
}

void SearchEngine::parallel(size_t count, llvm::function_ref<void(size_t, GridExpander &)> use, size_t maxThreads) {
  size_t threads = std::min(workers.size(), maxThreads);
  if (count <= 1 || threads == 1) {
    for (size_t i = 0; i < count; ++i)
      use(i, *workers.front());
    return;
  }
  std::atomic<size_t> next{0};
  for (size_t thread = 0; thread < threads; ++thread)
    pool.async([&, expander = workers[thread].get()] {
      for (size_t i; (i = next++) < count;)
        use(i, *expander);
    });
  pool.wait();
}

PipelineTimer::Compiled SearchEngine::compiled() {
  return
      [this](const PipelineScheduleKind &kind, const PipelineShape &shape) { return schedules.compile(kind, shape); };
}

BoundedSpace SearchEngine::enumerate(const PlanConstraints &constraints, int64_t devices) const {
  BoundedSpace result{std::make_shared<PlanSpace>(request, constraints, devices), {}, nullptr};
  for (const PlanGrid &grid : result.space->grids)
    result.grids.push_back({0, grid});
  return result;
}

static bool comesBefore(const std::pair<double, PlanGrid> &a, const std::pair<double, PlanGrid> &b) {
  return std::tie(a.first, a.second.key, a.second.dp, a.second.pp) <
         std::tie(b.first, b.second.key, b.second.dp, b.second.pp);
}

/// Next to each other; the same but for expert degrees.
static bool isSameFamily(const ProgramKey &a, const ProgramKey &b) {
  return std::tie(a.tp, a.cp, a.microBatch, a.sequenceParallel, a.context, a.tpRows, a.tpDepth) ==
         std::tie(b.tp, b.cp, b.microBatch, b.sequenceParallel, b.context, b.tpRows, b.tpDepth);
}

BoundedSpace SearchEngine::bound(const PlanConstraints &constraints, int64_t devices) {
  BoundedSpace result = enumerate(constraints, devices);
  const PlanSpace &space = *result.space;
  std::vector<const PlanGrid *> first(space.keys.size(), nullptr);
  for (const PlanGrid &grid : space.grids)
    if (!first[grid.key])
      first[grid.key] = &grid;
  const bool byFamily = GridExpander::hasFamilies(request);
  std::vector<size_t> families, familyOf; // first key of each; by key
  for (size_t key = 0; key < space.keys.size(); ++key) {
    if (!byFamily || key == 0 || !isSameFamily(space.keys[key - 1], space.keys[key]))
      families.push_back(key);
    familyOf.push_back(families.size() - 1);
  }
  std::vector<GridExpander::KeyBound> bounds(families.size());
  constexpr size_t batch = 16;
  parallel((bounds.size() + batch - 1) / batch, [&](size_t part, GridExpander &expander) {
    for (size_t i = part * batch; i < std::min(bounds.size(), (part + 1) * batch); ++i)
      bounds[i] =
          byFamily ? expander.boundFamily(space, *first[families[i]]) : expander.boundKey(space, *first[families[i]]);
  });
  report("bounds", int64_t(bounds.size()), int64_t(bounds.size()), 0, std::numeric_limits<double>::infinity());
  for (auto &[bound, grid] : result.grids)
    bound = GridExpander::boundGrid(request, bounds[familyOf[grid.key]], grid, space.keys[grid.key].microBatch);
  llvm::sort(result.grids, comesBefore);
  if (byFamily) {
    result.keys =
        std::make_shared<std::vector<GridExpander::KeyBound>>(space.keys.size(), GridExpander::KeyBound{-1, 0});
    putFirst(result);
  } else {
    result.keys = std::make_shared<std::vector<GridExpander::KeyBound>>(std::move(bounds));
  }
  return result;
}

void SearchEngine::settle(const BoundedSpace &bounded, size_t begin, double latest) {
  constexpr size_t most = 256;
  std::vector<size_t> grids; // one of each key
  std::vector<GridExpander::KeyBound> &keys = *bounded.keys;
  for (size_t i = begin; i < std::min(bounded.grids.size(), begin + most) && bounded.grids[i].first <= latest; ++i)
    if (GridExpander::KeyBound &key = keys[bounded.grids[i].second.key]; key.total == -1) {
      key.total = -2; // asked for
      grids.push_back(i);
    }
  parallel(grids.size(), [&](size_t i, GridExpander &expander) {
    const PlanGrid &grid = bounded.grids[grids[i]].second;
    keys[grid.key] = expander.boundKey(*bounded.space, grid);
  });
}

double SearchEngine::boundOf(const BoundedSpace &bounded, const PlanGrid &grid) const {
  return GridExpander::boundGrid(request, (*bounded.keys)[grid.key], grid, bounded.space->keys[grid.key].microBatch);
}

void SearchEngine::putFirst(BoundedSpace &bounded) {
  size_t first = 0;
  std::pair<double, PlanGrid> least{std::numeric_limits<double>::infinity(), {}};
  for (size_t i = 0; i < bounded.grids.size() && bounded.grids[i].first <= least.first; ++i) {
    const PlanGrid &grid = bounded.grids[i].second;
    if ((*bounded.keys)[grid.key].total < 0)
      settle(bounded, i, least.first);
    if (std::pair<double, PlanGrid> own{boundOf(bounded, grid), grid}; i == 0 || comesBefore(own, least)) {
      least = own;
      first = i;
    }
  }
  if (bounded.grids.empty())
    return;
  std::rotate(bounded.grids.begin(), bounded.grids.begin() + first, bounded.grids.begin() + first + 1);
  bounded.grids.front() = least;
}

BoundedSpace SearchEngine::boundKeys(BoundedSpace bounded) {
  for (size_t i = 0; i < bounded.grids.size(); ++i) {
    if ((*bounded.keys)[bounded.grids[i].second.key].total < 0)
      settle(bounded, i, std::numeric_limits<double>::infinity());
    bounded.grids[i].first = boundOf(bounded, bounded.grids[i].second);
  }
  llvm::sort(bounded.grids, comesBefore);
  return bounded;
}

BoundedSpace SearchEngine::restrict(const BoundedSpace &whole, const PlanConstraints &constraints) {
  BoundedSpace result{std::make_shared<PlanSpace>(*whole.space, constraints), {}, whole.keys};
  // Keys first: there are fewer of them.
  std::vector<bool> allowed;
  PlanGrid any{0, 1, 1};
  for (; any.key < int32_t(whole.space->keys.size()); ++any.key) {
    ParallelLayout layout = result.space->layoutOf(any);
    static constexpr PlanKey decided[] = {PlanKey::Tp,      PlanKey::Cp,         PlanKey::Ep,
                                          PlanKey::Etp,     PlanKey::MicroBatch, PlanKey::SequenceParallel,
                                          PlanKey::Context, PlanKey::TpRows,     PlanKey::TpDepth};
    allowed.push_back(llvm::all_of(decided, [&](PlanKey key) {
      return isVacuous(layout, key) || constraints.allows(key, planValue(layout, key));
    }));
  }
  for (const auto &entry : whole.grids)
    if (allowed[entry.second.key] && constraints.allows(PlanKey::Dp, entry.second.dp) &&
        constraints.allows(PlanKey::Pp, entry.second.pp))
      result.grids.push_back(entry);
  return result;
}

void SearchEngine::report(llvm::StringRef stage, int64_t done, int64_t more, int64_t left, double best) {
  allDone += more;
  bestReported = std::min(bestReported, best);
  if (!request.progress)
    return;
  auto now = std::chrono::steady_clock::now();
  if (now - reported < std::chrono::milliseconds(10))
    return;
  reported = now;
  request.progress(
      {stage, done, left, Seconds(bestReported < std::numeric_limits<double>::infinity() ? bestReported : 0), allDone});
}

SearchOutcome SearchEngine::search(const BoundedSpace &bounded, Bytes limit, size_t capacity) {
  SearchTargets targets;
  targets.targets.emplace_back(capacity);
  return search(bounded, limit, std::move(targets));
}

/// A grid that its simple bound makes the next waits in the queue until that, or what is known of it with more memory,
/// makes it the first; then it gets the bound that knows of memory.
class SearchEngine::Queue {
public:
  Queue(SearchEngine &engine, const BoundedSpace &bounded, Bytes limit, const SearchTargets &found)
      : engine(engine), bounded(bounded), limit(limit), found(found), refined(engine.refined[bounded.space->id]) {}

  using Open = std::pair<double, size_t>; // bound, number of the grid

  bool empty() const { return open.empty(); }
  size_t size() const { return open.size(); }
  const Open &top() const { return open.top(); }
  void push(const Open &grid) { open.push(grid); }
  Open pop() {
    Open grid = open.top();
    open.pop();
    return grid;
  }
  const GridExpander::RefinedBound &boundOf(size_t grid) const { return refined.find(grid)->second.bound; }

  /// Which targets admit a grid is known without its choices.
  bool isSlower(const Open &grid) const {
    return grid.first >
           found.cutoff(bounded.space->layoutOf(bounded.grids[grid.second].second), GridExpander::gridKeys);
  }

  /// Until no other grid comes before the first `count` of the queue, whose bounds know of memory; or none that is fast
  /// enough is left. Returns how many there are.
  size_t refine(size_t count) {
    std::vector<Open> first;
    for (refineFirst(); !open.empty() && open.top().first <= found.cutoff() && first.size() < count; refineFirst())
      first.push_back(pop());
    for (const Open &grid : first)
      open.push(grid);
    return first.size();
  }

  /// A lower bound on what is still open.
  double least() const {
    double least = next < bounded.grids.size() ? bounded.grids[next].first : std::numeric_limits<double>::infinity();
    return open.empty() ? least : std::min(least, open.top().first);
  }

private:
  /// Until no grid comes before the first of the queue, whose bound knows of memory.
  void refineFirst() {
    while (true) {
      std::vector<Open> batch; // the same for any number of threads
      const double latest = found.cutoff();
      while (batch.size() < 32) {
        bool isListed = next < bounded.grids.size() && bounded.grids[next].first <= latest;
        if (isListed && (open.empty() || bounded.grids[next].first <= open.top().first)) {
          const PlanGrid &listed = bounded.grids[next].second;
          if ((*bounded.keys)[listed.key].total < 0)
            engine.settle(bounded, next, latest);
          Open grid{std::max(bounded.grids[next].first, engine.boundOf(bounded, listed)), next};
          ++next;
          if (isSlower(grid))
            continue;
          if (auto known = refined.find(grid.second); known != refined.end() && known->second.limit >= limit)
            grid.first = std::max(grid.first, known->second.bound.time);
          open.push(grid);
        } else if (!open.empty() && open.top().first <= latest && !isRefined(open.top().second)) {
          Open grid = pop();
          if (!isSlower(grid))
            batch.push_back(grid);
        } else {
          break;
        }
      }
      if (batch.empty())
        return;
      std::vector<GridExpander::RefinedBound> bounds(batch.size());
      engine.parallel(batch.size(), [&](size_t i, GridExpander &expander) {
        bounds[i] = expander.refineBound(*bounded.space, bounded.grids[batch[i].second].second, limit);
      });
      for (auto &&[grid, bound] : llvm::zip(batch, bounds)) {
        open.push({std::max(grid.first, bound.time), grid.second});
        refined[grid.second] = {std::move(bound), limit};
      }
    }
  }

  bool isRefined(size_t grid) const {
    auto known = refined.find(grid);
    return known != refined.end() && known->second.limit.value == limit.value;
  }

  SearchEngine &engine;
  const BoundedSpace &bounded;
  Bytes limit;
  const SearchTargets &found;
  RefinedBounds &refined;
  std::priority_queue<Open, std::vector<Open>, std::greater<Open>> open;
  size_t next = 0; // of the grids by their simple bounds
};

SearchOutcome SearchEngine::search(const BoundedSpace &bounded, Bytes limit, SearchTargets targets,
                                   llvm::StringRef stage, llvm::ArrayRef<Candidate> seeds) {
  SearchOutcome outcome;
  outcome.grids = int64_t(bounded.grids.size());
  SearchTargets &found = outcome.found = std::move(targets);
  for (const Candidate &seed : seeds)
    if (seed.memory <= limit.value && !brokenConstraint(bounded.space->constraints, seed.layout))
      found.add(seed);
  Queue open(*this, bounded, limit, found);
  size_t wave = 4;
  /// Each against what was known before, whatever the number of threads.
  struct Chosen {
    size_t grid;
    GridExpander::RefinedBound bound;
  };
  std::vector<Chosen> chosen;
  auto runChosen = [&](auto step) {
    std::vector<SearchTargets> lists(chosen.size(), found);
    for (SearchTargets &list : lists)
      list.front.clear();
    std::vector<ExpansionCounts> counts(chosen.size());
    parallel(chosen.size(), [&](size_t i, GridExpander &expander) {
      (expander.*step)(*bounded.space, bounded.grids[chosen[i].grid].second, chosen[i].bound, limit, lists[i],
                       counts[i]);
    });
    for (size_t i = 0; i < lists.size(); ++i) {
      found.merge(lists[i]);
      outcome.counts.add(counts[i]);
    }
  };
  // Something to prune by: of the grids that come first, those whose 1F1B may be fastest.
  if (found.cutoff() == std::numeric_limits<double>::infinity()) {
    constexpr size_t estimated = 32, probed = 16;
    std::vector<Queue::Open> first;
    for (size_t left = open.refine(estimated); left > 0; --left)
      first.push_back(open.pop());
    std::vector<std::pair<double, Chosen>> estimates(first.size());
    parallel(first.size(), [&](size_t i, GridExpander &expander) {
      size_t grid = first[i].second;
      GridExpander::RefinedBound estimate =
          expander.refineBound(*bounded.space, bounded.grids[grid].second, limit, /*probes=*/true);
      estimates[i] = {estimate.time, {grid, std::move(estimate)}};
    });
    llvm::stable_sort(estimates, [](const auto &a, const auto &b) { return a.first < b.first; });
    for (const auto &[time, probe] : estimates)
      if (chosen.size() < probed)
        chosen.push_back(probe);
    for (const Queue::Open &grid : first)
      open.push(grid);
    runChosen(&GridExpander::probe);
  }
  while (true) {
    size_t next = open.refine(wave);
    if (next == 0)
      break;
    if (request.maxEvaluations && outcome.counts.priced >= request.maxEvaluations)
      break;
    chosen.clear();
    for (; next > 0; --next)
      if (Queue::Open grid = open.pop(); !open.isSlower(grid))
        chosen.push_back({grid.second, open.boundOf(grid.second)});
    runChosen(&GridExpander::expand);
    outcome.expanded += int64_t(chosen.size());
    report(stage, outcome.expanded, int64_t(chosen.size()), int64_t(open.size()),
           outcome.best().empty() ? std::numeric_limits<double>::infinity() : outcome.best().front().time);
    // The first few decide how much is left to do.
    wave = outcome.expanded < 12 ? 4 : std::min<size_t>(2 * wave, 64);
  }
  outcome.prunedGrids = outcome.grids - outcome.expanded;
  if (!outcome.best().empty())
    outcome.lowerBound = outcome.best().front().time;
  // What was left open may be faster only down to its least bound.
  outcome.lowerBound = std::min(outcome.lowerBound, open.least());
  return outcome;
}

std::optional<Candidate> SearchEngine::findLeastMemory(const BoundedSpace &bounded) {
  // Larger micro-batches only keep more.
  int32_t smallest = std::numeric_limits<int32_t>::max();
  for (const ProgramKey &key : bounded.space->keys)
    smallest = std::min(smallest, key.microBatch);
  std::vector<std::pair<double, const PlanGrid *>> order;
  for (const auto &[time, grid] : bounded.grids)
    if (bounded.space->keys[grid.key].microBatch == smallest)
      order.push_back({0, &grid});
  parallel(order.size(), [&](size_t i, GridExpander &expander) {
    order[i].first = expander.boundMemory(*bounded.space, *order[i].second);
  });
  llvm::sort(order, [](const auto &a, const auto &b) {
    return std::tie(a.first, a.second->key, a.second->dp, a.second->pp) <
           std::tie(b.first, b.second->key, b.second->dp, b.second->pp);
  });
  Candidate best{0, std::numeric_limits<double>::infinity(), {}};
  for (const auto &[memory, grid] : order) {
    if (memory > best.memory)
      break;
    workers.front()->findLeastMemory(*bounded.space, *grid, best);
  }
  if (best.memory == std::numeric_limits<double>::infinity())
    return std::nullopt;
  return best;
}
