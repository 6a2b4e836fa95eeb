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

/// Element types that products run in. Sizes: elementBytes.
enum class Precision { F32, Tf32, Bf16, Fp16, Fp8, Mxfp8, Fp4 };
constexpr int precisionCount = 7;
llvm::StringRef toString(Precision precision);
double elementBytes(Precision precision);

/// Measured constants of products in one precision (formula: gemmTime).
struct ProductConstants {
  double tileRate = 0;  // rate of the inner loop of full tiles, as a share of the datasheet peak
  double sustained = 0; // the most that a whole product reaches of the peak in training, where power limits the clock
  double burst = 0;     // the same for one product after idling, at the highest clock
};

/// Measured constants of one fused attention kernel, at head dimensions 64, 128 and 256 (formula:
/// attentionForwardTime).
struct AttentionConstants {
  /// Rate of the inner loop, as a share of the 16-bit peak; 0: no such kernel.
  std::array<double, 3> forward{}, backward{};
  /// What one block of 128 queries (backward: keys) costs besides its loop.
  std::array<Seconds, 3> forwardBlock, backwardBlock;
};
/// The kernels that a device file may hold constants of. A device that lacks one uses the next older that it has.
enum class FusedAttention { Flash1, Flash2, Flash3, Cudnn, TritonFlash1 };
constexpr int fusedAttentionCount = 5;

/// Datasheet and measured constants of a device. Every time that kernels take is derived from these in
/// ppc/CostModel/KernelCost.h; no constant belongs to a model or a table of measurements.
struct Device {
  std::string name;               // "A100-SXM-80GB"
  std::string architecture;       // "sm_80", "sm_90", "gfx942", "tpu-v5p", "x86-64": selects nothing, says what it is
  Bytes memory;                   // what the driver reports as total
  BytesPerSecond memoryBandwidth; // datasheet
  double memoryEfficiency = 1;    // the share of it that large streams attain
  int64_t multiprocessors = 0;    // units that a product's tiles are spread over
  std::array<FlopsPerSecond, precisionCount> peak; // dense datasheet peak by Precision; 0: not supported
  Seconds launchFloor;      // shortest time from one dependent kernel to the next on a busy stream
  Seconds productFloor;     // what a product takes besides its tiles: launch and set-up
  Seconds splitFloor;       // what splitting a product over k adds besides its traffic
  Seconds tileFill;         // first loads of a tile, before its inner loop runs at full rate
  double exposedStores = 1; // share of a tile's stores that do not run beside the next tile's loop
  std::array<ProductConstants, precisionCount> products;
  std::array<AttentionConstants, fusedAttentionCount> attention;
  /// Whether predictions were compared with measured training steps on this device. Else its constants are those of
  /// other devices and of datasheets, and reports say so beside each time.
  bool measured = false;
  // Share of the attainable bandwidth that elementwise and normalising kernels of frameworks reach (they compute, index
  // and fill caches besides streaming).
  double elementwiseShare = 1;
  // What a collective costs besides its own time when ranks of a training job meet in it: they arrive apart, and the
  // streams of compute and communication wait for each other.
  Seconds collectiveMeeting = Seconds(0);
  // Collectives are measured back to back in loops; between the kernels of a step each one starts cold, on links and
  // caches that compute has just used. The share of the measured rate that is left.
  double collectiveShare = 1;
  // What a framework that issues kernels one by one costs the host per kernel, in forward (interpreted code) and in
  // backward (recorded graph). The device waits when its kernels are shorter.
  Seconds hostIssueForward = Seconds(9e-6), hostIssueBackward = Seconds(6e-6);
  // What a kernel takes longer when the host waits for it before it issues the next: launch, completion, and all that
  // an interpreter does between two kernels and otherwise does ahead.
  Seconds hostWait = Seconds(47e-6);
  // Share of the multiprocessors that the kernels of a collective occupy while they run beside compute, and the share
  // of its speed that a collective loses to compute.
  double communicationShare = 0.12, communicationSlowdown = 0.05;
  // Memory that the driver, the libraries and the communicators take before the first tensor.
  Bytes frameworkMemory = Bytes(1.2e9);

  const FlopsPerSecond &peakOf(Precision precision) const { return peak[static_cast<int>(precision)]; }
};

/// The device of one of the built-in files. Errors: unknown name (lists them).
llvm::Expected<Device> findDevice(llvm::StringRef name);
std::vector<llvm::StringRef> deviceNames();

/// A device from the mapping of a YAML file: `kind: NAME`, every number inline, or a kind and what differs from it
/// (docs/internals/CostModel.md lists the keys). Errors are recorded in the reader: unknown kind, unknown key, missing
/// or impossible number; what is returned then is not to be used.
Device readDevice(YamlReader &reader);
/// The same from text; `name` is what messages call it. Errors: `NAME:LINE:COLUMN: error: ...`.
llvm::Expected<Device> parseDevice(llvm::StringRef name, llvm::StringRef text);

} // namespace mlir::ppc

#endif // PPC_CLUSTER_DEVICE_H
