// The interface of all actions of a step.
#ifndef PPCRT_IR_ACTIONINTERFACE_TD
#define PPCRT_IR_ACTIONINTERFACE_TD

include "mlir/IR/OpBase.td"

def PpcRt_ActionInterface : OpInterface<"ActionOpInterface"> {
  let cppNamespace = "::mlir::ppcrt";
  let description = [{
    An action: an op that a device issues on one of its streams. It starts when the earlier actions of its stream and
    the tokens that it waits for have completed; its own tokens complete when it ends.
  }];
  let methods = [
    InterfaceMethod<"the stream that it is put on", "::mlir::FlatSymbolRefAttr", "getStreamAttr">,
    InterfaceMethod<"the tokens that it waits for", "::mlir::OperandRange", "getAfter">,
    InterfaceMethod<"the tokens that it gives", "::mlir::ResultRange", "getTokens">,
    InterfaceMethod<"what it touches of the memory of its device, in the order in which it does", "void", "getAccesses",
                    (ins "::mlir::ppcrt::ProgramSymbols &":$symbols,
                         "::llvm::SmallVectorImpl<::mlir::ppcrt::Access> &":$accesses)>
  ];
}

#endif // PPCRT_IR_ACTIONINTERFACE_TD
