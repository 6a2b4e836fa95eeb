#include "ppc/KernelModel/KernelModel.h"

#include "ppc/Cluster/Device.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace mlir::ppc {
namespace {

constexpr int64_t warp = 32, schedulers = 4;
/// Registers are given to warps, and shared memory to blocks, in these units; a block has a KiB of the system's.
constexpr int64_t registerUnit = 256, sharedUnit = 128, sharedOfSystem = 1024;
constexpr double wantedShare = 0.9; // share of the rate of copies
/// Clocks of a load near saturation. An assumption: about twice the published time of single dependent loads.
constexpr double loadLatency = 1000;

/// Threads of a multiprocessor at once.
int64_t residentThreads(const KernelLaunch &launch, const GpuModel &gpu) {
  const GpuArchitecture &of = gpu.architecture;
  int64_t warps = llvm::divideCeil(launch.threads, warp);
  int64_t blocks = std::min(of.blocks, of.threads / (warps * warp));
  if (launch.registers) {
    int64_t perWarp = llvm::alignTo(launch.registers * warp, registerUnit);
    // Each scheduler has its own part of the register file.
    int64_t warpsThatFit = of.registers / schedulers / perWarp * schedulers;
    blocks = std::min(blocks, warpsThatFit / warps);
  }
  blocks = std::min<int64_t>(blocks, of.sharedBytes / llvm::alignTo(launch.sharedBytes + sharedOfSystem, sharedUnit));
  blocks = std::min<int64_t>(blocks, llvm::divideCeil(launch.blocks, gpu.multiprocessors));
  return std::max<int64_t>(blocks, 1) * launch.threads;
}

double tripsOf(const MachineKernel &kernel, const MachineLoop &loop, const KernelLaunch &launch) {
  double threads = double(launch.blocks * launch.threads), warps = threads / warp;
  MachineCounts rest = kernel.once();
  auto left = [](double all, int64_t outside, int64_t inside) {
    return std::max(1.0, (all - double(outside - inside)) / double(inside));
  };
  if (loop.counts.tensorFlops)
    return left(double(launch.flops) / warps, rest.tensorFlops, loop.counts.tensorFlops);
  if (loop.counts.storedBytes)
    return left(double(launch.bytesWritten) / threads, rest.storedBytes, loop.counts.storedBytes);
  if (loop.counts.loadedBytes)
    return left(double(launch.bytesRead) / threads, rest.loadedBytes, loop.counts.loadedBytes);
  return 1;
}

} // namespace

llvm::ArrayRef<GpuArchitecture> gpuArchitectures() {
  // Lanes by unit: tensor (by FLOP instead), f32 (and integer multiplications), integers, special functions, shared
  // memory (by bytes instead), global memory; CUDA C++ Programming Guide, "Throughput of Native Arithmetic
  // Instructions" and the compute capabilities' tables; white papers of A100, H100 and Blackwell.
  static const GpuArchitecture known[] = {
      {"sm_80", "A100-SXM-80GB", {0, 64, 64, 16, 0, 32, 0}, 128, 2048, 164 << 10},
      {"sm_90a", "H100-SXM-80GB", {0, 128, 64, 16, 0, 32, 0}, 128, 4096, 228 << 10},
      {"sm_100a", "B200", {0, 128, 64, 16, 0, 32, 0}, 128, 8192, 228 << 10},
  };
  return known;
}

double GpuModel::neededBytes() const { return wantedShare * bytesPerClock * loadLatency; }

llvm::Expected<GpuModel> gpuModel(llvm::StringRef name) {
  std::string names;
  for (const GpuArchitecture &known : gpuArchitectures()) {
    names += (names.empty() ? "" : ", ") + known.name.str();
    if (known.name != name)
      continue;
    llvm::Expected<Device> device = findDevice(known.device);
    if (!device)
      return device.takeError();
    GpuModel model{known, device->multiprocessors};
    double units = double(device->multiprocessors);
    model.clock = device->peakOf(Precision::Bf16).value / (units * known.tensorFlops);
    model.bytesPerClock = device->memoryBandwidth.value * device->memoryEfficiency / (units * model.clock);
    return model;
  }
  return llvm::createStringError("'" + name + "' is not an architecture with a kernel model, expected one of " + names);
}

KernelEstimate estimateKernel(const MachineKernel &kernel, const KernelLaunch &launch, const GpuModel &gpu) {
  KernelEstimate result;
  MachineCounts all = kernel.once();
  const MachineLoop *loop = kernel.mainLoop();
  if (loop)
    result.trips = tripsOf(kernel, *loop, launch);
  double warps = double(launch.blocks) * double(llvm::divideCeil(launch.threads, warp)) / double(gpu.multiprocessors);
  double issued = 0;
  auto executed = [&](int64_t once, int64_t inLoop) {
    return warps * (double(once) + (result.trips - 1) * double(inLoop));
  };
  for (int unit = 0; unit < machineUnitCount; ++unit) {
    double count = executed(all.byUnit[unit], loop ? loop->counts.byUnit[unit] : 0);
    issued += count;
    double lanes = gpu.architecture.lanes[unit], clocks = lanes ? count * warp / lanes : 0;
    if (MachineUnit(unit) == MachineUnit::Shared)
      clocks = executed(all.sharedBytes, loop ? loop->counts.sharedBytes : 0) / gpu.architecture.sharedRate;
    if (clocks > result.unitClocks)
      result.unitClocks = clocks, result.busiest = MachineUnit(unit);
  }
  result.issueClocks = issued / schedulers;
  if (all.tensorFlops)
    result.tensorClocks = double(launch.flops) / double(gpu.multiprocessors) / gpu.architecture.tensorFlops;
  double moved = double(launch.bytesRead + launch.bytesWritten);
  result.memoryClocks = moved / double(gpu.multiprocessors) / gpu.bytesPerClock;
  result.residentThreads = residentThreads(launch, gpu);
  result.bytesInFlight = double(kernel.bytesInFlight * result.residentThreads);
  result.bytesNeeded = moved > 0 ? gpu.neededBytes() * double(launch.bytesRead) / moved : 0;
  return result;
}

double issueShare(const MachineKernel &kernel, const GpuModel &gpu) {
  const MachineLoop *loop = kernel.mainLoop();
  MachineCounts counts = loop && loop->counts.loadedBytes + loop->counts.storedBytes ? loop->counts : kernel.once();
  double bytes = double(counts.loadedBytes + counts.storedBytes) * warp;
  return bytes > 0 ? double(counts.instructions()) / schedulers / (bytes / gpu.bytesPerClock) : 0;
}

TensorShares tensorShares(const MachineKernel &kernel, const GpuModel &gpu) {
  const MachineLoop *loop = kernel.mainLoop();
  if (!loop || !loop->counts.tensorFlops)
    return {};
  double clocks = double(loop->counts.tensorFlops) / gpu.architecture.tensorFlops;
  return {double(loop->counts.instructions()) / schedulers / clocks,
          double(loop->counts.sharedBytes) / gpu.architecture.sharedRate / clocks};
}

} // namespace mlir::ppc
