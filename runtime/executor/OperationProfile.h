// How long each operation of a program that was compiled with --profile took, on this rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ppcrt {

struct Manifest;
class Transport;

class OperationProfile {
public:
  explicit OperationProfile(size_t operations) : seconds(operations), calls(operations) {}

  // The operation `next` begins, and with it the one before ends; -1: none begins.
  void begin(int64_t next);
  // One execution of it took so long, on a device whose clock the caller has read; -1: it was none.
  void add(int64_t operation, double elapsed);
  // Forgets what was noted so far.
  void restart();
  // A JSON object: "ranks", "steps", "seconds" of the steps on the first rank and, on average over the ranks,
  // "operations":
  // [{"name", "calls", "seconds", "flops" and "bytes" of one call}, ...]. All ranks call it; the first has a `path` to
  // write to. Throws InputError.
  void write(const Manifest &manifest, Transport &transport, const std::string &path, int64_t steps,
             double stepSeconds);

private:
  std::vector<double> seconds, calls;
  int64_t running = -1;
  double since = 0;
};

} // namespace ppcrt
