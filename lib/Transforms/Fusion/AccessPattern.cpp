#include "ppc/Transforms/Fusion/AccessPattern.h"

namespace mlir::ppc {

std::optional<AccessPattern> patternOf(linalg::LinalgOp op, OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return AccessPattern{0, SmallVector<int64_t>(op.getNumLoops(), 0)};
  AffineMap map = op.getMatchingIndexingMap(&operand);
  bool linear = true;
  for (AffineExpr result : map.getResults())
    result.walk([&](AffineExpr part) {
      linear &= part.getKind() != AffineExprKind::Mod && part.getKind() != AffineExprKind::FloorDiv &&
                part.getKind() != AffineExprKind::CeilDiv;
    });
  if (!linear)
    return std::nullopt;
  auto [strides, offset] = type.getStridesAndOffset();
  auto placeOf = [&, &strides = strides, offset = offset](ArrayRef<int64_t> loops) {
    int64_t place = offset;
    for (auto [number, stride] : llvm::zip(map.compose(loops), strides))
      place += number * stride;
    return place;
  };
  SmallVector<int64_t> loops(map.getNumDims(), 0);
  AccessPattern pattern;
  pattern.constant = placeOf(loops);
  for (int64_t &loop : loops) {
    loop = 1;
    pattern.steps.push_back(placeOf(loops) - pattern.constant);
    loop = 0;
  }
  return pattern;
}

bool isVector(const AccessPattern &pattern, ArrayRef<int64_t> sizes, unsigned dim, int64_t width) {
  if (pattern.steps[dim] != 1 || pattern.constant % width)
    return false;
  for (auto [loop, step] : llvm::enumerate(pattern.steps))
    if (loop != dim && sizes[loop] > 1 && step % width)
      return false;
  return true;
}

int64_t vectorWidth(linalg::LinalgOp op, unsigned dim) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  constexpr int64_t widestAccess = 16;
  int64_t width = widestAccess;
  SmallVector<AccessPattern> moving;
  for (OpOperand &operand : op->getOpOperands()) {
    auto pattern = patternOf(op, operand);
    if (!pattern)
      return 1;
    if (pattern->steps[dim] == 0)
      continue;
    int64_t bytes = llvm::divideCeil(getElementTypeOrSelf(operand.get()).getIntOrFloatBitWidth(), 8);
    width = std::min(width, widestAccess / bytes);
    moving.push_back(*pattern);
  }
  for (; width > 1; width /= 2)
    if (sizes[dim] % width == 0 &&
        llvm::all_of(moving, [&](const AccessPattern &pattern) { return isVector(pattern, sizes, dim, width); }))
      return width;
  return 1;
}

SmallVector<LoopSpan> mergeLoops(ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps) {
  SmallVector<LoopSpan> spans;
  if (llvm::all_of(llvm::zip(sizes, steps), [](auto loop) { return std::get<0>(loop) == 1 || std::get<1>(loop) == 0; }))
    return spans;
  for (auto [size, step] : llvm::zip(sizes, steps)) {
    if (size == 1)
      continue;
    if (!spans.empty() && spans.back().step == step * size)
      spans.back() = {spans.back().size * size, step};
    else
      spans.push_back({size, step});
  }
  return spans;
}

} // namespace mlir::ppc
