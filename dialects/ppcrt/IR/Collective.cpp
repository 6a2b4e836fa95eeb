// Communication: verification, and effects that keep every collective in its place on every rank.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ppcrt;

#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Collective.cpp.inc"

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

// A collective synchronizes with other ranks even if its value is not used: on tensors, too, it must stay, and in
// its order. One resource stands for the outside world.
namespace {
struct Communication : SideEffects::Resource::Base<Communication> {
  StringRef getName() final { return "Communication"; }
};
} // namespace

void ppcrt::addCommunicationEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), Communication::get());
  effects.emplace_back(MemoryEffects::Write::get(), Communication::get());
}

static void communicate(OpOperand *in, OpOperand &out, bool readsOut, Effects &effects) {
  addCommunicationEffects(effects);
  if (in && isa<MemRefType>(in->get().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), in, SideEffects::DefaultResource::get());
  if (!isa<MemRefType>(out.get().getType()))
    return;
  if (readsOut)
    effects.emplace_back(MemoryEffects::Read::get(), &out, SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &out, SideEffects::DefaultResource::get());
}

void AllReduceOp::getEffects(Effects &effects) { communicate(nullptr, getOutMutable(), true, effects); }
void AllGatherOp::getEffects(Effects &effects) { communicate(&getXMutable(), getOutMutable(), false, effects); }
void ReduceScatterOp::getEffects(Effects &effects) { communicate(&getXMutable(), getOutMutable(), false, effects); }
void AllToAllOp::getEffects(Effects &effects) { communicate(&getXMutable(), getOutMutable(), false, effects); }
void PermuteOp::getEffects(Effects &effects) { communicate(&getXMutable(), getOutMutable(), false, effects); }
void RaggedAllToAllOp::getEffects(Effects &effects) {
  communicate(&getXMutable(), getOutMutable(), true, effects); // rows that are not written keep their contents
  for (OpOperand *counts : {&getCountsMutable(), &getReceivedMutable()})
    if (isa<MemRefType>(counts->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), counts, SideEffects::DefaultResource::get());
}

LogicalResult ppcrt::verifyDestination(Operation *op, Value out) {
  auto type = cast<ShapedType>(out.getType());
  if (!elementTypeCode(type.getElementType())) // *_c1
    return op->emitOpError() << "cannot move elements of type " << type.getElementType()
                             << "; the runtime knows f32, f64, i32, i64 and bf16";
  if (op->getNumResults() > 1 || (op->getNumResults() == 1 && op->getResult(0).getType() != type)) // *_c2
    return op->emitOpError() << "must return nothing or a tensor of the destination's type";
  return success();
}

LogicalResult ppcrt::verifyGroup(Operation *op, FlatSymbolRefAttr group, SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<GroupOp>(op, group))
    return op->emitOpError() << "is of group " << group << ", which the module does not have";
  return success();
}
LogicalResult CoordinateOp::verifySymbolUses(SymbolTableCollection &s) { return verifyGroup(*this, getGroupAttr(), s); }
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &s) { return verifyGroup(*this, getGroupAttr(), s); }
LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &s) { return verifyGroup(*this, getGroupAttr(), s); }
LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &s) {
  return verifyGroup(*this, getGroupAttr(), s);
}
LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &s) { return verifyGroup(*this, getGroupAttr(), s); }

/// C3: `whole` is a number of blocks as large as `block`.
static LogicalResult verifyBlocks(Operation *op, Value block, Value whole) {
  auto blockType = cast<ShapedType>(block.getType()), wholeType = cast<ShapedType>(whole.getType());
  int64_t part = blockType.getNumElements(), all = wholeType.getNumElements();
  if (blockType.getElementType() != wholeType.getElementType() || (part == 0 ? all != 0 : all % part != 0))
    return op->emitOpError() << "cannot divide " << wholeType << " into blocks of " << blockType;
  return success();
}

LogicalResult AllReduceOp::verify() { return verifyDestination(*this, getOut()); }

LogicalResult AllGatherOp::verify() {
  return failed(verifyDestination(*this, getOut())) ? failure() : verifyBlocks(*this, getX(), getOut());
}

LogicalResult ReduceScatterOp::verify() {
  return failed(verifyDestination(*this, getOut())) ? failure() : verifyBlocks(*this, getOut(), getX());
}

LogicalResult AllToAllOp::verify() {
  auto x = cast<ShapedType>(getX().getType()), out = cast<ShapedType>(getOut().getType());
  if (failed(verifyDestination(*this, getOut())))
    return failure();
  if (x.getElementType() != out.getElementType() || x.getNumElements() != out.getNumElements() ||
      x.getNumElements() % int64_t(getRanks()) != 0)
    return emitOpError() << "cannot exchange " << x << " for " << out << " in " << getRanks() << " blocks";
  return success();
}
