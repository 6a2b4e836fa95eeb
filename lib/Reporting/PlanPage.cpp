// The report as one HTML file: the page of Page/report.html with the data inside. Its script builds everything from them.
#include "ppc/Reporting/PlanReport.h"

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

/// More are not drawn: the page stays small and quick.
static constexpr size_t maxActions = 60000;

static double microseconds(Seconds time) { return double(int64_t(time.value * 1e7 + 0.5)) / 10; }

/// Per device [start and end of the gradient reduction, of the optimizer, end of the parameter gather].
static json::Value updatesJson(const ReportedPlan &plan, const ScheduleTimeline &timeline) {
  json::Array updates;
  Seconds update = plan.cost.stepTime - plan.cost.optimizer;
  for (size_t device = 0; device < timeline.devices.size(); ++device) {
    const StageCost &stage = plan.cost.stages[device];
    Seconds last = timeline.devices[device].empty() ? Seconds(0) : timeline.devices[device].back().end;
    Seconds reduced = last + stage.exposedReduction, updated = update + stage.optimizer;
    updates.push_back(json::Array{microseconds(std::max(Seconds(0), reduced - stage.gradientReduction)), microseconds(reduced),
                                  microseconds(update), microseconds(updated), microseconds(updated + stage.exposedGather)});
  }
  return updates;
}

/// Actions as [kind, virtual stage, micro-batch, start, end], times in microseconds, per device; messages as [from, to, start, end].
static json::Value timelineJson(const ReportedPlan &plan) {
  llvm::Expected<ScheduleTimeline> timeline = stepTimeline(plan);
  if (!timeline) {
    llvm::consumeError(timeline.takeError());
    return nullptr;
  }
  size_t count = 0;
  for (const auto &device : timeline->devices)
    count += device.size();
  double kept = std::min(1.0, double(maxActions) / double(std::max<size_t>(1, count)));
  json::Array devices, messages;
  for (const auto &device : timeline->devices) {
    json::Array actions;
    for (size_t i = 0; i < size_t(double(device.size()) * kept + 0.5); ++i) {
      const TimedAction &timed = device[i];
      actions.push_back(json::Array{int(timed.action.kind), timed.action.stage, timed.action.microBatch, microseconds(timed.start),
                                    microseconds(timed.end)});
    }
    devices.push_back(std::move(actions));
  }
  for (size_t i = 0; i < size_t(double(timeline->messages.size()) * kept + 0.5); ++i) {
    const TimedMessage &message = timeline->messages[i];
    messages.push_back(json::Array{message.from, message.to, microseconds(message.start), microseconds(message.end)});
  }
  return json::Object{{"schedule", plan.detail.schedule->name},
                      {"end_us", microseconds(timeline->stepTime)},
                      {"complete", kept >= 1},
                      {"devices", std::move(devices)},
                      {"messages", std::move(messages)},
                      {"updates", updatesJson(plan, *timeline)}};
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
    data.getAsObject()->insert({"timeline", timelineJson(report.plans[0])});
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
