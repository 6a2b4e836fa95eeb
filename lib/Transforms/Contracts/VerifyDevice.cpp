// ppc-verify-device: the contract at the end of the device phase.
#include "ppc/Transforms/Contracts/Passes.h"

#include "dialects/ppc/Ppc.h"
#include "dialects/ppcrt/PpcRt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ppc {
#define GEN_PASS_DEF_VERIFYDEVICEPASS
#include "ppc/Transforms/Contracts/Passes.h.inc"

namespace {

LogicalResult verifyOp(Operation *op) {
  if (isa_and_nonnull<PpcDialect>(op->getDialect())) // device_c3
    return op->emitOpError("has no code for the target");
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  if (llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor)) // device_c1
    return op->emitOpError("still works on tensors after bufferization");
  if (auto memory = dyn_cast<MemoryEffectOpInterface>(op))
    if (memory.hasEffect<MemoryEffects::Allocate>()) // device_c2
      return op->emitOpError("allocates at run time; ppc-assign-offsets assigns buffers their offsets");
  return success();
}

LogicalResult verifyFunction(func::FuncOp function) {
  if (function.isExternal())
    return success();
  if (function.getNumResults() != 0 || !llvm::hasSingleElement(function.getBody())) // device_c4
    return function.emitOpError("has results or several blocks");
  if (!ppcrt::routineKindOf(function))
    return success();
  auto scratch =
      function.getNumArguments() == 0 ? MemRefType() : dyn_cast<MemRefType>(function.getArgumentTypes().back());
  if (!scratch || scratch.getRank() != 1 || !scratch.getElementType().isInteger(8)) // device_c5
    return function.emitOpError("is the code of a routine and has no bytes of scratch as its last argument");
  return success();
}

LogicalResult verifyCall(ppcrt::CallOp call, SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee || !llvm::equal(callee.getArgumentTypes(), call.getOperandTypes())) // device_c6
    return call.emitOpError() << "passes other buffers than @" << call.getCallee() << " takes";
  return success();
}

struct VerifyDevicePass : impl::VerifyDevicePassBase<VerifyDevicePass> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    WalkResult result = getOperation().walk([&](Operation *op) {
      auto function = dyn_cast<func::FuncOp>(op);
      auto call = dyn_cast<ppcrt::CallOp>(op);
      bool wrong = failed(verifyOp(op)) || (function && failed(verifyFunction(function))) ||
                   (call && failed(verifyCall(call, symbols)));
      return wrong ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
} // namespace mlir::ppc
