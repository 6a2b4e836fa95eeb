// What the routines of a device execute: functions of this process, or what a GPU is told to do.
#pragma once

#include "runtime/executor/RankContext.h"
#include "runtime/include/ppcrt.h"
#include "runtime/program/Manifest.h"

#include <cstddef>
#include <vector>

namespace ppcrt {

class RoutineCode {
public:
  virtual ~RoutineCode() = default;
  // Runs routine `number` of the device as the rank of `context`, on one address for each of its buffers. It may return
  // before the device has done it: whoever reads the device's memory through DeviceMemory waits, and so does a
  // transport that is handed addresses. The array may be changed.
  virtual void run(RankContext &context, size_t number, void **buffers) = 0;
  // Waits for the device, and adds the times of what has been run for a context with a profile since the last call,
  // where the profile does not have them already.
  virtual void addTimes(OperationProfile &) {}
};

// Functions of the program, which have done everything when they return.
class HostFunctions final : public RoutineCode {
public:
  // Those of the routines of `device`, which checkEntries() has found.
  HostFunctions(const Device &device, const ppcrt_program &program);
  void run(RankContext &context, size_t number, void **buffers) override { functions[number](&context, buffers); }

private:
  std::vector<ppcrt_function> functions; // [routine]
};

// Throws InputError when the manifest names a function that the program does not have; and where the program has not
// the images and constants that a manifest for GPUs needs.
void checkEntries(const Manifest &manifest, const ppcrt_program &program);

} // namespace ppcrt
