// Gradients in buckets.
#include "GradientBuckets.h"
#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::ppc::test {

using namespace ppcrt;

/// Takes out the all-reduces over "dp" of arguments of an update; the names of the buffers of these arguments. What an
/// evaluation reads too, the loss, stays as it is.
static SmallVector<Attribute> takeReductions(RoutineOp update, func::FuncOp code) {
  SmallVector<Attribute> buffers;
  RoutineOp evaluate = update.getDevice().routine(RoutineKind::Evaluate);
  for (AllReduceOp op : llvm::to_vector(code.getOps<AllReduceOp>())) {
    auto argument = dyn_cast<BlockArgument>(op.getX());
    if (!argument || axisNames(op.getAxes()) != ArrayRef<StringRef>{"dp"} || op.getCombiner() != Combiner::Sum)
      continue;
    Attribute buffer = update.getReads()[argument.getArgNumber()];
    if (evaluate && llvm::is_contained(evaluate.getReads(), buffer))
      continue;
    buffers.push_back(buffer);
    op.replaceAllUsesWith(argument);
    op.erase();
  }
  return buffers;
}

LogicalResult bucketGradients(ModuleOp module, int64_t count) {
  ProgramOp program = findProgram(module);
  Builder builder(module.getContext());
  FlatSymbolRefAttr group = findOrAddGroup(module, builder.getStrArrayAttr({"dp"}));
  for (DeviceOp device : program.getDevices()) {
    RoutineOp update = device.routine(RoutineKind::Update);
    auto code = update ? module.lookupSymbol<func::FuncOp>(update.getCode()) : func::FuncOp();
    SmallVector<Attribute> buffers = code ? takeReductions(update, code) : SmallVector<Attribute>();
    if (buffers.empty())
      return device.emitOpError("has no update that sums its gradients over \"dp\"");
    OpBuilder streams = OpBuilder::atBlockBegin(&device.getBody().front());
    StreamOp::create(streams, device.getLoc(), "dp_comm");
    auto run = *llvm::find_if(device.getStep().getBody().front().getOps<RunOp>(),
                              [&](RunOp run) { return run.getRoutineAttr().getAttr() == update.getSymNameAttr(); });
    Operation *last = run->getPrevNode(); // of what it adds up
    while (last && !isa<RunOp>(last))
      last = last->getPrevNode();
    OpBuilder at(run);
    SmallVector<Value> tokens(run.getAfter());
    size_t size = (buffers.size() + count - 1) / count;
    for (ArrayRef<Attribute> rest = buffers; !rest.empty(); rest = rest.drop_front(std::min(size, rest.size()))) {
      ArrayAttr bucket = builder.getArrayAttr(rest.take_front(size));
      auto collective =
          CollectiveOp::create(at, run.getLoc(), TypeRange{TokenType::get(module.getContext())},
                               CollectiveKindAttr::get(module.getContext(), CollectiveKind::AllReduce),
                               ReductionKindAttr::get(module.getContext(), ReductionKind::Sum), group, bucket, bucket,
                               IntegerAttr(), last ? ValueRange(last->getResults().back()) : ValueRange(),
                               FlatSymbolRefAttr::get(module.getContext(), "dp_comm"));
      tokens.push_back(collective->getResult(0));
    }
    run->setOperands(tokens);
  }
  return success();
}

} // namespace mlir::ppc::test
