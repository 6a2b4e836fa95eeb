// Collectives on tensors: verification.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppc/Ppc.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::ppc;

#define GET_OP_CLASSES
#include "dialects/ppc/IR/Collective.cpp.inc"

int64_t ppc::groupSize(Operation *op, ArrayAttr axes, int64_t whole, int64_t block) {
  auto module = op->getParentOfType<ModuleOp>();
  auto plan = module ? module->getAttrOfType<PlanAttr>(attr::plan) : PlanAttr();
  if (!plan)
    return block == 0 ? 1 : blockSize(whole, block);
  int64_t size = 1;
  for (StringRef axis : axisNames(axes))
    size *= axis == "pp" ? plan.getPipelineDevices() : plan.getGrid().size(axis);
  return size;
}

static LogicalResult verifyAxes(Operation *op, ArrayAttr axes) {
  llvm::StringSet<> seen;
  for (StringRef axis : axisNames(axes))
    if (!seen.insert(axis).second)
      return op->emitOpError() << "axis \"" << axis << "\" appears twice";
  if (axes.empty())
    return op->emitOpError("needs at least one axis");
  return success();
}

static LogicalResult verifyDim(Operation *op, int64_t dim, RankedTensorType type) {
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError() << "dim " << dim << " is not a dimension of " << type;
  return success();
}

// `block` is one of k blocks of `whole` along `dim`, for some k.
static LogicalResult verifyBlock(Operation *op, RankedTensorType whole, RankedTensorType block, int64_t dim) {
  if (failed(verifyDim(op, dim, whole)) || failed(verifyDim(op, dim, block)))
    return failure();
  int64_t extent = whole.getDimSize(dim), size = block.getDimSize(dim);
  SmallVector<int64_t> shape(whole.getShape());
  shape[dim] = size;
  bool fits = size >= 1 && extent >= 1 && block == withShape(whole, shape) &&
              blockSize(extent, blockSize(extent, size)) == size;
  if (!fits)
    return op->emitOpError() << block << " is not a block of " << whole << " along dimension " << dim;
  return success();
}

void AllReduceOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (llvm::is_contained(axisNames(getAxes()), "pp"))
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyAxes(*this, getAxes()))) // all_reduce_c1
    return failure();
  if (getStages() && !llvm::is_contained(axisNames(getAxes()), "pp")) // all_reduce_c2
    return emitOpError("stages go with the axis \"pp\" only");
  return success();
}

bool AllGatherOp::canRotate() {
  if (!(*this)->hasOneUse() || tensorType(getX()).getDimSize(getDim()) == 0)
    return false;
  auto product = dyn_cast<MatmulOp>(*(*this)->user_begin());
  int64_t whole = getType().getDimSize(getDim()), block = tensorType(getX()).getDimSize(getDim());
  // A matmul that is not a legal op itself is verified after this one.
  if (!product || !llvm::all_of(product->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ||
      whole != block * groupSize(*this, getAxes(), whole, block))
    return false;
  bool isLeft = product.getLhs() == getY();
  StringRef own = isLeft ? product.lhsLetters() : product.rhsLetters(),
            other = isLeft ? product.rhsLetters() : product.lhsLetters();
  if (getDim() >= own.size())
    return false;
  char letter = own[getDim()];
  return !(other.contains(letter) && product.resultLetters().contains(letter));
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyAxes(*this, getAxes())) ||                              // all_gather_c1
      failed(verifyBlock(*this, getType(), tensorType(getX()), getDim()))) // all_gather_c2
    return failure();
  if (getRotated() && !canRotate()) // all_gather_c3
    return emitOpError("cannot be a ring exchange: expected blocks of one size, and a matmul as its only use");
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  if (getCombiner() == Combiner::LogSumExp) // reduce_scatter_c3
    return emitOpError("combiner must be sum or max");
  return failure(failed(verifyAxes(*this, getAxes())) ||
                 failed(verifyBlock(*this, tensorType(getX()), getType(), getDim())));
}

LogicalResult LocalSliceOp::verify() {
  return failure(failed(verifyAxes(*this, getAxes())) ||
                 failed(verifyBlock(*this, tensorType(getX()), getType(), getDim())));
}

LogicalResult AllToAllOp::verify() {
  RankedTensorType from = tensorType(getX()), to = getType();
  int64_t split = getSplitDim(), concat = getConcatDim();
  if (failed(verifyAxes(*this, getAxes())) || failed(verifyDim(*this, split, from)) ||
      failed(verifyDim(*this, concat, from)))
    return failure();
  if (split == concat) // all_to_all_c1
    return emitOpError() << "splits and concatenates the same dimension " << split;
  SmallVector<int64_t> shape(from.getShape());
  int64_t parts =
      to.getRank() == from.getRank() && to.getDimSize(split) > 0 ? from.getDimSize(split) / to.getDimSize(split) : 0;
  shape[split] = parts ? shape[split] / parts : 0;
  shape[concat] *= parts;
  if (parts < 1 || from.getDimSize(split) % parts || to != withShape(from, shape)) // all_to_all_c2
    return emitOpError() << "cannot turn " << from << " into " << to << " by splitting dimension " << split
                         << " and concatenating dimension " << concat;
  return success();
}
