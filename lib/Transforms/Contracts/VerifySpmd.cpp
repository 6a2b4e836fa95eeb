// ppc-verify-spmd: the program of one rank.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "ppc/Analysis/OpSharding.h"
#include "ppc/Transforms/Contracts/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_VERIFYSPMDPASS
#include "ppc/Transforms/Contracts/Passes.h.inc"

namespace {

struct VerifySpmdPass : impl::VerifySpmdPassBase<VerifySpmdPass> {
  void runOnOperation() override {
    PlanAttr plan = planOf(getOperation());
    if (!plan) {
      getOperation().emitError("has no ppc.plan: run ppc-make-plan first");
      return signalPassFailure();
    }
    grid = plan.getGrid();
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (auto [number, type] : llvm::enumerate(function.getArgumentTypes()))
        valid &= succeeded(verifyPlace(function, "argument", number, type, function.getArgAttr(number, attr::sharding),
                                       function.getArgAttr(number, attr::logicalType)));
      for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
        valid &= succeeded(verifyPlace(function, "result", number, type, function.getResultAttr(number, attr::sharding),
                                       function.getResultAttr(number, attr::logicalType)));
      function.walk([&](Operation *op) { valid &= succeeded(verifyOp(op)); });
    }
    if (!valid)
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verifyPlace(func::FuncOp function, StringRef what, unsigned number, Type type, Attribute stated,
                            Attribute logical) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return success();
    auto sharding = dyn_cast_or_null<ShardingAttr>(stated);
    auto logicalType = dyn_cast_or_null<TypeAttr>(logical);
    auto whole = logicalType ? dyn_cast<RankedTensorType>(logicalType.getValue()) : RankedTensorType();
    if (!sharding || !whole)
      return function.emitError() << what << " " << number
                                  << " needs ppc.sharding and ppc.logical_type: run ppc-partition-to-spmd";
    if (sharding.isPartial())
      return function.emitError() << what << " " << number << " is partial: " << sharding;
    if (int64_t(sharding.getDims().size()) != whole.getRank() || sharding.localType(whole, grid) != tensor)
      return function.emitError() << what << " " << number << " of type " << type << " is not a block of " << whole
                                  << " under " << sharding << " on " << grid;
    return success();
  }

  LogicalResult verifyAxes(Operation *op, ArrayAttr axes) {
    for (StringRef axis : axisNames(axes))
      if (axis != "pp" && grid.size(axis) < 2)
        return op->emitOpError() << "names axis \"" << axis << "\", which is not an axis of several devices of "
                                 << grid;
    return success();
  }

  /// `block` is one of as many blocks of `whole` as the group has devices.
  LogicalResult verifyBlock(Operation *op, Value whole, Value block, int64_t dim, ArrayAttr axes) {
    int64_t extent = tensorType(whole).getDimSize(dim), size = tensorType(block).getDimSize(dim),
            parts = grid.product(axes);
    if (blockSize(extent, parts) != size)
      return op->emitOpError() << "cuts " << extent << " elements over " << parts << " devices of " << axes
                               << " in blocks of " << size << ", expected " << blockSize(extent, parts);
    return success();
  }

  LogicalResult verifyOp(Operation *op) {
    if (isa<ReshardOp>(op))
      return op->emitOpError("is left: run ppc-partition-to-spmd");
    for (StringRef name : {attr::shardings, attr::operandShardings, attr::factors})
      if (op->hasAttr(name))
        return op->emitOpError() << "still has " << name << ": run ppc-partition-to-spmd";
    for (NamedAttribute attribute : op->getAttrs())
      if (auto block = dyn_cast<BlockAttr>(attribute.getValue()))
        if (failed(verifyAxes(op, block.getAxes())))
          return failure();
    if (auto axes = op->getAttrOfType<ArrayAttr>("axes"); axes && op->getDialect() && isa<PpcDialect>(op->getDialect()))
      if (failed(verifyAxes(op, axes)))
        return failure();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](AllGatherOp gather) {
          return verifyBlock(op, gather.getY(), gather.getX(), gather.getDim(), gather.getAxes());
        })
        .Case<ReduceScatterOp, LocalSliceOp>(
            [&](auto cut) { return verifyBlock(op, cut.getX(), cut.getY(), cut.getDim(), cut.getAxes()); })
        .Case([&](AllToAllOp exchange) {
          return verifyBlock(op, exchange.getX(), exchange.getY(), exchange.getSplitDim(), exchange.getAxes());
        })
        .Default([](Operation *) { return success(); });
  }

  GridAttr grid;
};

} // namespace
} // namespace mlir::ppc
