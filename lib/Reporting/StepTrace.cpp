// The replayed step as Chrome trace events. Times are microseconds; a process is a pipeline rank, a track one of its
// streams.
#include "ppc/Reporting/PlanReport.h"

#include <set>

using namespace mlir::ppc;

/// Viewers open files slowly that have more slices of single ops than this.
static constexpr int64_t opTasks = 60000;

namespace {
class TraceWriter {
public:
  TraceWriter(const ReportedPlan &plan, const SimulatedStep &step, llvm::raw_ostream &out)
      : plan(plan), step(step), json(out) {}

  void writeTracks() {
    std::set<std::pair<int32_t, int>> tracks;
    for (const SimulatedEvent &each : step.events)
      tracks.insert({each.device, int(each.stream)});
    for (size_t device = 0; device < step.devices.size(); ++device) {
      name("process_name", int64_t(device), 0, "pipeline rank " + std::to_string(device));
      for (int stream = 0; stream < simulatedStreamCount; ++stream)
        if (tracks.count({int32_t(device), stream}))
          name("thread_name", int64_t(device), stream, toString(SimulatedStream(stream)));
    }
  }

  void writeEvents() {
    int64_t arrows = 0;
    for (const SimulatedEvent &each : step.events) {
      writeSlice(each);
      if (each.kind == SimulatedKind::Message)
        writeArrow(each, arrows++);
    }
  }

  void writeMemory() {
    for (size_t device = 0; device < step.devices.size(); ++device)
      for (const MemoryPoint &point : step.devices[device].memory)
        event("memory", "C", int64_t(device), 0, point.time,
              [&] { json.attributeObject("args", [&] { json.attribute("bytes", point.bytes.value); }); });
  }

private:
  void event(llvm::StringRef name, llvm::StringRef phase, int64_t device, int64_t track, Seconds at,
             llvm::function_ref<void()> rest) {
    json.object([&] {
      json.attribute("name", name);
      json.attribute("ph", phase);
      json.attribute("pid", device);
      json.attribute("tid", track);
      json.attribute("ts", at.value * 1e6);
      rest();
    });
  }

  void name(llvm::StringRef what, int64_t device, int64_t track, llvm::StringRef value) {
    event(what, "M", device, track, Seconds(0),
          [&] { json.attributeObject("args", [&] { json.attribute("name", value); }); });
  }

  /// "F3" on the only chunk of a device, "F3b" on its second; else the op, or the kind of slice.
  std::string nameOf(const SimulatedEvent &each) const {
    if (each.op)
      return each.op->name.str();
    if (each.isWait)
      return each.stream == SimulatedStream::Compute ? "launches and copies" : "collectives";
    bool action = each.kind <= SimulatedKind::WeightGradient;
    if (each.stage < 0 || each.microBatch < 0 || (!action && each.kind != SimulatedKind::Message))
      return toString(each.kind).str();
    std::string text;
    if (action)
      text = "FBW"[int(each.kind)];
    else
      text = each.backward ? "B" : "F";
    text += std::to_string(each.microBatch);
    const auto &chunks = plan.detail.chunks[each.device];
    if (chunks.size() > 1 && chunks.size() <= 26)
      for (size_t i = 0; i < chunks.size(); ++i)
        if (chunks[i].stage == each.stage) {
          text += char('a' + i);
          break;
        }
    if (plan.detail.shape.slices > 1)
      text += "." + std::to_string(each.slice);
    if (!action)
      text += " to the " + std::string(each.backward ? "stage before" : "next stage");
    else if (each.stream == SimulatedStream::LayerCollectives)
      text += " collectives";
    else if (each.layer >= 0)
      text += " layer " + std::to_string(each.layer);
    return text;
  }

  void writeSlice(const SimulatedEvent &each) {
    Seconds start = each.start - each.beside;
    event(nameOf(each), "X", each.device, int64_t(each.stream), start, [&] {
      json.attribute("cat", toString(each.kind));
      json.attribute("dur", (each.end - start).value * 1e6);
      json.attributeObject("args", [&] {
        if (each.stage >= 0)
          json.attribute("stage", each.stage);
        if (each.microBatch >= 0)
          json.attribute("micro_batch", each.microBatch);
        if (plan.detail.shape.slices > 1 && each.microBatch >= 0)
          json.attribute("slice", each.slice);
        if (each.layer >= 0)
          json.attribute("layer", each.layer);
        if (each.again)
          json.attribute("recomputed", true);
        if (!each.op)
          return;
        // Numbers of forward; backward of a matmul is two of them.
        json.attribute("class", toString(each.op->kind));
        if (each.op->flops.value > 0)
          json.attribute("forward_flops", each.op->flops.value);
        if (each.op->traffic.value > 0)
          json.attribute("forward_bytes", each.op->traffic.value);
        if (each.op->saved.value > 0)
          json.attribute("kept_bytes", each.op->saved.value);
      });
    });
  }

  /// Writes an arrow from a send's end to the action that runs on the neighbour then.
  void writeArrow(const SimulatedEvent &each, int64_t number) {
    int64_t to = each.stage + (each.backward ? -1 : 1);
    for (size_t device = 0; device < plan.detail.chunks.size(); ++device)
      for (const PipelineChunk &chunk : plan.detail.chunks[device])
        if (chunk.stage == to && (plan.detail.schedule->replicas == 1) && int64_t(device) != each.device) {
          auto arrow = [&](llvm::StringRef phase, int64_t onDevice, int64_t track, Seconds at) {
            event("message", phase, onDevice, track, at, [&] {
              json.attribute("cat", "message");
              json.attribute("id", number);
              if (phase == "f")
                json.attribute("bp", "e"); // ends at the slice that encloses it
            });
          };
          arrow("s", each.device, int64_t(each.stream), each.start);
          arrow("f", int64_t(device), int64_t(SimulatedStream::Compute), each.end);
          return;
        }
  }

  const ReportedPlan &plan;
  const SimulatedStep &step;

public:
  llvm::json::OStream json;
};
} // namespace

llvm::Error mlir::ppc::writeTrace(const PlanReport &report, llvm::raw_ostream &out) {
  if (report.plans.empty())
    return llvm::createStringError("there is no plan to draw");
  const ReportedPlan &plan = report.plans[0];
  StepSimulationOptions options;
  options.keepEvents = true;
  options.opTasks = opTasks;
  llvm::Expected<SimulatedStep> step = replayStep(report, plan, options);
  if (!step)
    return step.takeError();
  TraceWriter writer(plan, *step, out);
  writer.json.object([&] {
    writer.json.attribute("displayTimeUnit", "ms");
    writer.json.attributeObject("otherData", [&] {
      writer.json.attribute("model", report.model.name);
      writer.json.attribute("cluster", report.cluster.name);
      writer.json.attribute("layout", toString(plan.layout));
      writer.json.attribute("step_time_s", step->stepTime.value);
      if (step->extrapolated)
        writer.json.attribute("shortened", "the trace shows a step of fewer micro-batches");
    });
    writer.json.attributeArray("traceEvents", [&] {
      writer.writeTracks();
      writer.writeEvents();
      writer.writeMemory();
    });
  });
  out << '\n';
  return llvm::Error::success();
}
