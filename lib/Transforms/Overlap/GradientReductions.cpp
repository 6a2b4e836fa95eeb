// Finds reductions of an update on unchanged buffers, and removes them from the update.
#include "GradientReductions.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ppc {

using namespace ppcrt;

/// The axes over which the work of micro-batches communicates.
static llvm::SmallDenseSet<Attribute> axesOfMicroBatches(DeviceOp device, const SymbolTable &functions) {
  llvm::SmallDenseSet<Attribute> used;
  for (auto routine : device.getBody().front().getOps<RoutineOp>())
    if (auto code =
            routine.isOfStep() ? func::FuncOp() : functions.lookup<func::FuncOp>(routine.getCodeAttr().getAttr()))
      code.walk([&](Operation *op) {
        llvm::TypeSwitch<Operation *>(op)
            .Case<ppc::AllReduceOp, ppc::AllGatherOp, ppc::ReduceScatterOp, ppc::AllToAllOp>(
                [&](auto collective) { used.insert(collective.getAxes()); });
      });
  return used;
}

/// Whether blocks are of dimension 0, all of one size: runs of elements, as actions scatter them.
static bool areRuns(ppc::ReduceScatterOp op) {
  auto whole = cast<RankedTensorType>(op.getX().getType()), block = cast<RankedTensorType>(op.getY().getType());
  if (op.getDim() != 0)
    return false;
  int64_t rows = whole.getDimSize(0), blockRows = block.getDimSize(0);
  return rows == blockRows * groupSize(op, op.getAxes(), rows, blockRows); // less: the last blocks are padded
}

SmallVector<GradientReduction> findReductions(RoutineOp update, func::FuncOp code, const SymbolTable &functions) {
  SmallVector<GradientReduction> found;
  DeviceOp device = update.getDevice();
  RoutineOp evaluate = device.routine(RoutineKind::Evaluate);
  llvm::SmallDenseSet<Attribute> busy = axesOfMicroBatches(device, functions);
  mlir::SymbolTable symbols(device);
  auto bufferAt = [&](ArrayAttr names, unsigned number) {
    return symbols.lookup<BufferOp>(cast<FlatSymbolRefAttr>(names[number]).getAttr());
  };
  llvm::SmallDenseSet<Attribute> reads(update.getReads().begin(), update.getReads().end());
  for (Operation &op : code.front()) {
    auto reduce = dyn_cast<ppc::AllReduceOp>(op);
    auto scatter = dyn_cast<ppc::ReduceScatterOp>(op);
    if (!reduce && !scatter)
      continue;
    auto argument = dyn_cast<BlockArgument>(op.getOperand(0));
    ArrayAttr axes = reduce ? reduce.getAxes() : scatter.getAxes();
    if (!argument || !argument.hasOneUse() || busy.contains(axes) || llvm::is_contained(axisNames(axes), "pp") ||
        (reduce ? reduce.getCombiner() : scatter.getCombiner()) != Combiner::Sum)
      continue;
    Attribute name = update.getReads()[argument.getArgNumber()];
    BufferOp from = bufferAt(update.getReads(), argument.getArgNumber()), to = from;
    if (!from.isSum() || (evaluate && llvm::is_contained(evaluate.getReads(), name)))
      continue;
    std::optional<unsigned> result;
    if (scatter) {
      auto returned =
          llvm::find_if(scatter.getY().getUses(), [](OpOperand &use) { return isa<func::ReturnOp>(use.getOwner()); });
      if (returned == scatter.getY().use_end() || !areRuns(scatter))
        continue;
      result = returned->getOperandNumber();
      to = bufferAt(update.getWrites(), *result);
      if (to.getRole() != BufferRole::Gradient || reads.contains(update.getWrites()[*result]))
        continue;
    }
    found.push_back({&op, reduce ? ppcrt::CollectiveKind::AllReduce : ppcrt::CollectiveKind::ReduceScatter, axes, from,
                     to, argument.getArgNumber(), result, tensorType(argument).getNumElements()});
  }
  return found;
}

void takeOut(const GradientReduction &reduction, RoutineOp update, func::FuncOp code) {
  BlockArgument argument = code.getArgument(reduction.argument);
  Value reduced = reduction.op->getResult(0);
  argument.setType(reduced.getType());
  reduced.replaceAllUsesWith(argument);
  reduction.op->erase();
  if (!reduction.result)
    return;
  code.setFunctionType(
      FunctionType::get(code.getContext(), code.front().getArgumentTypes(), code.getFunctionType().getResults()));
  code.setResultAttr(*reduction.result, attr::destination,
                     IntegerAttr::get(IntegerType::get(code.getContext(), 64), reduction.argument));
  SmallVector<Attribute> reads(update.getReads().getValue());
  reads[reduction.argument] = FlatSymbolRefAttr::get(BufferOp(reduction.to).getSymNameAttr());
  update.setReadsAttr(ArrayAttr::get(code.getContext(), reads));
}

} // namespace mlir::ppc
