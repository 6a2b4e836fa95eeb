// What a rank does when, for `--trace`: slices of computation and of communication, kept in memory while the run lasts
// and then written by the first rank into one file that Perfetto (ui.perfetto.dev) and chrome://tracing show.
#pragma once

#include "runtime/core/PlanExecutor.h"
#include "runtime/core/RankContext.h"

#include <cstdio>
#include <string>
#include <vector>

namespace ppcrt {

// One slice. Ranks hand them to each other byte by byte.
struct TraceSlice {
  enum class Track : int16_t { Steps, Computation, Communication };

  int64_t begin, end; // nanoseconds of the rank's monotonic clock
  int64_t bytes;      // that the call was given; 0: not said
  int32_t step;       // from 1
  int32_t microBatch; // -1: of none
  int32_t group;      // of a collective; -1: of none
  Track track;
  int16_t name; // index into functionKindNames or communicationNames
};

// Records on a rank.
class TraceRecorder final : public ExecutionObserver, public CommunicationObserver {
public:
  // Keeps at most `limit` slices: what comes later is counted only.
  explicit TraceRecorder(int64_t limit = int64_t(1) << 22) : limit(limit) {}

  void beginStep(int64_t step);
  void endStep();
  void begin(const char *what, int64_t microBatch) override;
  void end() override;
  void communicated(const Communication &call, double begin, double end) override;

  const std::vector<TraceSlice> &slices() const { return recorded; }
  int64_t omitted() const { return beyond; }

private:
  void add(const TraceSlice &slice);

  int64_t limit, beyond = 0;
  std::vector<TraceSlice> recorded;
  int32_t step = 0, microBatch = -1; // of what runs
  int16_t function = 0;
  double stepBegin = 0, functionBegin = 0;
};

// The file; the first rank opens it before training, so that a path that cannot be written is known at once.
class TraceFile {
public:
  // Throws InputError.
  explicit TraceFile(const std::string &path);
  ~TraceFile();
  TraceFile(const TraceFile &) = delete;
  TraceFile &operator=(const TraceFile &) = delete;

  // One event: a JSON object. Throws InputError.
  void write(const std::string &event);
  // Throws InputError when not everything could be written.
  void close();

private:
  void put(const std::string &text);

  std::string path;
  std::FILE *file;
  bool empty = true;
};

// Every rank calls it with what it has recorded; the first, which has the file, writes it all, on its own clock: a
// process for each rank, with tracks for steps, computation and communication. Times count from the first slice.
// Returns how many slices had no room in some recorder.
int64_t mergeTraces(const TraceRecorder &recorder, const Manifest &manifest, Transport &transport, TraceFile *file);

} // namespace ppcrt
