// Holds what a rank computes to given times: each piece of a routine (Emulation.h) ends so long after it began, however
// fast this machine is and whoever else uses it. The times are measured in the first steps, on the clock of the thread,
// or come from a file.
#pragma once

#include "runtime/executor/Emulation.h"
#include "runtime/executor/StreamCommunication.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace ppcrt {

class EmulatedBodies {
public:
  // Steps from the first of a run on that measure how long pieces take: the first of all touches memory.
  static constexpr int64_t calibrationSteps = 4;

  // Everything is borrowed. `cores`: of this machine. Every rank makes one.
  EmulatedBodies(const Emulation &emulation, const Manifest &manifest, Transport &transport,
                 StreamCommunication &communication, int cores);

  // Every rank calls it before each step. Throws InputError when bodies would be too short to be told apart from what
  // the system does beside them.
  void beginStep();
  // Whether the steps are still those that are measured.
  bool isCalibrating() const { return durations.empty(); }

  void beginRoutine(size_t routine);
  void endRoutine();
  // A piece ends: returns when its time has come, and lets communication on streams get on until then.
  void endPiece();
  void beginPiece();
  // In emulated time the rank has come to where it is at moment(); 0 while pieces are measured. What it waited for
  // ended at `other`, so it goes on no earlier.
  double moment() const { return isCalibrating() ? 0 : emulatedNow; }
  void arrive(double other) { emulatedNow = std::max(emulatedNow, other); }

  // Of all ranks together; every rank calls it.
  struct Lateness {
    int64_t late, all; // pieces
  };
  Lateness lateness() const;
  // Against this machine; 0 where the times are given.
  double slowdownOfBodies() const { return slowdown; }
  // [device][routine][piece], in seconds; after calibration.
  const std::vector<DeviceDurations> &allDurations() const { return durations; }

private:
  void agree();
  void choose();
  // The seconds of the forward or backward that takes least, and which that is.
  double shortestBody(std::string &which) const;

  const Emulation &emulation;
  const Manifest &manifest;
  Transport &transport;
  StreamCommunication &communication;
  int cores;
  size_t device;
  int64_t step = 0; // of those that this object has seen
  double slowdown = 0;
  double tolerance = 0;     // seconds after which a piece is late
  DeviceDurations measured; // the least so far
  std::vector<DeviceDurations> durations;
  size_t routine = 0, piece = 0;
  double pieceBegin = 0;  // on the clock of the thread while it is measured, else when it began in emulated time
  double emulatedNow = 0; // when the rank has come to where it is
  int64_t late = 0, pieces = 0;
};

} // namespace ppcrt
