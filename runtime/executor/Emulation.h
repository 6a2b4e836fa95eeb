// What `--emulate FILE` asks for: links of given rates, and bodies that take given times, so that ranks on one machine
// run as they would on many. docs/guide/Emulate.md describes the file.
#pragma once

#include "runtime/program/Manifest.h"

#include <string>
#include <vector>

namespace ppcrt {

// Communication over groups all of whose axes are among `axes` goes through it; messages are over "pp". Each rank has a
// port, or those share one that differ in axes of `sharedBy` only; a port sends and receives at the rate at the same
// time.
struct EmulatedLink {
  std::string name;
  std::vector<int> axes, sharedBy; // indices into the grid's axes
  double bytesPerSecond = 0;       // of a port, each way; above 0
  double latency = 0;              // seconds of each step of an algorithm
};

// Seconds that the pieces of a routine take: what runs from its beginning, or from the end of a call that communicates,
// to the next such call or early token, or to its end.
using Pieces = std::vector<double>;
using DeviceDurations = std::vector<Pieces>; // [routine]

struct Emulation {
  std::vector<EmulatedLink> links;
  double slowdown = 0;                    // of bodies against this machine; 0: as little as works
  std::vector<DeviceDurations> durations; // [device]; empty: measured in the first steps
};

// Reads and checks a file. Throws InputError that names the file and the key.
Emulation readEmulation(const std::string &path, const Manifest &manifest);

// The link of a group over these axes. There is one where the group has several members.
const EmulatedLink *linkOver(const Emulation &emulation, const std::vector<int> &axes);

// The text of a file with durations in it, as `--save-durations` writes it and "durations" of another one takes it.
std::string durationsText(const Manifest &manifest, double slowdown, const std::vector<DeviceDurations> &durations);

} // namespace ppcrt
