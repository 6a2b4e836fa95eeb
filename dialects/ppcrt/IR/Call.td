// Calls of bodies from the functions of a stage.
#ifndef PPCRT_IR_CALL_TD
#define PPCRT_IR_CALL_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def PpcRt_CallOp : PpcRt_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call of a body on buffers";
  let description = [{
    Calls a function of the module with these buffers. It differs from `func.call` in that the operands are buffers while the
    callee may still work on tensors: the functions of a stage, nothing but such calls, are bound to buffers at once, and only
    the bodies, which do not grow in number with depth, go through bufferization.

    C1: the callee is a function of the module. That its arguments have the types of the operands is checked at the end of the
    device phase (`ppc-verify-device`).

    Lifespan: created by `ppc-bind-buffers`; `ppc-rt-to-llvm` turns all calls of a stage's function into a table of numbers.

    Example: `ppcrt.call @forward_body(%x, %w, %y) : memref<4x8xf32>, memref<8x8xf32>, memref<4x8xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyStaticShapeMemRef>:$operands);
  let assemblyFormat = "$callee `(` $operands `)` attr-dict (`:` type($operands)^)?";
}

#endif // PPCRT_IR_CALL_TD
