// The runtime dialect and the base classes of its ops.
#ifndef PPCRT_IR_PPCRTDIALECT_TD
#define PPCRT_IR_PPCRTDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def PpcRt_Dialect : Dialect {
  let name = "ppcrt";
  let cppNamespace = "::mlir::ppcrt";
  let summary = "programs of ranks: calls of the runtime";
  let description = [{
    One op per function of the runtime's C ABI (`runtime/include/ppcrt.h`), in destination style: on tensors each op
    returns the new content of its `outs` operand, on memrefs it writes there and returns nothing, so that one-shot
    bufferization turns one form into the other.

    Ops that communicate name a `ppcrt.group` of the module. A `ppcrt.program` describes the program of all devices: the
    buffers in their memory and the actions of a step (docs/internals/Program.md).
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::ppc::PpcDialect"];
}

// Tensors and buffers of static shapes; buffers are row-major and contiguous.
def PpcRt_Buffer : AnyTypeOf<[StaticShapeTensorOf<[AnyType]>, StaticShapeMemRefOf<[AnyType]>], "statically shaped tensor or memref">;

class PpcRt_Op<string mnemonic, list<Trait> traits = []> : Op<PpcRt_Dialect, mnemonic, traits>;

// An op that fills (or updates) its one `outs` operand.
class PpcRt_DestinationOp<string mnemonic, list<Trait> traits = []> : PpcRt_Op<mnemonic, traits # [
    DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let results = (outs Variadic<AnyStaticShapeTensor>:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getOutMutable(); }";
}

#endif // PPCRT_IR_PPCRTDIALECT_TD
