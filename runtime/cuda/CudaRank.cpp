// Making a rank, and looking at the machine before.
#include "runtime/cuda/CudaRank.h"
#include "runtime/base/Error.h"

namespace ppcrt::cuda {

// Nothing else of a rank is there before all ranks have these.
static std::unique_ptr<Communicators> makeCommunicators(CudaDevice &device, const Manifest &manifest, Transport &host,
                                                        std::byte *mirror, bool share) {
  std::unique_ptr<Communicators> made;
  if (!share && host.rankCount() > 1)
    made = std::make_unique<Communicators>(device, manifest, host, mirror);
  if (made)
    device.nameMemory("communicators");
  host.barrier(Transport::everyRank);
  return made;
}

static std::unique_ptr<Bodies> makeBodies(CudaDevice &device, const ppcrt_program &program, const Manifest &manifest,
                                          const Device &own) {
  auto made = std::make_unique<Bodies>(device, program, manifest, own);
  device.nameMemory("kernels, constants and what products work in");
  return made;
}

CudaRank::CudaRank(const ppcrt_program &program, const Manifest &manifest, Transport &host, std::byte *mirror,
                   int index, CudaUse use)
    : device(driver, index % driver.deviceCount()),
      communicators(makeCommunicators(device, manifest, host, mirror, use.sharesDevices)),
      bodies(makeBodies(device, program, manifest, manifest.deviceOf(host.rank()))),
      arena(device, manifest.deviceOf(host.rank())), staged(host, arena, mirror),
      watch(device, communicators.get(), use.hangTimeout) {
  if (communicators)
    connected.emplace(device, *communicators, arena, staged, watch);
  RankContext context(transport());
  bodies->rehearse(context, arena);
  arena.renew();
  if (use.makesGraphs)
    bodies->makeGraphs(context, arena, manifest.microBatches);
  device.nameMemory("the arena and graphs");
}

void checkDevices(const ppcrt_program &program, const std::vector<int64_t> &arenaBytes, bool mayShare) {
  Driver driver;
  if (arenaBytes.size() > 1 && !mayShare)
    Nccl();
  int ranks = int(arenaBytes.size()), count = driver.deviceCount();
  if (ranks > count && !mayShare)
    throw InputError(
        format("%d ranks are to run on this machine, which has %d GPU%s: compile for fewer, or let several "
               "share one with --share-devices",
               ranks, count, count == 1 ? "" : "s"));
  for (int number = 0; number < std::min(ranks, count); ++number) {
    CudaDevice device(driver, number);
    if (program.image_count && imagesFor(program, device.architecture).empty())
      Kernels(device, program, {Kernel{"", 1, 1, 0, 0}}); // which says so
    int64_t needed = 0, sharing = 0;
    for (int rank = number; rank < ranks; rank += count, ++sharing)
      needed += arenaBytes[size_t(rank)];
    if (int64_t available = device.availableBytes(); needed > available)
      throw InputError(
          format("GPU %d (%s): the arenas of %lld rank%s need %s, and %s are free: compile for more GPUs, a "
                 "smaller micro-batch, or recomputation",
                 number, device.name.c_str(), (long long)sharing, sharing == 1 ? "" : "s",
                 formatBytes(double(needed)).c_str(), formatBytes(double(available)).c_str()));
  }
}

} // namespace ppcrt::cuda
