// From ppc.reshard to collectives, step by step as the reshard planner says.
#include "mlir/IR/Builders.h"
#include "ppc/Analysis/ReshardCost.h"
#include "ppc/Transforms/Sharding/SpmdRewriter.h"

namespace mlir::ppc {

LogicalResult SpmdRewriter::rewriteReshard(ReshardOp op) {
  Value from = op.getX();
  LogicalValue source = values[from];
  llvm::Expected<const ReshardPlan *> plan = plans.find(source.type, source.sharding, op.getTo());
  if (!plan)
    return op.emitOpError() << llvm::toString(plan.takeError());
  OpBuilder builder(op);
  Value value = from;
  Layout before = toLayout(source.sharding, grid);
  SmallVector<bool> zeroPadding = source.zeroPadding;
  Operation *previous = op->getPrevNode();
  for (const ReshardStep &step : (*plan)->steps) {
    value = lower(builder, op.getLoc(), value, step, source.type, before, zeroPadding);
    before = step.result;
  }
  for (Operation *created = previous ? previous->getNextNode() : &op->getBlock()->front(); created != op;
       created = created->getNextNode())
    for (StringRef name : {attr::part, attr::layer, attr::slice, attr::stage})
      if (Attribute attribute = op->getAttr(name))
        created->setAttr(name, attribute);
  LogicalValue target = source;
  target.sharding = op.getTo();
  target.zeroPadding = zeroPadding;
  values[value] = target;
  op.getY().replaceAllUsesWith(value);
  op.erase();
  return success();
}

Value SpmdRewriter::lower(OpBuilder &builder, Location loc, Value value, const ReshardStep &step,
                          RankedTensorType logical, const Layout &before, SmallVectorImpl<bool> &zeroPadding) {
  std::vector<LayoutAxis> all = layoutAxes(grid);
  SmallVector<StringRef> names = llvm::map_to_vector(step.axes, [&](int axis) { return StringRef(all[axis].name); });
  ArrayAttr axes = builder.getStrArrayAttr(names);
  Type result = withShape(logical, localShape(logical.getShape(), step.result, all));
  CombinerAttr combiner = CombinerAttr::get(builder.getContext(), step.combiner);
  auto dim = [&](int64_t number) { return builder.getI64IntegerAttr(number); };
  switch (step.kind) {
  case ReshardKind::AllReduce:
    if (step.combiner == Combiner::LogSumExp) // zeros do not combine to zero
      for (auto [number, list] : llvm::enumerate(step.result.dims))
        zeroPadding[number] = zeroPadding[number] && logical.getDimSize(number) % groupSize(list, all) == 0;
    return AllReduceOp::create(builder, loc, result, value, axes, combiner, DenseI64ArrayAttr());
  case ReshardKind::ReduceScatter:
    zeroPadding[step.dim] = true;
    return ReduceScatterOp::create(builder, loc, result, value, dim(step.dim), axes, combiner);
  case ReshardKind::AllGather:
    zeroPadding[step.dim] = true;
    return AllGatherOp::create(builder, loc, result, value, dim(step.dim), axes);
  case ReshardKind::Slice:
    zeroPadding[step.dim] = true;
    return LocalSliceOp::create(builder, loc, result, value, dim(step.dim), axes);
  case ReshardKind::AllToAll: {
    RankedTensorType from = tensorType(value), to = cast<RankedTensorType>(result);
    int64_t parts = groupSize(step.axes, all);
    bool isEven = from.getDimSize(step.dim) == to.getDimSize(step.dim) * parts &&
                  to.getDimSize(step.fromDim) == from.getDimSize(step.fromDim) * parts;
    zeroPadding[step.dim] = zeroPadding[step.fromDim] = true;
    if (isEven)
      return AllToAllOp::create(builder, loc, result, value, dim(step.dim), dim(step.fromDim), axes);
    SmallVector<int64_t> whole(from.getShape()); // uneven blocks: gather, then cut
    whole[step.fromDim] = to.getDimSize(step.fromDim);
    Value gathered = AllGatherOp::create(builder, loc, withShape(logical, whole), value, dim(step.fromDim), axes);
    return LocalSliceOp::create(builder, loc, result, gathered, dim(step.dim), axes);
  }
  }
  llvm_unreachable("a kind of reshard step");
}

} // namespace mlir::ppc
