// Calls of bodies: verification.
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
    return emitOpError() << "calls @" << getCallee() << ", which is no function of the module";
  return success();
}
