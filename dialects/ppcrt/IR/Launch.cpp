// Kernel launches in compiled functions: verification, effects.
#include "dialects/ppc/LegalShape.h"
#include "dialects/ppcrt/PpcRt.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::ppcrt;

#define GET_OP_CLASSES
#include "dialects/ppcrt/IR/Launch.cpp.inc"

LogicalResult LaunchOp::verify() {
  if (int64_t(getBlocks()) < 1 || int64_t(getThreads()) < 1 || int64_t(getThreads()) > 1024) // launch_c1
    return emitOpError() << "has " << int64_t(getBlocks()) << " blocks of " << int64_t(getThreads()) << " threads";
  SmallVector<bool> used(getOperands().size());
  for (ArrayRef<int64_t> places : {getReads(), getWrites()})
    for (auto [i, place] : llvm::enumerate(places)) { // launch_c2
      if (place < 0 || place >= int64_t(used.size()) || !isa<MemRefType>(getOperand(unsigned(place)).getType()))
        return emitOpError() << "reads or writes operand " << place << ", which is not a memref";
      if (i && places[i - 1] >= place)
        return emitOpError() << "names operand " << place << " after " << places[i - 1];
      used[place] = true;
    }
  for (auto [place, operand] : llvm::enumerate(getOperands()))
    if (isa<MemRefType>(operand.getType()) && !used[place]) // launch_c2
      return emitOpError() << "neither reads nor writes operand " << place;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function = dyn_cast_or_null<FunctionOpInterface>(symbols.lookupNearestSymbolFrom(*this, getKernelAttr()));
  if (!function || function.getNumArguments() != getOperands().size()) // launch_c3
    return emitOpError() << "needs a function " << getKernel() << " with " << getOperands().size() << " parameters";
  return success();
}

void LaunchOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  for (int64_t place : getReads())
    effects.emplace_back(MemoryEffects::Read::get(), &getOperandsMutable()[unsigned(place)]);
  for (int64_t place : getWrites())
    effects.emplace_back(MemoryEffects::Write::get(), &getOperandsMutable()[unsigned(place)]);
}
