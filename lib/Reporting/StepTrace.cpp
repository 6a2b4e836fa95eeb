// The predicted step as Chrome trace events. Times are microseconds; a process is a device of the pipeline, with tracks of
// compute, messages and collectives.
#include "ppc/Reporting/PlanReport.h"
#include "ppc/Scheduling/ScheduleDrawing.h"

using namespace mlir::ppc;

namespace {
enum Track { Compute, Collectives = 3 }; // between them: messages (writeScheduleEvents)

class TraceWriter {
public:
  explicit TraceWriter(llvm::raw_ostream &out) : json(out) {}

  void nameCollectives(int64_t device) {
    json.object([&] {
      json.attribute("name", "thread_name");
      json.attribute("ph", "M");
      json.attribute("pid", device);
      json.attribute("tid", int64_t(Collectives));
      json.attributeObject("args", [&] { json.attribute("name", "collectives"); });
    });
  }

  void event(llvm::StringRef name, llvm::StringRef category, int64_t device, Track track, Seconds start, Seconds end) {
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
    });
  }

  llvm::json::OStream json;
};
} // namespace

/// What ends the step: gradients are reduced, parameters updated and gathered.
static void writeUpdate(const ReportedPlan &plan, const ScheduleTimeline &timeline, TraceWriter &writer) {
  const StepCost &cost = plan.cost;
  Seconds update = cost.stepTime - cost.optimizer;
  for (size_t device = 0; device < timeline.devices.size(); ++device) {
    writer.nameCollectives(int64_t(device));
    const StageCost &stage = cost.stages[device];
    Seconds last = timeline.devices[device].empty() ? Seconds(0) : timeline.devices[device].back().end;
    Seconds reduced = last + stage.exposedReduction;
    writer.event("gradient reduction", "reduction", int64_t(device), Collectives,
                 std::max(Seconds(0), reduced - stage.gradientReduction), reduced);
    Seconds updated = update + stage.optimizer;
    writer.event("optimizer", "optimizer", int64_t(device), Compute, update, updated);
    writer.event("parameter gather", "gather", int64_t(device), Collectives, updated, updated + stage.exposedGather);
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
      writeScheduleEvents(*timeline, writer.json);
      writeUpdate(report.plans[0], *timeline, writer);
    });
  });
  out << '\n';
}
