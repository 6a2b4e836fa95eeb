// What a rank does when, for `--trace`: slices of computation, of communication and of waiting for it, kept in memory
// while the run lasts and then written by the first rank into one file that Perfetto (ui.perfetto.dev) and
// chrome://tracing show.
#pragma once

#include "runtime/executor/PlanExecutor.h"
#include "runtime/executor/RankContext.h"
#include "runtime/files/File.h"

#include <string>
#include <vector>

namespace ppcrt {

// One slice. Ranks hand them to each other byte by byte.
struct TraceSlice {
  // What follows is one track for each stream of the device that communicates, in their order.
  enum Track : int16_t { Steps, Computation, Waiting, Streams };

  int64_t begin, end; // nanoseconds of the rank's monotonic clock
  int64_t bytes;      // that the call was given; 0: not said
  int32_t step;       // from 1
  int32_t microBatch; // -1: of none
  int32_t group;      // of a collective; -1: of none
  int16_t track;
  int16_t name; // index into routineKindNames or communicationNames
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
  void carried(const Communication &call, int stream, double begin, double end) override;

  const std::vector<TraceSlice> &slices() const { return recorded; }
  int64_t omitted() const { return beyond; }

private:
  void add(const TraceSlice &slice);

  int64_t limit, beyond = 0;
  std::vector<TraceSlice> recorded;
  int32_t step = 0, microBatch = -1; // of what runs
  int16_t routine = 0;
  double stepBegin = 0, routineBegin = 0;
};

// The file; the first rank opens it before training, so that a path that cannot be written is known at once.
class TraceFile {
public:
  // Throws InputError.
  explicit TraceFile(const std::string &path) : file(path) {}

  // One event: a JSON object. A failure is told by close().
  void write(const std::string &event);
  // Gives the file its name. Returns why it could not be written, or nothing; what was there before stays then.
  std::string close();

private:
  void put(const std::string &text);

  NewFile file;
  std::string problem;
  bool empty = true;
};

// Every rank calls it with what it has recorded; the first, which has the file, writes it all, on its own clock: a
// process for each rank, with tracks for steps, computation, what it waited in, and each stream that communicates.
// Times count from the first slice. Returns how many slices had no room in some recorder; warns when the file cannot be
// written.
int64_t mergeTraces(const TraceRecorder &recorder, const Manifest &manifest, Transport &transport, TraceFile *file);

} // namespace ppcrt
