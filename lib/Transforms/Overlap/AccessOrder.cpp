// Checks that ops that access the same elements of buffers are in their original order.
#include "ppc/Transforms/Overlap/AccessOrder.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ppc {

AccessOrder::AccessOrder(Block &block) : block(block) {
  for (Operation &op : block) {
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(&op);
    for (const MemoryEffects::EffectInstance &effect : effects.value_or(SmallVector<MemoryEffects::EffectInstance>())) {
      bool isWrite = isa<MemoryEffects::Write>(effect.getEffect());
      Value buffer = effect.getValue();
      if ((!isWrite && !isa<MemoryEffects::Read>(effect.getEffect())) || !buffer ||
          !isa<BaseMemRefType>(buffer.getType()))
        continue;
      Value root = memref::skipViewLikeOps(cast<MemrefValue>(buffer));
      auto [begin, end] = ppcrt::elementsIn(buffer, root);
      accesses[root].push_back({spans.size(), begin, end, isWrite});
    }
    spans.push_back({&op, &op});
  }
}

void AccessOrder::replace(Operation *op, Operation *begin, Operation *end) {
  for (Span &span : spans)
    if (span.first == op)
      span = {begin, end};
}

LogicalResult AccessOrder::verify() const {
  DenseMap<Operation *, size_t> places;
  for (Operation &op : block)
    places[&op] = places.size();
  for (const auto &[buffer, touched] : accesses)
    for (const Access *earlier = touched.begin(); earlier != touched.end(); ++earlier)
      for (const Access *later = earlier + 1; later != touched.end(); ++later) {
        if (earlier->op == later->op || !(earlier->isWrite || later->isWrite) || earlier->begin >= later->end ||
            later->begin >= earlier->end)
          continue;
        Operation *first = spans[earlier->op].last, *second = spans[later->op].first;
        if (places.at(first) < places.at(second))
          continue;
        InFlightDiagnostic error = second->emitError("compiler fault: has moved before an op that it followed, and ")
                                   << (later->isWrite ? "writes" : "reads") << " memory that the other "
                                   << (earlier->isWrite ? "writes" : "reads");
        error.attachNote(first->getLoc()) << "this is the other op";
        return error;
      }
  return success();
}

} // namespace mlir::ppc
