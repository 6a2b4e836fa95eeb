// Kernel launches of devices in compiled functions.
#ifndef PPCRT_IR_LAUNCH_TD
#define PPCRT_IR_LAUNCH_TD

include "dialects/ppcrt/IR/PpcRtDialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PpcRt_LaunchOp : PpcRt_Op<"launch", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launch of a kernel on the device";
  let description = [{
    `blocks` blocks of `threads` threads run the kernel, a function in a module of this one. Its arguments are the base
    addresses of the buffers of the memrefs, and the numbers as i64; its code contains shapes, and offsets of views in
    their buffers. `reads` and `writes` are the operand indices of the memrefs that it reads and writes. `flops` are the
    floating-point operations of a launch, used by profiles to report rates (the kernels of one op share its FLOPs); 0
    if unknown.

    C1: there is a block, and 1 to 1024 threads. C2: `reads` and `writes` are ascending operand indices of memrefs, and
    name each memref. C3: the kernel is a function with as many parameters as there are operands.

    Lifespan: created by a target's passes from loops on buffers; written into the program's table of operations.

    Example: `ppcrt.launch @kernels::@double blocks 1 threads 32 (%x, %y) reads [0] writes [1] : memref<32xf32>, memref<32xf32>`
  }];
  let arguments = (ins SymbolRefAttr:$kernel, I64Attr:$blocks, I64Attr:$threads, Variadic<AnyTypeOf<[AnyStaticShapeMemRef, Index]>>:$operands,
                       DenseI64ArrayAttr:$reads, DenseI64ArrayAttr:$writes,
                       DefaultValuedAttr<I64Attr, "0">:$flops);
  let assemblyFormat = [{
    $kernel `blocks` $blocks `threads` $threads `(` $operands `)` `reads` $reads `writes` $writes attr-dict (`:` type($operands)^)?
  }];
  let hasVerifier = 1;
}

#endif // PPCRT_IR_LAUNCH_TD
