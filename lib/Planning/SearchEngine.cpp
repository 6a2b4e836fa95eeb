#include "SearchEngine.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <atomic>

using namespace mlir::ppc;

SearchEngine::SearchEngine(const PlanRequest &request) : request(request), pool(llvm::hardware_concurrency(request.threads)) {
  for (unsigned i = 0; i < std::max(1u, pool.getMaxConcurrency()); ++i)
    workers.push_back(std::make_unique<GridExpander>(request, schedules));
}

void SearchEngine::parallel(size_t count, llvm::function_ref<void(size_t, GridExpander &)> use) {
  if (count <= 1 || workers.size() == 1) {
    for (size_t i = 0; i < count; ++i)
      use(i, *workers.front());
    return;
  }
  std::atomic<size_t> next{0};
  for (auto &worker : workers)
    pool.async([&, expander = worker.get()] {
      for (size_t i; (i = next++) < count;)
        use(i, *expander);
    });
  pool.wait();
}

BoundedSpace SearchEngine::bound(const PlanConstraints &constraints, int64_t devices) {
  BoundedSpace result{std::make_shared<PlanSpace>(request, constraints, devices), {}};
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
  for (const PlanGrid &grid : space.grids)
    result.grids.push_back({GridExpander::boundGrid(request, bounds[grid.key], grid, space.keys[grid.key].microBatch), grid});
  llvm::sort(result.grids, [](const auto &a, const auto &b) {
    return std::tie(a.first, a.second.key, a.second.dp, a.second.pp) < std::tie(b.first, b.second.key, b.second.dp, b.second.pp);
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
    static constexpr PlanKey decided[] = {PlanKey::Tp,         PlanKey::Cp,               PlanKey::Ep,     PlanKey::Etp,
                                          PlanKey::MicroBatch, PlanKey::SequenceParallel, PlanKey::Context};
    allowed.push_back(llvm::all_of(decided, [&](PlanKey key) {
      return isVacuous(layout, key) || constraints.allows(key, planValue(layout, key));
    }));
  }
  for (const auto &entry : whole.grids)
    if (allowed[entry.second.key] && constraints.allows(PlanKey::Dp, entry.second.dp) && constraints.allows(PlanKey::Pp, entry.second.pp))
      result.grids.push_back(entry);
  return result;
}

SearchOutcome SearchEngine::search(const BoundedSpace &bounded, Bytes limit, size_t capacity, llvm::ArrayRef<Candidate> seeds) {
  SearchOutcome outcome;
  outcome.grids = int64_t(bounded.grids.size());
  CandidateList found(capacity);
  for (const Candidate &seed : seeds)
    if (seed.memory <= limit.value && !brokenConstraint(bounded.space->constraints, seed.layout))
      found.add(seed);
  size_t next = 0, wave = 2;
  while (next < bounded.grids.size() && bounded.grids[next].first <= found.cutoff()) {
    if (request.maxEvaluations && outcome.counts.priced >= request.maxEvaluations)
      break;
    size_t end = next;
    while (end < bounded.grids.size() && end < next + wave && bounded.grids[end].first <= found.cutoff())
      ++end;
    std::vector<CandidateList> lists(end - next, found);
    std::vector<ExpansionCounts> counts(end - next);
    parallel(end - next, [&](size_t i, GridExpander &expander) {
      expander.expand(*bounded.space, bounded.grids[next + i].second, limit, lists[i], counts[i]);
    });
    for (size_t i = 0; i < lists.size(); ++i) {
      for (Candidate &candidate : lists[i].list)
        found.add(std::move(candidate));
      outcome.counts.add(counts[i]);
    }
    next = end;
    wave = std::min<size_t>(2 * wave, 64);
  }
  outcome.expanded = int64_t(next);
  outcome.prunedGrids = outcome.grids - outcome.expanded;
  if (!found.list.empty())
    outcome.lowerBound = found.list.front().time;
  // What was left open may be faster only down to its least bound.
  if (next < bounded.grids.size())
    outcome.lowerBound = std::min(outcome.lowerBound, bounded.grids[next].first);
  outcome.best = std::move(found.list);
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
    return std::tie(a.first, a.second->key, a.second->dp, a.second->pp) < std::tie(b.first, b.second->key, b.second->dp, b.second->pp);
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
