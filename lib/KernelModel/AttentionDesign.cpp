#include "ppc/KernelModel/AttentionDesign.h"

namespace mlir::ppc {
namespace {

constexpr double issuedAtOnce = 4, threadsOfWarp = 32;

/// Warps of a block that execute the loops of a role, for one tile of keys each.
constexpr int64_t warpsThatRaise = 8, warpsThatScale = 4;
constexpr int64_t tilesOfQueries = 2, rowsOfTile = 128, keysOfTile = 128, depthOfProduct = 16;

/// The loop that has most of a unit; of several about the same, the shortest.
template <class Fits> const MachineLoop *loopWith(const MachineKernel &kernel, MachineUnit unit, Fits fits) {
  const MachineLoop *found = nullptr;
  for (const MachineLoop &loop : kernel.loops) {
    int64_t count = loop.counts.of(unit);
    if (!count || !fits(loop.counts))
      continue;
    int64_t most = found ? found->counts.of(unit) : 0;
    bool isShorter = found && loop.counts.instructions() < found->counts.instructions();
    if (2 * most < count || (most < 2 * count && isShorter))
      found = &loop;
  }
  return found;
}

void addTimes(MachineCounts &counts, const MachineLoop *loop, int64_t times) {
  for (int64_t i = 0; loop && i < times; ++i)
    counts += loop->counts;
}

} // namespace

llvm::ArrayRef<AttentionDesign> publishedAttentionDesigns(llvm::StringRef architecture) {
  static const AttentionDesign hopper[] = {{128, 128, 128, 64}, {128, 176, 128, 64}};
  static const AttentionDesign blackwell[] = {{256, 128, 128, 128}};
  if (architecture == "sm_90a")
    return hopper;
  return architecture == "sm_100a" ? llvm::ArrayRef(blackwell) : llvm::ArrayRef<AttentionDesign>();
}

AttentionBounds boundsOf(const AttentionDesign &design, const GpuModel &gpu) {
  constexpr double ofScore = 4.5, bytes = 2;
  const GpuArchitecture &of = gpu.architecture;
  double queries = double(design.queries), keys = double(design.keys), dim = double(design.dim);
  AttentionBounds bounds;
  bounds.tensor = 4 * queries * keys * dim / of.tensorFlops;
  bounds.operands = queries / double(design.rows) * bytes * dim * (double(design.rows) + 2 * keys) / of.sharedRate;
  bounds.copies = 2 * bytes * dim * keys / of.sharedRate;
  bounds.special = queries * keys / of.lanes[int(MachineUnit::Special)];
  bounds.issue = (ofScore * queries * keys + queries * dim) / threadsOfWarp / issuedAtOnce;
  return bounds;
}

std::optional<TensorMemoryAttention> tensorMemoryAttention(const MachineKernel &kernel) {
  auto any = [](const MachineCounts &) { return true; };
  const MachineLoop *multiplies = loopWith(kernel, MachineUnit::Tensor, any);
  if (!multiplies || multiplies->counts.tensorFlops)
    return std::nullopt;
  const MachineLoop *raises = loopWith(kernel, MachineUnit::Special, any);
  const MachineLoop *scales = loopWith(kernel, MachineUnit::Float, [](const MachineCounts &counts) {
    return !counts.of(MachineUnit::Special) && !counts.of(MachineUnit::Tensor) && !counts.of(MachineUnit::Global);
  });
  const MachineLoop *copies = loopWith(kernel, MachineUnit::Global, [](const MachineCounts &counts) {
    return !counts.of(MachineUnit::Special) && !counts.of(MachineUnit::Tensor);
  });
  int64_t products = multiplies->counts.of(MachineUnit::Tensor) / tilesOfQueries - keysOfTile / depthOfProduct;
  if (!raises || !scales || products <= 0) // a launch over few tiles, without a separate loop
    return std::nullopt;
  TensorMemoryAttention result{{tilesOfQueries * rowsOfTile, keysOfTile, products * depthOfProduct, rowsOfTile}, {}};
  addTimes(result.counts, raises, warpsThatRaise);
  addTimes(result.counts, scales, warpsThatScale);
  addTimes(result.counts, multiplies, 1);
  addTimes(result.counts, copies, 1);
  return result;
}

AttentionBounds boundsOf(const TensorMemoryAttention &kernel, const GpuModel &gpu) {
  const GpuArchitecture &of = gpu.architecture;
  AttentionBounds bounds = boundsOf(kernel.design, gpu);
  bounds.operands += double(kernel.counts.sharedBytes) / of.sharedRate;
  bounds.special = double(kernel.counts.of(MachineUnit::Special)) * threadsOfWarp / of.lanes[int(MachineUnit::Special)];
  bounds.issue = double(kernel.counts.instructions()) / issuedAtOnce;
  return bounds;
}

} // namespace mlir::ppc
