// Reads and writes of buffers.
#include "ppc/Transforms/Fusion/BufferAccess.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ppc {

Value rootBuffer(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view) && isa<BlockArgument>(view.getViewSource()))
      break; // an offset in the scratch
    buffer = view.getViewSource();
  }
  return buffer;
}

Value wholeBuffer(Value buffer) {
  while (Operation *shape = buffer.getDefiningOp()) {
    if (!isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(shape))
      break;
    buffer = shape->getOperand(0);
  }
  return buffer;
}

int64_t bufferBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.getNumElements() * int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

SmallVector<BufferAccess> accessesOf(Operation *op) {
  llvm::MapVector<Value, BufferAccess> found; // by buffer
  op->walk([&](Operation *inner) {
    auto memory = dyn_cast<MemoryEffectOpInterface>(inner);
    if (isa<ViewLikeOpInterface>(inner) || (inner->getNumRegions() == 0 && isMemoryEffectFree(inner)))
      return;
    for (Value operand : inner->getOperands()) {
      if (!isa<BaseMemRefType>(operand.getType()))
        continue;
      BufferAccess &access = found[wholeBuffer(operand)];
      access.root = rootBuffer(operand);
      access.buffer = wholeBuffer(operand);
      if (!memory && !inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) {
        access.reads = access.writes = true;
        continue;
      }
      SmallVector<MemoryEffects::EffectInstance> effects;
      if (memory)
        memory.getEffectsOnValue(operand, effects);
      for (MemoryEffects::EffectInstance &effect : effects) {
        access.reads |= isa<MemoryEffects::Read>(effect.getEffect());
        access.writes |= isa<MemoryEffects::Write>(effect.getEffect());
      }
    }
  });
  return llvm::map_to_vector(found, [](auto &entry) { return entry.second; });
}

/// True if `op` writes every element of `buffer`, which it does not read.
static bool overwrites(Operation *op, Value buffer) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return copy.getTarget() == buffer;
  auto loops = dyn_cast<linalg::LinalgOp>(op);
  return loops && llvm::any_of(loops.getDpsInitsMutable(), [&](OpOperand &out) {
           return out.get() == buffer && loops.getMatchingIndexingMap(&out).isProjectedPermutation();
         });
}

bool isLiveBehind(Value root, Operation *op) {
  if (!root.getDefiningOp<memref::AllocOp>())
    return true;
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode()) {
    if (isa<ViewLikeOpInterface>(next))
      continue;
    for (const BufferAccess &access : accessesOf(next))
      if (access.root == root)
        return access.reads || !overwrites(next, root);
  }
  return false;
}

} // namespace mlir::ppc
