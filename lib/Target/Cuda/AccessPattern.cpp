#include "AccessPattern.h"

namespace mlir::ppc::cuda {

std::optional<AccessPattern> patternOf(linalg::GenericOp generic, OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return AccessPattern{0, SmallVector<int64_t>(generic.getNumLoops(), 0)};
  AffineMap map = generic.getMatchingIndexingMap(&operand);
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

int64_t vectorWidth(linalg::GenericOp generic, unsigned dim) {
  SmallVector<int64_t> sizes = generic.getStaticLoopRanges();
  constexpr int64_t widestAccess = 16;
  int64_t width = widestAccess;
  SmallVector<AccessPattern> moving;
  for (OpOperand &operand : generic->getOpOperands()) {
    auto pattern = patternOf(generic, operand);
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

} // namespace mlir::ppc::cuda
