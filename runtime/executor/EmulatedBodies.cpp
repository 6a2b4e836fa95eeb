// Measuring, agreeing, waiting.
#include "runtime/executor/EmulatedBodies.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Error.h"

#include <algorithm>
#include <ctime>
#include <numeric>

namespace ppcrt {
namespace {

constexpr double leastBody = 5e-3; // seconds of a forward or backward
constexpr double mostLate = 0.03;  // of the shortest forward or backward: a piece is late that ends so much later
constexpr double pause = 5e-3;     // seconds between steps for which a rank did something else: a checkpoint, say

double threadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

bool isBody(RoutineKind kind) { return kind == RoutineKind::Forward || kind == RoutineKind::Backward; }

} // namespace

EmulatedBodies::EmulatedBodies(const Emulation &emulation, const Manifest &manifest, Transport &transport,
                               StreamCommunication &communication, int cores)
    : emulation(emulation), manifest(manifest), transport(transport), communication(communication), cores(cores),
      device(size_t(manifest.grid.stageOf(transport.rank()))), measured(manifest.devices[device].routines.size()),
      durations(emulation.durations) {
  std::string which;
  if (!isCalibrating())
    tolerance = mostLate * shortestBody(which);
}

void EmulatedBodies::beginStep() {
  if (step++ == calibrationSteps && isCalibrating()) {
    agree();
    choose();
  }
  if (double time = now(); !isCalibrating() && time - emulatedNow > pause)
    emulatedNow = time;
}

// The mean over the ranks of each device, whose code is the same.
void EmulatedBodies::agree() {
  size_t most = 0;
  for (const Device &other : manifest.devices)
    most = std::max(most, other.routines.size());
  std::vector<int64_t> counts(manifest.devices.size() * most);
  for (size_t r = 0; r < measured.size(); ++r)
    counts[device * most + r] = int64_t(measured[r].size());
  transport.allReduce(Transport::everyRank, counts.data(), int64_t(counts.size()), DataType::I64, Reduction::Max);
  std::vector<double> sums(size_t(std::accumulate(counts.begin(), counts.end(), int64_t(0))));
  size_t begin = size_t(std::accumulate(counts.begin(), counts.begin() + std::ptrdiff_t(device * most), int64_t(0)));
  for (const Pieces &pieces : measured)
    begin = size_t(std::copy(pieces.begin(), pieces.end(), sums.begin() + std::ptrdiff_t(begin)) - sums.begin());
  transport.allReduce(Transport::everyRank, sums.data(), int64_t(sums.size()), DataType::F64, Reduction::Sum);
  double ranksOfDevice = double(manifest.grid.rankCount()) / double(manifest.devices.size());
  auto next = sums.begin();
  for (size_t d = 0; d < manifest.devices.size(); ++d) {
    durations.emplace_back();
    for (size_t r = 0; r < manifest.devices[d].routines.size(); ++r) {
      durations.back().emplace_back(next, next + counts[d * most + r]);
      next += counts[d * most + r];
      for (double &seconds : durations.back().back())
        seconds /= ranksOfDevice;
    }
  }
}

double EmulatedBodies::shortestBody(std::string &which) const {
  double shortest = 1e30;
  for (size_t d = 0; d < durations.size(); ++d)
    for (size_t r = 0; r < durations[d].size(); ++r) {
      const Routine &known = manifest.devices[d].routines[r];
      double seconds = std::accumulate(durations[d][r].begin(), durations[d][r].end(), 0.0);
      if (!isBody(known.kind) || durations[d][r].empty() || seconds >= shortest)
        continue;
      shortest = seconds;
      which = known.entry;
    }
  return shortest;
}

void EmulatedBodies::choose() {
  std::string which;
  double shortest = shortestBody(which);
  double least = std::max(2.0 * double(manifest.grid.rankCount()) / cores, leastBody / shortest);
  if (emulation.slowdown > 0 && emulation.slowdown < least)
    throw InputError(format("--emulate: a slowdown of %g is too little for %lld ranks on %d cores, where \"%s\" takes "
                            "%.3g ms: give at least %.3g, or none",
                            emulation.slowdown, (long long)manifest.grid.rankCount(), cores, which.c_str(),
                            shortest * 1e3, least));
  slowdown = emulation.slowdown > 0 ? emulation.slowdown : least;
  for (DeviceDurations &routines : durations)
    for (Pieces &pieces : routines)
      for (double &seconds : pieces)
        seconds *= slowdown;
  tolerance = mostLate * slowdown * shortest;
}

void EmulatedBodies::beginRoutine(size_t number) {
  routine = number;
  piece = 0;
  beginPiece();
}

void EmulatedBodies::endRoutine() { endPiece(); }

void EmulatedBodies::beginPiece() {
  if (isCalibrating()) {
    pieceBegin = threadSeconds();
    return;
  }
  pieceBegin = emulatedNow;
}

void EmulatedBodies::endPiece() {
  size_t number = piece++;
  if (isCalibrating()) {
    double seconds = threadSeconds() - pieceBegin;
    Pieces &pieces = measured[routine];
    if (number >= pieces.size())
      pieces.push_back(seconds);
    else if (step > 1)
      pieces[number] = step == 2 ? seconds : std::min(pieces[number], seconds);
    return;
  }
  const Pieces &known = durations[device][routine];
  if (number >= known.size())
    throw InputError(format("--emulate: \"%s\" has more pieces than the %zu whose durations are known",
                            manifest.devices[device].routines[routine].entry.c_str(), known.size()));
  double deadline = pieceBegin + known[number];
  ++pieces;
  late += now() > deadline + tolerance;
  for (communication.carryOn(); now() < deadline; communication.carryOn())
    transport.waitAny(deadline);
  emulatedNow = deadline;
}

EmulatedBodies::Lateness EmulatedBodies::lateness() const {
  int64_t counts[] = {late, pieces};
  transport.allReduce(Transport::everyRank, counts, 2, DataType::I64, Reduction::Sum);
  return {counts[0], counts[1]};
}

} // namespace ppcrt
