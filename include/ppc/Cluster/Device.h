// One kind of accelerator (or host) as the cost model sees it: datasheet figures and measured constants. One YAML file
// per hardware in lib/Cluster/Devices says them with their sources; a cluster file may spell out its own.
#ifndef PPC_CLUSTER_DEVICE_H
#define PPC_CLUSTER_DEVICE_H

#include "ppc/Support/Units.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mlir::ppc {

class YamlReader;

/// Element types of matmuls. Sizes: elementBytes.
enum class Precision { F32, Tf32, Bf16, Fp16, Fp8, Mxfp8, Fp4 };
constexpr int precisionCount = 7;
llvm::StringRef toString(Precision precision);
double elementBytes(Precision precision);

/// Measured constants of matmuls in one precision (formula: gemmTime).
struct ProductConstants {
  double tileRate = 0;  // rate of the inner loop of full tiles, as a share of the datasheet peak
  double sustained = 0; // largest share of the peak that a matmul reaches in training, where power limits the clock
  double burst = 0;     // largest share of the peak of one matmul after idling, at the highest clock
};

/// Measured constants of one fused attention kernel, at head dimensions 64, 128 and 256 (formula:
/// attentionForwardTime).
struct AttentionConstants {
  /// Rate of the inner loop, as a share of the 16-bit peak; 0: no such kernel.
  std::array<double, 3> forward{}, backward{};
  /// Time of one block of 128 queries (backward: keys) besides its loop.
  std::array<Seconds, 3> forwardBlock, backwardBlock;
};
/// The kernels that a device file may hold constants of. A device that lacks one uses the next older that it has.
enum class FusedAttention { Flash1, Flash2, Flash3, Cudnn, TritonFlash1 };
constexpr int fusedAttentionCount = 5;

/// Datasheet and measured constants of a device. Every time that kernels take is derived from these in
/// ppc/CostModel/KernelCost.h; no constant belongs to a model or a table of measurements.
struct Device {
  std::string name;               // "A100-SXM-80GB"
  std::string architecture;       // "sm_80", "sm_90", "gfx942", "tpu-v5p", "x86-64": descriptive, selects nothing
  Bytes memory;                   // total memory that the driver reports
  BytesPerSecond memoryBandwidth; // datasheet
  double memoryEfficiency = 1;    // the share of it that large streams attain
  int64_t multiprocessors = 0;    // units that the tiles of a matmul are spread over
  std::array<FlopsPerSecond, precisionCount> peak; // dense datasheet peak by Precision; 0: not supported
  Seconds launchFloor;      // shortest time from one dependent kernel to the next on a busy stream
  Seconds productFloor;     // time of a matmul besides its tiles: launch and set-up
  Seconds splitFloor;       // added time of a matmul that is split over k, besides its traffic
  Seconds tileFill;         // first loads of a tile, before its inner loop runs at full rate
  double exposedStores = 1; // share of a tile's stores that does not overlap with the next tile's loop
  std::array<ProductConstants, precisionCount> products;
  std::array<AttentionConstants, fusedAttentionCount> attention;
  /// Whether predictions were compared with measured training steps on this device. Otherwise constants come from other
  /// devices and datasheets, and reports add that to each time.
  bool measured = false;
  // Share of the attainable bandwidth that elementwise and normalising kernels of frameworks reach (they compute, index
  // and fill caches besides streaming).
  double elementwiseShare = 1;
  // Synchronization delay of a collective in a training job, besides its own time: ranks arrive at different times, and
  // the compute and communication streams wait for each other.
  Seconds collectiveMeeting = Seconds(0);
  // Collectives are measured back to back in loops; between the kernels of a step each one starts cold, on links and
  // caches that compute has just used. The share of the measured rate that is left.
  double collectiveShare = 1;
  // Host time per kernel of a framework that issues kernels one by one, in forward (interpreted code) and in backward
  // (recorded graph). The device waits when its kernels are shorter.
  Seconds hostIssueForward = Seconds(9e-6), hostIssueBackward = Seconds(6e-6);
  // Extra time of a kernel if the host waits for it before it issues the next: launch, completion, and the work that an
  // interpreter does between two kernels and otherwise does ahead.
  Seconds hostWait = Seconds(47e-6);
  // Share of the multiprocessors that the kernels of a collective occupy while they overlap with compute, and the share
  // of its speed that a collective loses to compute.
  double communicationShare = 0.12, communicationSlowdown = 0.05;
  // Memory that the driver, the libraries and the communicators take before the first tensor.
  Bytes frameworkMemory = Bytes(1.2e9);

  const FlopsPerSecond &peakOf(Precision precision) const { return peak[static_cast<int>(precision)]; }
};

/// The device of one of the built-in files. Errors: unknown name (lists them).
llvm::Expected<Device> findDevice(llvm::StringRef name);
std::vector<llvm::StringRef> deviceNames();

/// Reads a device from the mapping of a YAML file: `kind: NAME`, every number inline, or a kind and the numbers that
/// differ from it (docs/internals/CostModel.md lists the keys). Errors are recorded in the reader: unknown kind,
/// unknown key, missing or impossible number; the result is then invalid.
Device readDevice(YamlReader &reader);
/// Overload for text; `name` is the file name in messages. Errors: `NAME:LINE:COLUMN: error: ...`.
llvm::Expected<Device> parseDevice(llvm::StringRef name, llvm::StringRef text);

} // namespace mlir::ppc

#endif // PPC_CLUSTER_DEVICE_H
