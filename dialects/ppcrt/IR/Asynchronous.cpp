// Communication overlapped with computation in compiled functions: verification and effects.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::ppcrt;

#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Asynchronous.cpp.inc"

LogicalResult PermuteOp::verifySymbolUses(SymbolTableCollection &s) { return verifyGroup(*this, getGroupAttr(), s); }
LogicalResult RaggedAllToAllOp::verifySymbolUses(SymbolTableCollection &s) {
  return verifyGroup(*this, getGroupAttr(), s);
}
LogicalResult StartOp::verifySymbolUses(SymbolTableCollection &s) { return verifyGroup(*this, getGroupAttr(), s); }

LogicalResult PermuteOp::verify() {
  if (failed(verifyDestination(*this, getOut()))) // permute_c1, permute_c2
    return failure();
  if (getX().getType() != getOut().getType()) // permute_c3
    return emitOpError() << "is from " << getX().getType() << " to " << getOut().getType();
  if (getShift() == 0) // permute_c4
    return emitOpError("has shift 0, which moves no block");
  return success();
}

LogicalResult RaggedAllToAllOp::verify() {
  if (failed(verifyDestination(*this, getOut()))) // ragged_all_to_all_c1, ragged_all_to_all_c2
    return failure();
  auto x = cast<ShapedType>(getX().getType()), out = cast<ShapedType>(getOut().getType());
  if (x.getRank() < 1 || out.getRank() != x.getRank() || x.getElementType() != out.getElementType() ||
      x.getShape().drop_front() != out.getShape().drop_front()) // ragged_all_to_all_c3
    return emitOpError() << "moves rows of " << x << " to " << out;
  auto sent = cast<ShapedType>(getCounts().getType()), received = cast<ShapedType>(getReceived().getType());
  for (ShapedType counts : {sent, received}) // ragged_all_to_all_c4
    if (counts.getRank() != 1 || !counts.getElementType().isInteger(32) || counts.getShape() != sent.getShape())
      return emitOpError() << "has counts of " << sent << " and " << received << ", expected as many i32 as ranks";
  return success();
}

LogicalResult StartOp::verify() {
  bool reduces = llvm::is_contained({CollectiveKind::AllReduce, CollectiveKind::ReduceScatter}, getKind());
  if (reduces != getReduction().has_value()) // start_c1
    return emitOpError() << (reduces ? "does not say how values are combined" : "combines nothing");
  size_t ins = getKind() == CollectiveKind::AllReduce ? 0 : getKind() == CollectiveKind::RaggedAllToAll ? 3 : 1;
  if (getIns().size() != ins || getOuts().size() != 1) // start_c2
    return emitOpError() << "has " << getIns().size() << " buffers to read and " << getOuts().size()
                         << " to write, expected " << ins << " and 1";
  for (Value out : getOuts()) // start_c3
    if (Type element = cast<MemRefType>(out.getType()).getElementType(); !elementTypeCode(element))
      return emitOpError() << "cannot move elements of type " << element
                           << "; the runtime knows f32, f64, i32, i64 and bf16";
  bool permutes = getKind() == CollectiveKind::Permute;
  if (permutes != getShift().has_value() || getShift().value_or(1) == 0) // start_c4
    return emitOpError() << (!permutes ? "has a shift, which only a permute has" : "needs a shift that is not 0");
  auto wait = getToken().hasOneUse() ? dyn_cast<WaitOp>(*getToken().user_begin()) : WaitOp(); // start_c5
  SmallVector<Value> inFlight(getIns());
  llvm::append_range(inFlight, getOuts());
  if (!wait || wait->getBlock() != (*this)->getBlock() || !(*this)->isBeforeInBlock(wait)) {
    InFlightDiagnostic error = emitOpError("needs one wait after it, in its block");
    for (Operation *user : getToken().getUsers())
      error.attachNote(user->getLoc()) << "its token is used here";
    return error;
  }
  if (!llvm::equal(wait.getBuffers(), inFlight)) {
    InFlightDiagnostic error = emitOpError("has other buffers in flight than its wait names");
    error.attachNote(wait.getLoc()) << "the wait";
    return error;
  }
  return success();
}

void StartOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addCommunicationEffects(effects);
  for (OpOperand &in : getInsMutable())
    effects.emplace_back(MemoryEffects::Read::get(), &in, SideEffects::DefaultResource::get());
  for (OpOperand &out : getOutsMutable()) {
    effects.emplace_back(MemoryEffects::Read::get(), &out, SideEffects::DefaultResource::get());
    effects.emplace_back(MemoryEffects::Write::get(), &out, SideEffects::DefaultResource::get());
  }
}

LogicalResult WaitOp::verify() {
  if (!getToken().getDefiningOp<StartOp>()) // wait_c1
    return emitOpError("waits for a token that no ppcrt.start gives");
  return success();
}

void WaitOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addCommunicationEffects(effects);
  for (OpOperand &buffer : getBuffersMutable()) {
    effects.emplace_back(MemoryEffects::Read::get(), &buffer, SideEffects::DefaultResource::get());
    effects.emplace_back(MemoryEffects::Write::get(), &buffer, SideEffects::DefaultResource::get());
  }
}
