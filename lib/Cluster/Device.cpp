#include "ppc/Cluster/Device.h"

using namespace mlir::ppc;

llvm::StringRef mlir::ppc::toString(Precision precision) {
  static constexpr llvm::StringRef names[] = {"f32", "tf32", "bf16", "fp16", "fp8", "mxfp8", "fp4"};
  return names[static_cast<int>(precision)];
}

double mlir::ppc::elementBytes(Precision precision) {
  static constexpr double bytes[] = {4, 4, 2, 2, 1, 1, 0.5};
  return bytes[static_cast<int>(precision)];
}
