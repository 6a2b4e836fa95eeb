#include "ppc/KernelModel/AttentionDesign.h"

namespace mlir::ppc {

llvm::ArrayRef<AttentionDesign> publishedAttentionDesigns() {
  static const AttentionDesign designs[] = {{128, 128, 128}, {128, 176, 128}};
  return designs;
}

AttentionBounds boundsOf(const AttentionDesign &design, const GpuModel &gpu) {
  constexpr double rowsOfGroup = 64, schedulers = 4, warp = 32, ofScore = 4.5, bytes = 2;
  const GpuArchitecture &of = gpu.architecture;
  double queries = double(design.queries), keys = double(design.keys), dim = double(design.dim);
  AttentionBounds bounds;
  bounds.tensor = 4 * queries * keys * dim / of.tensorFlops;
  bounds.operands = queries / rowsOfGroup * bytes * dim * (rowsOfGroup + 2 * keys) / of.sharedRate;
  bounds.copies = 2 * bytes * dim * keys / of.sharedRate;
  bounds.special = queries * keys / of.lanes[int(MachineUnit::Special)];
  bounds.issue = (ofScore * queries * keys + queries * dim) / warp / schedulers;
  return bounds;
}

} // namespace mlir::ppc
