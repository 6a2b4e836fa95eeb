//===- KernelModel.h - GPU resources of a launch ---------------------------===//
//
// Separate lower bounds on the time of a launch: instructions that its schedulers issue, work of its units, memory
// traffic; and whether enough bytes are in flight to keep memory busy. From machine code and published throughputs;
// nothing is run. Latencies, bank conflicts, partial waves and clocks under load are not modelled.
//
//===----------------------------------------------------------------------===//
#ifndef PPC_KERNELMODEL_KERNELMODEL_H
#define PPC_KERNELMODEL_KERNELMODEL_H

#include "ppc/KernelModel/MachineCode.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace mlir::ppc {

/// A multiprocessor of an architecture, and the device that stands for it.
struct GpuArchitecture {
  llvm::StringRef name, device;        // "sm_80", "A100-SXM-80GB"
  double lanes[machineUnitCount] = {}; // threads a clock by unit; 0: not limited by it alone
  double sharedRate = 128;             // bytes a clock
  double tensorFlops = 0;              // bf16, a clock, dense
  int64_t sharedBytes = 0;             // for blocks
  int64_t threads = 2048, blocks = 32, registers = 65536;
};

/// sm_80, sm_90a, sm_100a.
llvm::ArrayRef<GpuArchitecture> gpuArchitectures();

/// An architecture with the rates of its device.
struct GpuModel {
  GpuArchitecture architecture;
  int64_t multiprocessors = 0;
  double clock = 0;         // clock that the peak of bf16 matmuls implies
  double bytesPerClock = 0; // that a multiprocessor's share of large copies moves
  /// Bytes in flight that a multiprocessor needs to reach 90 % of that bandwidth.
  double neededBytes() const;
};
llvm::Expected<GpuModel> gpuModel(llvm::StringRef architecture);

struct KernelLaunch {
  int64_t blocks = 1, threads = 1; // threads of a block
  int64_t registers = 0, sharedBytes = 0;
  int64_t bytesRead = 0, bytesWritten = 0, flops = 0;
};

/// Estimate of a launch on one multiprocessor, if all multiprocessors share it evenly.
struct KernelEstimate {
  double trips = 1;       // mean number of iterations of the main loop
  double issueClocks = 0; // four schedulers, an instruction a clock each
  double unitClocks = 0;  // clocks of the busiest unit besides tensor cores
  MachineUnit busiest = MachineUnit::Other;
  double tensorClocks = 0; // clocks of the launch's operations at the peak
  double memoryClocks = 0; // clocks of its bytes at the rate of copies
  int64_t residentThreads = 0;
  double bytesInFlight = 0, bytesNeeded = 0; // bytes of loads; stores are not waited for
};

/// Estimates a launch. The number of iterations of the main loop follows from the launch's operations (with tensor
/// cores), its writes or its reads, without those of the code outside of the loop; other loops are counted once.
KernelEstimate estimateKernel(const MachineKernel &kernel, const KernelLaunch &launch, const GpuModel &gpu);

/// Instructions of a thread for as many bytes as it moves, over the clocks that those take: the share of issue in
/// memory's time, without knowing a launch. The main loop's where it moves anything.
double issueShare(const MachineKernel &kernel, const GpuModel &gpu);

/// Instructions that the steady loop of a kernel with tensor cores issues, and bytes it moves to and from shared
/// memory, over the clocks of its own matmuls. Zero without such a loop.
struct TensorShares {
  double issue = 0, shared = 0;
};
TensorShares tensorShares(const MachineKernel &kernel, const GpuModel &gpu);

} // namespace mlir::ppc

#endif // PPC_KERNELMODEL_KERNELMODEL_H
