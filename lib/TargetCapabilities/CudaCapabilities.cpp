// What programs for GPUs run: a rank is a device (docs/guide/Layouts.md).
#include "ppc/TargetCapabilities/TargetCapabilities.h"

using namespace mlir::ppc;

const TargetCapabilities &mlir::ppc::cudaCapabilities() {
  // Partition is the same for all targets, and so are the layouts that it makes programs of.
  static const TargetCapabilities cuda = [] {
    TargetCapabilities target = hostCapabilities();
    target.name = "cuda";
    target.stack = "ppc-cuda";
    target.attention = AttentionKernel::Flash2;
    target.alignment = 256; // of cuMemAlloc, and what the widest copies ask for
    return target;
  }();
  return cuda;
}
