// Ops of the functions of a stage: calls of compiled functions, and marks of their progress.
#ifndef PPCRT_IR_CALL_TD
#define PPCRT_IR_CALL_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PpcRt_CallOp : PpcRt_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call of a compiled function on buffers";
  let description = [{
    Calls a function of the module with these buffers. It differs from `func.call` in that the operands are buffers
    while the callee may still work on tensors: the functions of a stage contain only such calls and are bound to
    buffers at once, and only the compiled functions that they call, whose number does not grow with depth, go through
    bufferization.

    C1: the callee is a function of the module. That its arguments have the types of the operands is checked at the end of the
    device phase (`ppc-verify-device`).

    Lifespan: created by `ppc-bind-buffers`; `ppc-rt-to-llvm` turns all calls of a stage's function into a table of numbers.

    Example: `ppcrt.call @forward_body(%x, %w, %y) : memref<4x8xf32>, memref<8x8xf32>, memref<4x8xf32>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyStaticShapeMemRef>:$operands);
  let assemblyFormat = "$callee `(` $operands `)` attr-dict (`:` type($operands)^)?";
}

def PpcRt_ReachOp : PpcRt_Op<"reach", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "marks where the code of a routine has finished with some of its buffers";
  let description = [{
    Marks the program point at which entry `entry` of the routine's `early` completes: when a run reaches it, its token
    of that number completes. The operands are the contents of the buffers of the entry, so that the op follows their
    computation: values on tensors, later the buffers themselves. Values that the code returns are stored in their
    buffers by then. No op moves across it.

    C1: the entry is not negative. C2: it takes at least one value. C3: it stands in the block of a function that is the code of routines,
    not inside of another op.

    Lifespan: created by passes that overlap communication with computation; lowered to a call of the runtime.

    Example: `ppcrt.reach 0 (%g0, %g1 : tensor<4x8xf32>, tensor<8xf32>)`
  }];
  let arguments = (ins I64Attr:$entry, Variadic<PpcRt_Buffer>:$values);
  let assemblyFormat = "$entry `(` ($values^ `:` type($values))? `)` attr-dict";
  let hasVerifier = 1;
}

#endif // PPCRT_IR_CALL_TD
