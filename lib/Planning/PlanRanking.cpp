#include "lib/Planning/PlanRanking.h"

#include "ppc/CostModel/PredictionInterval.h"
#include "ppc/Simulation/StepBound.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir::ppc;

llvm::Expected<Plan> mlir::ppc::priceInDetail(const PlanRequest &request, const ParallelLayout &layout,
                                              StepEstimator &estimator, StepDetail &detail) {
  Plan plan{layout, {}};
  llvm::Expected<StepCost> cost =
      estimator.estimate(request.model, request.job, request.cluster, layout, request.stack, &detail);
  if (!cost)
    return cost.takeError();
  plan.cost = std::move(*cost);
  plan.cost.fits = true;
  for (size_t stage = 0; stage < plan.cost.stages.size(); ++stage)
    plan.cost.fits &= fitsStage(request, layout, stage, plan.cost.stages[stage].memory);
  if (layout.pp > 1) // as many as the schedule has, where it has more than were asked for
    plan.layout.vp = detail.shape.chunks;
  if (plan.layout.stageLayers.empty() && layout.pp > 1)
    for (int64_t layers : layersPerChunk(request.model, detail.costs.chunks))
      plan.layout.stageLayers.push_back(layers);
  return plan;
}

/// What there is to understand and to get wrong: kinds of parallelism and of saving memory, then how far they go.
static std::tuple<int, int64_t, double> complexityOf(const Plan &plan) {
  const ParallelLayout &layout = plan.layout;
  int kinds = layout.recompute != Recompute::None;
  for (int64_t degree : {layout.tp, layout.pp, layout.cp, layout.ep, layout.etp, layout.vp})
    kinds += degree > 1;
  kinds += layout.zero >= 2 && layout.innerRanks() != layout.shardRanks();
  kinds += (layout.zero >= 2) + (layout.shardGroup > 0 && layout.shardGroup < layout.dataRanks());
  kinds += layout.offload == Offload::None ? 0 : 2;
  kinds += layout.tpRows > 1;
  kinds += layout.pp > 1 && layout.schedule != "1f1b" && layout.schedule != "interleaved";
  return {kinds, layout.tp * layout.pp * layout.cp, plan.cost.peakMemory.value};
}

static bool isSameLayout(const ParallelLayout &a, const ParallelLayout &b) {
  for (int key = 0; key < planKeyCount; ++key)
    if (planValue(a, PlanKey(key)) != planValue(b, PlanKey(key)))
      return false;
  return a.stageLayers == b.stageLayers && a.stageRecomputedLayers == b.stageRecomputedLayers;
}

llvm::Expected<size_t> PlanRanking::add(const Candidate &candidate, bool joins) {
  StepDetail detail;
  llvm::Expected<Plan> plan = priceInDetail(request, candidate.layout, estimator, detail);
  if (!plan)
    return plan.takeError();
  auto known =
      llvm::find_if(entries, [&](const Entry &entry) { return isSameLayout(entry.plan.layout, plan->layout); });
  if (known != entries.end()) {
    known->joins |= joins;
    return size_t(known - entries.begin());
  }
  entries.push_back({std::move(*plan), candidate, std::move(detail), joins});
  return entries.size() - 1;
}

std::vector<double> PlanRanking::replayedTimes() const {
  std::vector<double> times;
  std::vector<size_t> shapes;
  for (size_t number : byTime()) {
    const Entry &entry = entries[number];
    if (!entry.plan.simulated ||
        llvm::any_of(shapes, [&](size_t other) { return isSameShape(entries[other].plan.layout, entry.plan.layout); }))
      continue;
    shapes.push_back(number);
    times.push_back(entry.time());
  }
  return times;
}

double PlanRanking::latest() const {
  std::vector<double> times = replayedTimes();
  size_t joining = llvm::count_if(entries, [](const Entry &entry) { return entry.joins; });
  size_t listed = std::min(joining, size_t(request.topK));
  if (times.size() < listed)
    return std::numeric_limits<double>::infinity();
  return times[listed - 1];
}

llvm::Expected<std::optional<SimulatedStep>> PlanRanking::replayOne(const Entry &entry, double latest) {
  StepSimulationOptions options;
  if (latest < std::numeric_limits<double>::infinity()) {
    options.latest = Seconds(latest);
    PipelineTimer timer(engine.compiled());
    llvm::Expected<Seconds> bound = boundSimulatedStep(request.model, request.job, request.cluster, entry.plan.layout,
                                                       request.stack, entry.detail, entry.plan.cost, timer);
    if (!bound)
      return bound.takeError();
    if (bound->value > latest)
      return std::nullopt;
  }
  llvm::Expected<SimulatedStep> step = simulateStep(request.model, request.job, request.cluster, entry.plan.layout,
                                                    request.stack, entry.detail, entry.plan.cost, options);
  if (!step)
    return step.takeError();
  if (step->stopped)
    return std::nullopt;
  return std::move(*step);
}

llvm::Error PlanRanking::replay() {
  if (!request.simulate)
    return llvm::Error::success();
  // Those of little work first: what they leave of the others need not be replayed, or not to its end.
  std::vector<std::pair<double, size_t>> queue; // tasks, entry
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].joins && !entries[i].slower && !entries[i].plan.simulated)
      queue.push_back({expectedReplayTasks(entries[i].plan.layout, entries[i].detail), i});
  llvm::sort(queue);
  for (size_t begin = 0; begin < queue.size();) {
    size_t end = std::min(begin + 2, queue.size()); // the same for any number of threads
    if (end - begin == 2 && queue[begin].first + queue[begin + 1].first > 2 * replayTasksInPairs)
      --end;
    std::vector<std::optional<SimulatedStep>> steps(end - begin);
    std::vector<std::string> errors(end - begin);
    const double most = latest();
    engine.parallel(end - begin, [&, begin](size_t i, GridExpander &) {
      llvm::Expected<std::optional<SimulatedStep>> step = replayOne(entries[queue[begin + i].second], most);
      if (step)
        steps[i] = std::move(*step);
      else
        errors[i] = llvm::toString(step.takeError());
    });
    for (size_t i = 0; begin < end; ++begin, ++i) {
      if (!errors[i].empty())
        return llvm::createStringError(errors[i]);
      Entry &entry = entries[queue[begin].second];
      entry.slower = !steps[i];
      entry.plan.simulated = std::move(steps[i]);
    }
  }
  return llvm::Error::success();
}

std::vector<size_t> PlanRanking::byTime() const {
  std::vector<size_t> order;
  for (size_t i = 0; i < entries.size(); ++i)
    if (!entries[i].joins || !request.simulate || entries[i].plan.simulated)
      order.push_back(i);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return std::make_pair(!entries[a].joins, entries[a].time()) < std::make_pair(!entries[b].joins, entries[b].time());
  });
  return order;
}

std::vector<size_t>::iterator PlanRanking::leastMemory(std::vector<size_t> &order) const {
  const double fastest = entries[order.front()].time();
  auto end = llvm::find_if(
      order, [&](size_t number) { return entries[number].time() > fastest * (1 + request.timeTolerance); });
  return std::min_element(order.begin(), end, [&](size_t a, size_t b) { // of equals the first, which is faster
    return entries[a].plan.cost.peakMemory < entries[b].plan.cost.peakMemory;
  });
}

std::vector<size_t> PlanRanking::order() const {
  std::vector<size_t> order = byTime();
  if (request.timeTolerance > 0) {
    auto least = leastMemory(order);
    std::rotate(order.begin(), least, least + 1);
  }
  std::vector<size_t> result;
  for (size_t number : order)
    if (!request.simulate || llvm::none_of(result, [&](size_t other) {
          return isSameShape(entries[other].plan.layout, entries[number].plan.layout);
        }))
      result.push_back(number);
  return result;
}

size_t PlanRanking::ties(llvm::ArrayRef<size_t> order) const {
  auto end = llvm::find_if(order, [&](size_t number) {
    return !entries[number].plan.simulated ||
           entries[number].time() > entries[order.front()].time() * (1 + indistinctShare());
  });
  return size_t(end - order.begin());
}

size_t PlanRanking::simplest(llvm::ArrayRef<size_t> order, size_t count) const {
  auto isSimpler = [&](size_t a, size_t b) { return complexityOf(entries[a].plan) < complexityOf(entries[b].plan); };
  return size_t(std::min_element(order.begin(), order.begin() + count, isSimpler) - order.begin());
}

std::string PlanRanking::reorderedNote() const {
  const Entry &first = entries.front();
  if (byTime().front() == 0)
    return "";
  return llvm::formatv("by closed formulas {0} is fastest with {1}; replayed it takes {2}", toString(first.plan.layout),
                       toString(first.plan.cost.stepTime),
                       first.plan.simulated ? toString(first.plan.simulated->stepTime) : "longer")
      .str();
}

std::string PlanRanking::memoryNote() const {
  if (request.timeTolerance <= 0)
    return "";
  std::vector<size_t> order = byTime();
  size_t least = *leastMemory(order);
  if (least == order.front())
    return "";
  return tradeText(entries[least].plan.cost, entries[order.front()].plan, request.timeTolerance);
}
