// The predicted step as Chrome trace events. Times are microseconds; a process is a device of the pipeline, with a track of
// compute and one of communication.
#include "ppc/Reporting/PlanReport.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir::ppc;

namespace {
enum Track { Compute, Communication };

class TraceWriter {
public:
  explicit TraceWriter(llvm::raw_ostream &out) : json(out) {}

  void nameDevice(int64_t device) {
    metadata("process_name", device, 0, llvm::formatv("pipeline device {0}", device).str());
    metadata("thread_name", device, Compute, "compute");
    metadata("thread_name", device, Communication, "communication");
  }

  void event(llvm::StringRef name, llvm::StringRef category, int64_t device, Track track, Seconds start, Seconds end,
             llvm::function_ref<void(llvm::json::OStream &)> arguments = nullptr) {
    if (end <= start)
      return;
    json.object([&] {
      json.attribute("name", name);
      json.attribute("cat", category);
      json.attribute("ph", "X");
      json.attribute("pid", device);
      json.attribute("tid", int64_t(track));
      json.attribute("ts", start.value * 1e6);
      json.attribute("dur", (end - start).value * 1e6);
      if (arguments)
        json.attributeObject("args", [&] { arguments(json); });
    });
  }

  llvm::json::OStream json;

private:
  void metadata(llvm::StringRef name, int64_t device, int64_t track, llvm::StringRef value) {
    json.object([&] {
      json.attribute("name", name);
      json.attribute("ph", "M");
      json.attribute("pid", device);
      json.attribute("tid", track);
      json.attributeObject("args", [&] { json.attribute("name", value); });
    });
  }
};
} // namespace

static void writeActions(const ScheduleTimeline &timeline, TraceWriter &writer) {
  for (size_t device = 0; device < timeline.devices.size(); ++device) {
    writer.nameDevice(int64_t(device));
    for (const TimedAction &timed : timeline.devices[device])
      writer.event(toString(timed.action), toString(timed.action.kind), int64_t(device), Compute, timed.start, timed.end,
                   [&](llvm::json::OStream &json) {
                     json.attribute("stage", timed.action.stage);
                     json.attribute("micro_batch", timed.action.microBatch);
                   });
  }
  for (const TimedMessage &message : timeline.messages)
    writer.event("send " + toString(message.action), "message", message.from, Communication, message.start, message.end,
                 [&](llvm::json::OStream &json) { json.attribute("to", message.to); });
}

/// What ends the step: gradients are reduced, parameters updated and gathered.
static void writeUpdate(const ReportedPlan &plan, const ScheduleTimeline &timeline, TraceWriter &writer) {
  const StepCost &cost = plan.cost;
  Seconds update = cost.stepTime - cost.optimizer;
  for (size_t device = 0; device < timeline.devices.size(); ++device) {
    const StageCost &stage = cost.stages[device];
    Seconds last = timeline.devices[device].empty() ? Seconds(0) : timeline.devices[device].back().end;
    Seconds reduced = last + stage.exposedReduction;
    writer.event("gradient reduction", "reduction", int64_t(device), Communication,
                 std::max(Seconds(0), reduced - stage.gradientReduction), reduced);
    Seconds updated = update + stage.optimizer;
    writer.event("optimizer", "optimizer", int64_t(device), Compute, update, updated);
    writer.event("parameter gather", "gather", int64_t(device), Communication, updated, updated + stage.exposedGather);
  }
}

void mlir::ppc::writeTrace(const PlanReport &report, llvm::raw_ostream &out) {
  TraceWriter writer(out);
  writer.json.object([&] {
    writer.json.attribute("displayTimeUnit", "ms");
    writer.json.attributeObject("otherData", [&] {
      writer.json.attribute("model", report.model.name);
      writer.json.attribute("cluster", report.cluster.name);
      if (!report.plans.empty())
        writer.json.attribute("layout", toString(report.plans[0].layout));
    });
    writer.json.attributeArray("traceEvents", [&] {
      if (report.plans.empty())
        return;
      llvm::Expected<ScheduleTimeline> timeline = stepTimeline(report.plans[0]);
      if (!timeline)
        return llvm::consumeError(timeline.takeError()); // the cost model timed the same schedule
      writeActions(*timeline, writer);
      writeUpdate(report.plans[0], *timeline, writer);
    });
  });
  out << '\n';
}
