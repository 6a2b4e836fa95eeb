// Calls of compiled functions and marks between them: verification, effects.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::ppcrt;

#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Call.cpp.inc"

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // call_c1
  if (!dyn_cast_or_null<FunctionOpInterface>(symbols.lookupNearestSymbolFrom(*this, getCalleeAttr())))
    return emitOpError() << "calls @" << getCallee() << ", which is not a function of the module";
  return success();
}

LogicalResult ReachOp::verify() {
  if (int64_t(getEntry()) < 0) // reach_c1
    return emitOpError() << "is entry " << int64_t(getEntry());
  if (getValues().empty()) // reach_c2
    return emitOpError("finishes with no buffer");
  auto function = dyn_cast<FunctionOpInterface>((*this)->getParentOp());
  if (!function || !routineKindOf(function)) // reach_c3
    return emitOpError("is in no block of the code of a routine");
  return success();
}

// Other users of the buffers from here on are known to the program alone, so nothing is moved across.
void ReachOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  addCommunicationEffects(effects);
  effects.emplace_back(MemoryEffects::Read::get(), SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), SideEffects::DefaultResource::get());
}
