// Writes the timeline of a pipeline schedule as Chrome trace events.
#include "ppc/Scheduling/ScheduleDrawing.h"

#include "llvm/Support/raw_ostream.h"

#include <map>
#include <tuple>

namespace mlir::ppc {

namespace {
using Kind = PipelineActionKind;
enum Track { Compute, ForwardMessages, BackwardMessages };

class TraceWriter {
public:
  TraceWriter(const ScheduleTimeline &timeline, llvm::json::OStream &json) : timeline(timeline), json(json) {
    for (size_t device = 0; device < timeline.devices.size(); ++device)
      for (const TimedAction &timed : timeline.devices[device])
        starts[key(timed.action, timed.action.stage)] = timed.start;
  }

  void write() {
    for (size_t device = 0; device < timeline.devices.size(); ++device) {
      nameTracks(device);
      double kept = 0;
      for (const TimedAction &timed : timeline.devices[device]) {
        writeAction(device, timed);
        if (timed.action.kind == Kind::Backward)
          continue;
        bool isForward = timed.action.kind == Kind::Forward;
        kept += (isForward ? 1.0 : -1.0) / timeline.sliceCount;
        event("activations kept", "C", device, Compute, isForward ? timed.start : timed.end,
              [&] { json.attributeObject("args", [&] { json.attribute("chunks", kept); }); });
      }
    }
    for (size_t i = 0; i < timeline.messages.size(); ++i)
      writeMessage(i, timeline.messages[i]);
  }

private:
  static std::tuple<Kind, int64_t, int64_t, int64_t> key(const PipelineAction &action, int64_t stage) {
    return {action.kind, stage, action.microBatch, action.slice};
  }

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

  void nameTracks(int64_t device) {
    auto name = [&](llvm::StringRef what, int64_t track, const std::string &value) {
      event(what, "M", device, track, Seconds(0),
            [&] { json.attributeObject("args", [&] { json.attribute("name", value); }); });
    };
    name("process_name", 0, "pipeline rank " + std::to_string(device));
    name("thread_name", Compute, "compute");
    name("thread_name", ForwardMessages, "messages forward");
    name("thread_name", BackwardMessages, "messages backward");
  }

  void writeArguments(const PipelineAction &action) {
    json.attributeObject("args", [&] {
      json.attribute("stage", action.stage);
      json.attribute("micro_batch", action.microBatch);
      if (timeline.sliceCount > 1)
        json.attribute("slice", action.slice);
    });
  }

  void writeAction(int64_t device, const TimedAction &timed) {
    if (timed.end <= timed.start)
      return;
    event(drawnName(timeline, device, timed.action), "X", device, Compute, timed.start, [&] {
      json.attribute("cat", toString(timed.action.kind));
      json.attribute("dur", (timed.end - timed.start).value * 1e6);
      writeArguments(timed.action);
    });
  }

  void writeMessage(int64_t number, const TimedMessage &message) {
    if (message.end <= message.start)
      return;
    bool isForward = message.action.kind == Kind::Forward;
    int64_t track = isForward ? ForwardMessages : BackwardMessages;
    std::string name = drawnName(timeline, message.from, message.action) + " to " + std::to_string(message.to);
    event(name, "X", message.from, track, message.start, [&] {
      json.attribute("cat", "message");
      json.attribute("dur", (message.end - message.start).value * 1e6);
      writeArguments(message.action);
    });
    auto receiver = starts.find(key(message.action, message.action.stage + (isForward ? 1 : -1)));
    if (receiver == starts.end())
      return;
    auto arrow = [&](llvm::StringRef phase, int64_t device, int64_t onTrack, Seconds at) {
      event("message", phase, device, onTrack, at, [&] {
        json.attribute("cat", "message");
        json.attribute("id", number);
        if (phase == "f")
          json.attribute("bp", "e"); // ends at the action that encloses it
      });
    };
    arrow("s", message.from, track, message.start);
    arrow("f", message.to, Compute, receiver->second);
  }

  const ScheduleTimeline &timeline;
  llvm::json::OStream &json;
  std::map<std::tuple<Kind, int64_t, int64_t, int64_t>, Seconds> starts;
};
} // namespace

void writeScheduleEvents(const ScheduleTimeline &timeline, llvm::json::OStream &json) {
  TraceWriter(timeline, json).write();
}

std::string scheduleTrace(const ScheduleTimeline &timeline) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out);
  json.object([&] {
    json.attribute("displayTimeUnit", "ms");
    json.attributeArray("traceEvents", [&] { writeScheduleEvents(timeline, json); });
  });
  return text;
}

} // namespace mlir::ppc
