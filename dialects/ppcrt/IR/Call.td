// What the functions of a stage hold: calls of bodies, and marks of how far their work has come.
#ifndef PPCRT_IR_CALL_TD
#define PPCRT_IR_CALL_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PpcRt_CallOp : PpcRt_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call of a compiled function on buffers";
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

def PpcRt_ReachOp : PpcRt_Op<"reach", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the code of a routine has finished with some of its buffers";
  let description = [{
    Number `entry` of what the routine's `early` lists: where a run has come here, its token of that number is there. Takes what lies in
    the buffers of the entry, so that it comes after what computes it: values on tensors, later the buffers themselves. What is returned
    lies in its buffer by then. Nothing moves across it.

    C1: the entry is not negative. C2: it takes at least one value. C3: it stands in the block of a function that is the code of routines,
    not inside of another op.

    Lifespan: created by passes that put communication beside computation; lowered to a call of the runtime.

    Example: `ppcrt.reach 0 (%g0, %g1 : tensor<4x8xf32>, tensor<8xf32>)`
  }];
  let arguments = (ins I64Attr:$entry, Variadic<PpcRt_Buffer>:$values);
  let assemblyFormat = "$entry `(` ($values^ `:` type($values))? `)` attr-dict";
  let hasVerifier = 1;
}

#endif // PPCRT_IR_CALL_TD
