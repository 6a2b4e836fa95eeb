// Features of programs for GPUs: a rank is a device (docs/guide/Layouts.md).
#include "ppc/Target/TargetCapabilities.h"

using namespace mlir::ppc;

const TargetCapabilities &mlir::ppc::cudaCapabilities() {
  // Partition is the same for all targets, and so are the layouts that it makes programs of.
  static const TargetCapabilities cuda = [] {
    TargetCapabilities target = hostCapabilities();
    target.name = "cuda";
    target.stack = "ppc-cuda";
    target.attention = AttentionKernel::Flash2;
    target.alignment = 256; // alignment of cuMemAlloc, and of the widest copies
    return target;
  }();
  return cuda;
}
