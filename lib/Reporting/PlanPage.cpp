// The report as one HTML file: the page of Page/report.html with the data inside. Its script builds everything from
// them.
#include "ppc/Reporting/PlanReport.h"

#include <cmath>
#include <tuple>
#include <utility>

using namespace mlir::ppc;
namespace json = llvm::json;

namespace {
struct PageText {
  llvm::StringRef name, text;
};
} // namespace
static constexpr PageText pageTexts[] = {
#include "Page.inc"
};

/// The page shows no timelines with more actions, to stay small and quick.
static constexpr size_t maxActions = 60000;

static double microseconds(Seconds time) { return double(int64_t(time.value * 1e7 + 0.5)) / 10; }

/// Memory lines have no more points than the plot has columns, more or less: of each stretch the least and the most.
static constexpr size_t maxPoints = 1500;

static json::Array memoryJson(llvm::ArrayRef<MemoryPoint> points, Seconds end) {
  json::Array line;
  auto add = [&](const MemoryPoint &point) {
    line.push_back(json::Array{microseconds(point.time), point.bytes.value});
  };
  if (points.size() <= maxPoints) {
    for (const MemoryPoint &point : points)
      add(point);
    return line;
  }
  for (size_t i = 0; i < points.size();) {
    Seconds until = end * (std::floor(points[i].time / end * (maxPoints / 2)) + 1) / (maxPoints / 2);
    size_t least = i, most = i, next = i;
    for (; next < points.size() && (next == i || points[next].time < until); ++next) {
      least = points[next].bytes < points[least].bytes ? next : least;
      most = points[most].bytes < points[next].bytes ? next : most;
    }
    for (size_t chosen : {std::min(least, most), std::max(least, most)})
      add(points[chosen]);
    i = next;
  }
  return line;
}

/// Per device: actions as [kind, virtual stage, micro-batch, start, end], times in microseconds; concurrent tasks as
/// [stream, start, end]; the update as [start, end]; memory as [time, bytes].
static json::Value timelineJson(const PlanReport &report, const ReportedPlan &plan) {
  StepSimulationOptions options;
  options.keepEvents = true;
  llvm::Expected<SimulatedStep> step = replayStep(report, plan, options);
  if (!step) {
    llvm::consumeError(step.takeError());
    return nullptr;
  }
  size_t count = step->devices.size();
  std::vector<json::Array> actions(count), strips(count), updates(count);
  // The tasks of an action follow each other.
  std::vector<const SimulatedEvent *> open(count, nullptr);
  std::vector<Seconds> ends(count);
  size_t drawn = 0;
  bool complete = !step->extrapolated;
  auto close = [&](size_t device) {
    const SimulatedEvent *event = std::exchange(open[device], nullptr);
    if (!event)
      return;
    if (++drawn > maxActions) {
      complete = false;
      return;
    }
    actions[device].push_back(json::Array{int(event->kind), event->stage, event->microBatch, microseconds(event->start),
                                          microseconds(ends[device])});
  };
  auto key = [](const SimulatedEvent &event) {
    return std::tuple(event.kind, event.stage, event.microBatch, event.slice);
  };
  Seconds end = plan.cost.stepTime;
  for (const SimulatedEvent &event : step->events) {
    size_t device = event.device;
    end = std::max(end, event.end);
    if (event.kind <= SimulatedKind::WeightGradient) {
      if (open[device] && key(*open[device]) != key(event))
        close(device);
      if (!open[device])
        open[device] = &event;
      ends[device] = event.end;
    } else if (event.kind == SimulatedKind::Optimizer) {
      updates[device].push_back(json::Array{microseconds(event.start), microseconds(event.end)});
    } else if (strips[device].size() < maxActions / count) {
      strips[device].push_back(json::Array{int(event.stream), microseconds(event.start), microseconds(event.end)});
    }
  }
  json::Array devices, beside, update, memory, streams;
  for (size_t device = 0; device < count; ++device) {
    close(device);
    devices.push_back(std::move(actions[device]));
    beside.push_back(std::move(strips[device]));
    update.push_back(std::move(updates[device]));
    memory.push_back(memoryJson(step->devices[device].memory, end));
  }
  for (int stream = 0; stream < simulatedStreamCount; ++stream)
    streams.push_back(toString(SimulatedStream(stream)));
  return json::Object{{"schedule", plan.detail.schedule->name},
                      {"end_us", microseconds(end)},
                      {"complete", complete},
                      {"step_us", microseconds(step->stepTime)},
                      {"streams", std::move(streams)},
                      {"devices", std::move(devices)},
                      {"beside", std::move(beside)},
                      {"updates", std::move(update)},
                      {"memory", std::move(memory)}};
}

void mlir::ppc::writePage(const PlanReport &report, llvm::raw_ostream &out) {
  json::Value data = toJson(report);
  json::Array kinds;
  for (int kind = 0; kind < timeKindCount; ++kind)
    kinds.push_back(toString(static_cast<TimeKind>(kind)));
  data.getAsObject()->insert({"time_kinds", std::move(kinds)});
  json::Array keys;
  for (int key = 0; key < planKeyCount; ++key)
    keys.push_back(toString(PlanKey(key)));
  data.getAsObject()->insert({"layout_keys", std::move(keys)});
  if (!report.plans.empty())
    data.getAsObject()->insert({"timeline", timelineJson(report, report.plans[0])});
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << data;
  auto [before, after] = pageTexts[0].text.split("@DATA@");
  out << before;
  // "</script>" inside a name must not end the script.
  for (char c : text) {
    if (c == '<')
      out << "\\u003c";
    else
      out << c;
  }
  out << after;
}
