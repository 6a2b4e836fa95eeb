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
  BoundedSpace result{std::make_shared<PlanSpace>(request, constraints, devices), {}};
  for (const PlanGrid &grid : result.space->grids)
    result.grids.push_back({0, grid});
  return result;
}

BoundedSpace SearchEngine::bound(const PlanConstraints &constraints, int64_t devices) {
  BoundedSpace result = enumerate(constraints, devices);
  const PlanSpace &space = *result.space;
  std::vector<const PlanGrid *> first(space.keys.size(), nullptr);
  for (const PlanGrid &grid : space.grids)
    if (!first[grid.key])
      first[grid.key] = &grid;
  std::vector<GridExpander::KeyBound> bounds(space.keys.size());
  constexpr size_t batch = 16;
  parallel((bounds.size() + batch - 1) / batch, [&](size_t part, GridExpander &expander) {
    for (size_t key = part * batch; key < std::min(bounds.size(), (part + 1) * batch); ++key)
      bounds[key] = expander.boundKey(space, *first[key]);
  });
  report("bounds", int64_t(bounds.size()), int64_t(bounds.size()), 0, std::numeric_limits<double>::infinity());
  for (auto &[bound, grid] : result.grids)
    bound = GridExpander::boundGrid(request, bounds[grid.key], grid, space.keys[grid.key].microBatch);
  llvm::sort(result.grids, [](const auto &a, const auto &b) {
    return std::tie(a.first, a.second.key, a.second.dp, a.second.pp) <
           std::tie(b.first, b.second.key, b.second.dp, b.second.pp);
  });
  return result;
}

BoundedSpace SearchEngine::restrict(const BoundedSpace &whole, const PlanConstraints &constraints) {
  BoundedSpace result{std::make_shared<PlanSpace>(*whole.space, constraints), {}};
  // Keys first: there are fewer of them.
  std::vector<bool> allowed;
  PlanGrid any{0, 1, 1};
  for (; any.key < int32_t(whole.space->keys.size()); ++any.key) {
    ParallelLayout layout = result.space->layoutOf(any);
    static constexpr PlanKey decided[] = {PlanKey::Tp,     PlanKey::Cp,         PlanKey::Ep,
                                          PlanKey::Etp,    PlanKey::MicroBatch, PlanKey::SequenceParallel,
                                          PlanKey::Context};
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

SearchOutcome SearchEngine::search(const BoundedSpace &bounded, Bytes limit, SearchTargets targets,
                                   llvm::StringRef stage, llvm::ArrayRef<Candidate> seeds) {
  SearchOutcome outcome;
  outcome.grids = int64_t(bounded.grids.size());
  SearchTargets &found = outcome.found = std::move(targets);
  for (const Candidate &seed : seeds)
    if (seed.memory <= limit.value && !brokenConstraint(bounded.space->constraints, seed.layout))
      found.add(seed);
  // Which targets admit a grid is known without its choices.
  auto isSlower = [&](double bound, size_t index) {
    return bound > found.cutoff(bounded.space->layoutOf(bounded.grids[index].second), GridExpander::gridKeys);
  };
  // Best first by the bound that knows of memory, which a grid gets when its simple one makes it the next.
  using Open = std::pair<double, size_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<Open>> open;
  size_t next = 0, wave = 4;
  if (refined.space != bounded.space->id || refined.limit.value != limit.value)
    refined = {bounded.space->id, limit, std::vector<GridExpander::RefinedBound>(bounded.grids.size())};
  auto refine = [&] {
    std::vector<Open> batch;
    const double latest = found.cutoff();
    for (; next < bounded.grids.size() && batch.size() < 32 && bounded.grids[next].first <= latest; ++next)
      if (!isSlower(bounded.grids[next].first, next))
        batch.push_back({bounded.grids[next].first, next});
    parallel(batch.size(), [&](size_t i, GridExpander &expander) {
      auto &[bound, grid] = batch[i];
      GridExpander::RefinedBound &known = refined.bounds[grid];
      if (known.time == 0)
        known = expander.refineBound(*bounded.space, bounded.grids[grid].second, limit);
      bound = std::max(bound, known.time);
    });
    for (const Open &grid : batch)
      open.push(grid);
  };
  /// Each against what was known before, whatever the number of threads.
  struct Chosen {
    size_t grid;
    int64_t slices;
  };
  std::vector<Chosen> chosen;
  auto runChosen = [&](auto step) {
    std::vector<SearchTargets> lists(chosen.size(), found);
    for (SearchTargets &list : lists)
      list.front.clear();
    std::vector<ExpansionCounts> counts(chosen.size());
    parallel(chosen.size(), [&](size_t i, GridExpander &expander) {
      (expander.*step)(*bounded.space, bounded.grids[chosen[i].grid].second, chosen[i].slices, limit, lists[i],
                       counts[i]);
    });
    for (size_t i = 0; i < lists.size(); ++i) {
      found.merge(lists[i]);
      outcome.counts.add(counts[i]);
    }
  };
  auto isOpen = [&] { return next < bounded.grids.size() && bounded.grids[next].first <= found.cutoff(); };
  auto refineNext = [&] {
    while (isOpen() && (open.empty() || bounded.grids[next].first <= open.top().first))
      refine();
  };
  // Something to prune by: of the grids that come first, those whose 1F1B may be fastest.
  if (found.cutoff() == std::numeric_limits<double>::infinity()) {
    refineNext();
    constexpr size_t estimated = 32, probed = 16;
    std::vector<Open> first;
    for (; !open.empty() && first.size() < estimated; open.pop())
      first.push_back(open.top());
    std::vector<std::pair<double, Chosen>> estimates(first.size());
    parallel(first.size(), [&](size_t i, GridExpander &expander) {
      size_t grid = first[i].second;
      GridExpander::RefinedBound estimate =
          expander.refineBound(*bounded.space, bounded.grids[grid].second, limit, /*probes=*/true);
      estimates[i] = {estimate.time, {grid, estimate.slices}};
    });
    llvm::stable_sort(estimates, [](const auto &a, const auto &b) { return a.first < b.first; });
    for (const auto &[time, probe] : estimates)
      if (chosen.size() < probed)
        chosen.push_back(probe);
    for (const Open &grid : first)
      open.push(grid);
    runChosen(&GridExpander::probe);
  }
  while (true) {
    refineNext();
    if (open.empty() || open.top().first > found.cutoff())
      break;
    if (request.maxEvaluations && outcome.counts.priced >= request.maxEvaluations)
      break;
    chosen.clear();
    for (; !open.empty() && chosen.size() < wave && open.top().first <= found.cutoff(); open.pop())
      if (!isSlower(open.top().first, open.top().second))
        chosen.push_back({open.top().second, refined.bounds[open.top().second].slices});
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
  if (next < bounded.grids.size())
    outcome.lowerBound = std::min(outcome.lowerBound, bounded.grids[next].first);
  if (!open.empty())
    outcome.lowerBound = std::min(outcome.lowerBound, open.top().first);
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
