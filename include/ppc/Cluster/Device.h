// One kind of accelerator (or host) as the cost model sees it: datasheet figures and measured constants. One YAML file per
// hardware in lib/Cluster/Devices says them with their sources; a cluster file may spell out its own.
#ifndef PPC_CLUSTER_DEVICE_H
#define PPC_CLUSTER_DEVICE_H

#include "ppc/Support/Units.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::ppc {

/// Element types that products run in. Sizes: elementBytes.
enum class Precision { F32, Tf32, Bf16, Fp16, Fp8, Mxfp8, Fp4 };
constexpr int precisionCount = 7;
llvm::StringRef toString(Precision precision);
double elementBytes(Precision precision);

/// Datasheet and measured constants of a device. Every time that kernels take is derived from these in
/// ppc/CostModel/KernelCost.h; no constant belongs to a model or a table of measurements.
struct Device {
  std::string name;  // "A100-SXM-80GB"
  std::string architecture; // "sm_80", "sm_90", "gfx942", "tpu-v5p", "x86-64": selects nothing, says what it is
  Bytes memory;                      // what the driver reports as total
  BytesPerSecond memoryBandwidth;    // datasheet
  int64_t multiprocessors = 0;       // units that a product's tiles are spread over
  std::array<FlopsPerSecond, precisionCount> peak; // dense datasheet peak by Precision; 0: not supported
  Seconds launchFloor;               // shortest time from one dependent kernel to the next on a busy stream

  // What a framework that issues kernels one by one costs the host per kernel, in forward (interpreted code) and in backward
  // (recorded graph). The device waits when its kernels are shorter.
  Seconds hostIssueForward = Seconds(9e-6), hostIssueBackward = Seconds(6e-6);
  // Share of the multiprocessors that the kernels of a collective occupy while they run beside compute, and by how much
  // compute slows them.
  double communicationShare = 0.12, communicationSlowdown = 0.05;
  // Memory that the driver, the libraries and the communicators take before the first tensor.
  Bytes frameworkMemory = Bytes(1.2e9);
};

} // namespace mlir::ppc

#endif // PPC_CLUSTER_DEVICE_H
