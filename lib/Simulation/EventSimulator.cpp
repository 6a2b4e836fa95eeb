// Between events rates are constant. An event changes the running tasks of some devices and resources; only these
// tasks, and those that share a resource with them, get new rates.
#include "ppc/Simulation/EventSimulator.h"

#include "LinkedClaims.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <cmath>
#include <queue>

using namespace mlir::ppc;

namespace {
class EventSimulator {
public:
  EventSimulator(const TaskGraph &graph, bool record, Seconds latest)
      : graph(graph), record(record), latest(latest.value), linked(graph.capacities, graph.tasks.size()) {}
  llvm::Error check();
  llvm::Expected<SimulatedTimes> run();

private:
  struct Running {
    double remaining = 0, rate = 0, since = 0;
    double cap = 0;
    uint32_t version = 0;
  };
  struct Event {
    double time;
    int32_t task;
    uint32_t version;
    bool operator>(const Event &other) const { return time != other.time ? time > other.time : task > other.task; }
  };
  struct DeviceState {
    int32_t compute = 0, communication = 0; // running
    llvm::SmallVector<int32_t, 8> tasks;    // running, compute or communication
    bool dirty = false;
  };
  struct ResourceState {
    llvm::SmallVector<int32_t, 8> tasks; // running
    bool dirty = false;
  };

  void linkSuccessors();
  /// Computes for each task the longest chain of tasks after it, in seconds.
  void measureTails();
  void start(int32_t task);
  void finish(int32_t task);
  void markDevice(int32_t device);
  void markResources(int32_t task);
  double capOf(int32_t task) const;
  void setRate(int32_t task, double rate);
  void refresh();

  const TaskGraph &graph;
  bool record;
  double latest; // 0: any
  std::vector<double> tails;
  SimulatedTimes times;
  double now = 0;
  std::vector<int32_t> firstSuccessor, successors, pending, ready;
  std::vector<Running> running;
  std::vector<DeviceState> devices;
  std::vector<ResourceState> resources;
  std::vector<int32_t> dirtyDevices, dirtyResources;
  LinkedClaims linked;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events;
  size_t done = 0;
};
} // namespace

llvm::Error EventSimulator::check() {
  auto isAmount = [](double value) { return value >= 0 && std::isfinite(value); };
  for (double capacity : graph.capacities)
    if (!isAmount(capacity) || capacity == 0)
      return llvm::createStringError("a resource of the simulation has capacity " + std::to_string(capacity));
  for (size_t i = 0; i < graph.tasks.size(); ++i)
    if (!isAmount(graph.tasks[i].work.value) || graph.tasks[i].device < 0)
      return llvm::createStringError("task " + llvm::Twine(i) + " of the simulation has no finite work or no device");
  for (const ResourceUse &use : graph.uses)
    if (!isAmount(use.amount) || use.resource < 0 || use.resource >= int32_t(graph.capacities.size()))
      return llvm::createStringError("a task of the simulation uses resource " + llvm::Twine(use.resource) +
                                     ", which does not exist");
  for (auto [before, after] : graph.dependences)
    if (before < 0 || after < 0 || size_t(before) >= graph.tasks.size() || size_t(after) >= graph.tasks.size())
      return llvm::createStringError("a task of the simulation waits for one that does not exist");
  if (!(graph.communicationShare >= 0 && graph.communicationShare < 1) ||
      !(graph.communicationSlowdown >= 0 && graph.communicationSlowdown < 1))
    return llvm::createStringError(
        "what compute and communication take from each other must be at least 0 and below 1");
  return llvm::Error::success();
}

void EventSimulator::linkSuccessors() {
  size_t count = graph.tasks.size();
  firstSuccessor.assign(count + 1, 0);
  pending.assign(count, 0);
  for (auto [before, after] : graph.dependences) {
    ++firstSuccessor[before + 1];
    ++pending[after];
  }
  for (size_t i = 0; i < count; ++i)
    firstSuccessor[i + 1] += firstSuccessor[i];
  successors.resize(graph.dependences.size());
  std::vector<int32_t> next(firstSuccessor.begin(), firstSuccessor.end() - 1);
  for (auto [before, after] : graph.dependences)
    successors[next[before]++] = after;
}

void EventSimulator::measureTails() {
  size_t count = graph.tasks.size();
  tails.assign(count, 0);
  std::vector<int32_t> order, left = pending;
  order.reserve(count);
  for (size_t i = 0; i < count; ++i)
    if (left[i] == 0)
      order.push_back(int32_t(i));
  for (size_t i = 0; i < order.size(); ++i)
    for (int32_t j = firstSuccessor[order[i]]; j < firstSuccessor[order[i] + 1]; ++j)
      if (--left[successors[j]] == 0)
        order.push_back(successors[j]);
  for (size_t i = order.size(); i-- > 0;) {
    int32_t task = order[i];
    for (int32_t j = firstSuccessor[task]; j < firstSuccessor[task + 1]; ++j)
      tails[task] = std::max(tails[task], tails[successors[j]]);
    tails[task] += graph.tasks[task].work.value;
  }
}

void EventSimulator::markDevice(int32_t device) {
  if (devices[device].dirty)
    return;
  devices[device].dirty = true;
  dirtyDevices.push_back(device);
}

void EventSimulator::markResources(int32_t task) {
  for (const ResourceUse &use : graph.usesOf(graph.tasks[task]))
    if (!resources[use.resource].dirty) {
      resources[use.resource].dirty = true;
      dirtyResources.push_back(use.resource);
    }
}

double EventSimulator::capOf(int32_t task) const {
  const TaskGraph::Task &each = graph.tasks[task];
  const DeviceState &device = devices[each.device];
  switch (each.kind) {
  case TaskKind::Compute:
    return device.communication ? 1 - graph.communicationShare : 1;
  case TaskKind::Communication:
    return device.compute ? 1 - graph.communicationSlowdown : 1;
  case TaskKind::Copy:
    return 1;
  }
  return 1;
}

void EventSimulator::start(int32_t task) {
  const TaskGraph::Task &each = graph.tasks[task];
  times.start[task] = Seconds(now);
  times.stopped |= latest > 0 && (now + tails[task]) * (1 - 1e-9) > latest; // sums in another order
  if (each.work.value <= 0) {
    finish(task);
    return;
  }
  Running &state = running[task];
  state.remaining = each.work.value;
  state.since = now;
  state.rate = 0;
  state.cap = -1; // not known
  DeviceState &device = devices[each.device];
  device.tasks.push_back(task);
  device.compute += each.kind == TaskKind::Compute;
  device.communication += each.kind == TaskKind::Communication;
  markDevice(each.device);
  for (const ResourceUse &use : graph.usesOf(each))
    resources[use.resource].tasks.push_back(task);
  markResources(task);
}

template <typename List> static void removeFrom(List &list, int32_t task) {
  auto at = std::find(list.begin(), list.end(), task);
  if (at != list.end())
    list.erase(at);
}

void EventSimulator::finish(int32_t task) {
  const TaskGraph::Task &each = graph.tasks[task];
  times.end[task] = Seconds(now);
  times.last = Seconds(now);
  ++done;
  if (each.work.value > 0) {
    setRate(task, 0);
    DeviceState &device = devices[each.device];
    removeFrom(device.tasks, task);
    device.compute -= each.kind == TaskKind::Compute;
    device.communication -= each.kind == TaskKind::Communication;
    markDevice(each.device);
    for (const ResourceUse &use : graph.usesOf(each))
      removeFrom(resources[use.resource].tasks, task);
    markResources(task);
  }
  for (int32_t i = firstSuccessor[task]; i < firstSuccessor[task + 1]; ++i)
    if (--pending[successors[i]] == 0)
      ready.push_back(successors[i]);
}

void EventSimulator::setRate(int32_t task, double rate) {
  Running &state = running[task];
  if (rate == state.rate)
    return;
  if (record && state.rate > 0 && now > state.since)
    times.segments.push_back({task, Seconds(state.since), Seconds(now), state.rate});
  state.remaining = std::max(0.0, state.remaining - state.rate * (now - state.since));
  state.since = now;
  state.rate = rate;
  ++state.version;
  if (rate > 0)
    events.push({now + state.remaining / rate, task, state.version});
}

void EventSimulator::refresh() {
  for (int32_t device : dirtyDevices) {
    devices[device].dirty = false;
    for (int32_t task : devices[device].tasks) {
      double cap = capOf(task);
      if (cap == running[task].cap)
        continue;
      running[task].cap = cap;
      if (graph.tasks[task].useCount)
        markResources(task);
      else
        setRate(task, cap);
    }
  }
  dirtyDevices.clear();
  for (int32_t resource : dirtyResources) {
    resources[resource].dirty = false;
    if (!linked.isShared(resource) && !resources[resource].tasks.empty())
      linked.share(
          resource, [&](int32_t used, auto each) { llvm::for_each(resources[used].tasks, each); },
          [&](int32_t task) { return capOf(task); }, [&](int32_t task) { return graph.usesOf(graph.tasks[task]); },
          [&](int32_t task, double rate) { setRate(task, rate); });
  }
  dirtyResources.clear();
  linked.forget();
}

llvm::Expected<SimulatedTimes> EventSimulator::run() {
  if (llvm::Error error = check())
    return std::move(error);
  linkSuccessors();
  if (latest > 0)
    measureTails();
  size_t count = graph.tasks.size();
  int32_t deviceCount = 0;
  for (const TaskGraph::Task &task : graph.tasks)
    deviceCount = std::max(deviceCount, task.device + 1);
  devices.resize(deviceCount);
  resources.resize(graph.capacities.size());
  running.resize(count);
  times.start.assign(count, Seconds(0));
  times.end.assign(count, Seconds(0));
  for (size_t i = 0; i < count; ++i)
    if (pending[i] == 0)
      ready.push_back(int32_t(i));
  while (true) {
    for (size_t i = 0; i < ready.size(); ++i) // a task without work readies others at once
      start(ready[i]);
    ready.clear();
    if (times.stopped)
      return std::move(times);
    refresh();
    while (!events.empty() && events.top().version != running[events.top().task].version)
      events.pop();
    if (events.empty())
      break;
    now = events.top().time;
    while (!events.empty() &&
           (events.top().time == now || events.top().version != running[events.top().task].version)) {
      Event event = events.top();
      events.pop();
      if (event.version == running[event.task].version)
        finish(event.task);
    }
  }
  if (done < count) {
    size_t waiting = 0;
    while (pending[waiting] == 0)
      ++waiting;
    return llvm::createStringError("task " + llvm::Twine(waiting) + " of the simulation waits for itself");
  }
  return std::move(times);
}

llvm::Expected<SimulatedTimes> mlir::ppc::simulateTasks(const TaskGraph &graph, bool recordSegments, Seconds latest) {
  return EventSimulator(graph, recordSegments, latest).run();
}
