// Recording, and the JSON form: "Trace Event Format" of Chrome, complete events ("X") with times in microseconds.
#include "runtime/metrics/Trace.h"
#include "runtime/base/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <set>
#include <unistd.h>

namespace ppcrt {
namespace {

constexpr const char *trackNames[] = {"steps", "computation", "waiting for communication"};

int64_t nanoseconds(double seconds) { return int64_t(seconds * 1e9); }

// What ranks hand over at a time.
struct Batch {
  static constexpr int64_t capacity = 2048;
  int64_t count;
  TraceSlice slices[capacity];
};
static_assert(sizeof(Batch) <= Transport::gatherLimit);

struct HostName {
  char text[64] = "";
};

// As the inside of a JSON string.
std::string escaped(const std::string &text) {
  std::string quoted = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::vector<std::string> groupNames(const Manifest &manifest) {
  std::vector<std::string> names;
  for (const GroupSpec &group : manifest.groups) {
    std::string name;
    for (int axis : group.axes)
      name += (name.empty() ? "" : "*") + manifest.grid.axes()[axis].name;
    names.push_back(escaped(name));
  }
  return names;
}

std::string sliceText(const TraceSlice &slice, int rank, int64_t origin, const std::vector<std::string> &groups) {
  std::string name, arguments = format("\"step\":%d", slice.step);
  if (slice.track == TraceSlice::Steps)
    name = format("step %d", slice.step);
  else
    name = slice.track == TraceSlice::Computation ? routineKindNames[slice.name] : communicationNames[slice.name];
  if (slice.microBatch >= 0)
    arguments += format(",\"micro_batch\":%d", slice.microBatch);
  if (slice.group >= 0) {
    name += " " + groups[slice.group];
    arguments += format(",\"group\":%d", slice.group);
  }
  if (slice.bytes > 0)
    arguments += format(",\"bytes\":%lld", (long long)slice.bytes);
  return format("{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\",\"args\":{%s}}", rank,
                int(slice.track), double(slice.begin - origin) * 1e-3, double(slice.end - slice.begin) * 1e-3,
                name.c_str(), arguments.c_str());
}

std::set<int> communicatingStreams(const Device &device) {
  std::set<int> result;
  for (const Repetition &part : device.step.parts)
    for (const Action &action : part.actions)
      if (!isOfRank(action.kind))
        result.insert(action.stream);
  return result;
}

void writeNames(const Manifest &manifest, const std::vector<HostName> &hosts, TraceFile &file) {
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    file.write(format("{\"ph\":\"M\",\"pid\":%zu,\"name\":\"process_name\",\"args\":{\"name\":\"%s on %s\"}}", rank,
                      escaped(manifest.grid.describe(int64_t(rank))).c_str(), escaped(hosts[rank].text).c_str()));
    file.write(
        format("{\"ph\":\"M\",\"pid\":%zu,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%zu}}", rank, rank));
    auto name = [&](int track, const std::string &text) {
      file.write(format("{\"ph\":\"M\",\"pid\":%zu,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}",
                        rank, track, text.c_str()));
    };
    for (int track = 0; track < TraceSlice::Streams; ++track)
      name(track, trackNames[track]);
    const Device &device = manifest.deviceOf(int64_t(rank));
    for (int stream : communicatingStreams(device))
      name(TraceSlice::Streams + stream, "stream " + escaped(device.streams[size_t(stream)]));
  }
}

} // namespace

void TraceRecorder::add(const TraceSlice &slice) {
  if (int64_t(recorded.size()) < limit)
    recorded.push_back(slice);
  else
    ++beyond;
}

void TraceRecorder::beginStep(int64_t now) {
  step = int32_t(now);
  stepBegin = ppcrt::now();
}

void TraceRecorder::endStep() {
  add({nanoseconds(stepBegin), nanoseconds(now()), 0, step, -1, -1, TraceSlice::Steps, 0});
}

void TraceRecorder::begin(const char *what, int64_t ofMicroBatch) {
  routine = 0;
  for (int kind = 0; kind < routineKindCount; ++kind)
    if (std::strcmp(what, routineKindNames[kind]) == 0)
      routine = int16_t(kind);
  microBatch = int32_t(ofMicroBatch);
  routineBegin = now();
}

void TraceRecorder::end() {
  add({nanoseconds(routineBegin), nanoseconds(now()), 0, step, microBatch, -1, TraceSlice::Computation, routine});
  microBatch = -1;
}

void TraceRecorder::communicated(const Communication &call, double begin, double end) {
  add({nanoseconds(begin), nanoseconds(end), call.bytes, step,
       call.microBatch >= 0 ? int32_t(call.microBatch) : microBatch, call.group, TraceSlice::Waiting,
       int16_t(call.kind)});
}

void TraceRecorder::carried(const Communication &call, int stream, double begin, double end) {
  add({nanoseconds(begin), nanoseconds(end), call.bytes, step, int32_t(call.microBatch), call.group,
       int16_t(TraceSlice::Streams + stream), int16_t(call.kind)});
}

void TraceFile::write(const std::string &event) {
  put((empty ? "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" : ",\n") + event);
  empty = false;
}

void TraceFile::put(const std::string &text) {
  if (!problem.empty())
    return;
  try {
    file.append(text);
  } catch (const InputError &error) {
    problem = error.what();
  }
}

std::string TraceFile::close() {
  put("\n]}\n");
  try {
    if (problem.empty())
      file.commit();
  } catch (const InputError &error) {
    problem = error.what();
  }
  return problem;
}

int64_t mergeTraces(const TraceRecorder &recorder, const Manifest &manifest, Transport &transport, TraceFile *file) {
  const std::vector<TraceSlice> &mine = recorder.slices();
  int64_t offset = transport.clockOffset(), ranks = transport.rankCount();
  bool first = transport.rank() == 0;
  // The largest of: slices, omitted slices, how early the first begins.
  int64_t largest[] = {int64_t(mine.size()), recorder.omitted(), -int64_t(INT64_MAX)};
  for (const TraceSlice &slice : mine)
    largest[2] = std::max(largest[2], -(slice.begin + offset));
  transport.allReduce(Transport::everyRank, largest, 3, DataType::I64, Reduction::Max);
  HostName host;
  gethostname(host.text, sizeof host.text - 1);
  std::vector<HostName> hosts(first ? ranks : 0);
  transport.gather(&host, sizeof host, hosts.data());
  if (first)
    writeNames(manifest, hosts, *file);
  std::vector<std::string> groups = groupNames(manifest);
  std::vector<Batch> own(1), all(first ? ranks : 0);
  for (int64_t begin = 0; begin < largest[0]; begin += Batch::capacity) {
    Batch &batch = own.front();
    batch.count = std::clamp<int64_t>(int64_t(mine.size()) - begin, 0, Batch::capacity);
    for (int64_t i = 0; i < batch.count; ++i) {
      batch.slices[i] = mine[begin + i];
      batch.slices[i].begin += offset;
      batch.slices[i].end += offset;
    }
    transport.gather(&batch, sizeof batch, all.data());
    for (int64_t rank = 0; rank < int64_t(all.size()); ++rank)
      for (int64_t i = 0; i < all[rank].count; ++i)
        file->write(sliceText(all[rank].slices[i], int(rank), -largest[2], groups));
  }
  if (first)
    if (std::string problem = file->close(); !problem.empty())
      std::fprintf(stderr, "warning: the trace is not written: %s\n", problem.c_str());
  return largest[1];
}

} // namespace ppcrt
