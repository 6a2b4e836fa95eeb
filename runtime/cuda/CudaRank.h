// All that a rank has on a GPU, made in the order in which it has to be there before the first step.
#pragma once

#include "runtime/base/Error.h"
#include "runtime/cuda/Bodies.h"
#include "runtime/cuda/CudaMemory.h"
#include "runtime/cuda/NcclTransport.h"
#include "runtime/cuda/StagedTransport.h"

#include <memory>
#include <optional>

namespace ppcrt::cuda {

struct CudaUse {
  bool sharesDevices;       // several ranks may use one GPU, and communicate through memory of the host
  bool makesGraphs;         // of routines, before the first step; false: each operation is issued by itself
  double hangTimeout = 300; // seconds for which communication or work of the GPU may not get on
};

class CudaRank {
public:
  // The rank of `host`, which is number `index` of those on this machine: they take its GPUs in turns. `mirror` is
  // memory of the host as long as the arena and a page, which `host` can send from. Everything is borrowed. Throws
  // InputError.
  CudaRank(const ppcrt_program &program, const Manifest &manifest, Transport &host, std::byte *mirror, int index,
           CudaUse use);

  // NCCL, where ranks do not share GPUs; else memory of the host.
  Transport &transport() { return connected ? static_cast<Transport &>(*connected) : staged; }
  DeviceMemory &memory() { return arena; }
  RoutineCode &code() { return *bodies; }
  // What has been taken of the GPU, by what.
  std::string describeMemory() const { return format("memory of GPU %d: ", device.number) + device.describeMemory(); }

private:
  Driver driver;
  CudaDevice device;
  std::unique_ptr<Communicators> communicators; // null: ranks share GPUs, or there is one
  std::unique_ptr<Bodies> bodies;
  CudaMemory arena;
  StagedTransport staged;
  CommunicationWatch watch;
  std::optional<NcclTransport> connected;
};

// What ranks of this machine with these arenas need of its GPUs: enough of them, unless ranks may share them, that can
// run the program, with enough memory. Throws InputError. It initializes the driver, which does not survive a fork.
void checkDevices(const ppcrt_program &program, const std::vector<int64_t> &arenaBytes, bool mayShare);

} // namespace ppcrt::cuda
